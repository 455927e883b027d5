// What a proxy without a tunnel wants to know before it forwards a message.

/// What a connection knows about its HTTP proxy, which is told absolute forms.
struct ProxyConversation {
    /// The proxy knows who this connection belongs to (NTLM): messages need not say it.
    var isAuthenticated = false
    /// The content of a challenge is read past; the message goes out again behind it.
    var isAnswering = false
    /// How much of that content has come.
    var skippedByteCount = 0

    /// More than a proxy has to say about a challenge.
    static let skippedLimit = 64 * 1024
}

extension HTTP1Connection {
    /// A proxy without a tunnel is told the absolute form, and who we are.
    func form(of exchange: Exchange) -> HTTP1RequestWriter.Form {
        guard let proxy = origin.key.proxy, proxy.takesAbsoluteForm, !origin.key.isSecure else { return .origin }
        if exchange.proxyAnswer == nil {
            exchange.proxyAnswer = exchange.target.flatMap { ProxyAnswer(to: proxy, for: exchange.message, target: $0) }
        }
        let line = conversation.isAuthenticated ? [] : exchange.proxyAnswer?.fieldLine ?? []
        return .proxy(lines: line + Proxy.connectionLine)
    }

    /// Takes a challenge of the proxy's that can be answered; false for every other head.
    ///
    /// Where the connection cannot be used again, the answer goes out on another one, except for NTLM, whose answer
    /// belongs to the connection.
    func takesChallenge(_ head: ResponseHead, _ framing: ContentFraming, for exchange: Exchange) -> Bool {
        guard let answer = exchange.proxyAnswer, exchange.discardedByteCount == nil else { return false }
        guard head.status == 407 else {
            if answer.authenticatesConnection { conversation.isAuthenticated = true }
            return false
        }
        let keeps =
            framing != .untilClose && parser.isPersistent && !isSending && !isSendingStopped && !closesAfterExchange
            && !Proxy.closesConnection(head)
        let decision: HandshakeAuthentication.Step
        if conversation.isAuthenticated {
            // The proxy has forgotten this connection: the conversation begins anew.
            decision = .again(onSameConnection: false)
            conversation.isAuthenticated = false
        } else {
            decision = answer.answer(head)
        }
        guard decision != .none, keeps || decision != .again(onSameConnection: true) else { return false }
        exchange.consumer?.transferDidAnswerChallenge(head)
        if keeps {
            conversation.isAnswering = true
            conversation.skippedByteCount = 0
        } else {
            answerElsewhere(exchange)
        }
        return true
    }

    /// Reads past content of a challenge.
    func skipChallenge(_ byteCount: Int, for exchange: Exchange) {
        conversation.skippedByteCount += byteCount
        guard conversation.skippedByteCount > ProxyConversation.skippedLimit else { return }
        if exchange.proxyAnswer?.authenticatesConnection == true {
            exchange.end(.badResponse("the content of the proxy's challenge is too long to be read past"))
        } else {
            answerElsewhere(exchange)
        }
    }

    /// The challenge has ended: sends the message with its answer.
    ///
    /// - Parameter hasExcess: whether bytes came that do not belong to the challenge.
    func challengeEnded(for exchange: Exchange, hasExcess: Bool) {
        conversation.isAnswering = false
        guard !hasExcess, !hasPeerClosed else {
            guard exchange.proxyAnswer?.authenticatesConnection == true else { return answerElsewhere(exchange) }
            return exchange.end(.proxyFailed("the proxy closed the connection that NTLM needs"))
        }
        exchange.report.responseHeaderByteCount += Int64(parser.headerByteCount)
        exchange.report.responseStart = 0
        exchange.sentByteCount = 0
        exchange.requestContent = .untouched
        begin(exchange)
    }

    /// Sends the message with its answer on another connection.
    private func answerElsewhere(_ exchange: Exchange) {
        let answer = exchange.proxyAnswer
        detach(exchange, isAnswered: true)
        exchange.proxyAnswer = answer
    }
}
