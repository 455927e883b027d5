// Challenges that a connection answers.

/// How far a connection is authenticated with its peers: the origin, and a proxy that takes the absolute form.
struct ConnectionAuthentication {
    /// Whether the origin has authenticated this connection (NTLM): messages need no credentials.
    var isOriginAuthenticated = false
    /// Whether the proxy has authenticated this connection.
    var isProxyAuthenticated = false
    /// Whether the content of a challenge is skipped; the message is sent again behind it.
    var isAnswering = false
    /// How many bytes of that content have come.
    var skippedByteCount = 0

    /// Longest content of a challenge that is skipped; a longer one is answered on another connection.
    static let skippedLimit = 64 * 1024
}

extension HTTP1Connection {
    /// The form of the request target: absolute for a proxy without a tunnel (RFC 9112 §3.2.2).
    var form: HTTP1RequestWriter.Form {
        origin.key.absoluteFormProxy == nil ? .origin : .proxy(lines: Proxy.connectionLine)
    }

    /// The message of the present exchange as it is sent, with what it says about who we are.
    func authorizedMessage(of exchange: Exchange) -> RequestMessage {
        let proxy = origin.key.absoluteFormProxy
        if exchange.authentication == nil, exchange.message.credentials != nil || proxy?.user != nil {
            exchange.authentication = ExchangeAuthentication(
                exchange.message, proxy: proxy, token: exchange.takeNegotiateToken())
            exchange.authentication?.begin(authenticationState)
            if let proxy, let target = exchange.target {
                exchange.authentication?.reuseDigest(
                    of: origin.pool.digests, for: proxy.name, message: exchange.message, target)
            }
        }
        return exchange.authentication?.authorizing(exchange.message) ?? exchange.message
    }

    /// Takes a challenge that can be answered; false for every other head.
    ///
    /// Where the connection cannot be used again, the answer goes out on another one, except for NTLM, whose answer
    /// belongs to the connection.
    func takesChallenge(_ head: ResponseHead, _ framing: ContentFraming, for exchange: Exchange) -> Bool {
        guard let authentication = exchange.authentication, let target = exchange.target,
            exchange.discardedByteCount == nil
        else { return false }
        guard head.status == 401 || head.status == 407 else {
            authentication.note(in: &authenticationState)
            return false
        }
        if head.status == 401 { authentication.noteProxy(in: &authenticationState) }
        let keeps =
            framing != .untilClose && parser.isPersistent && !isSending && !isSendingStopped && !closesAfterExchange
            && !Proxy.closesConnection(head)
        let decision = authentication.answer(head, to: exchange.message, target)
        guard decision != .none, keeps || decision != .again(onSameConnection: true) else { return false }
        exchange.consumer?.transferDidAnswerChallenge(head)
        if keeps {
            authenticationState.isAnswering = true
            authenticationState.skippedByteCount = 0
        } else {
            answerElsewhere(exchange)
        }
        return true
    }

    /// Reads past content of a challenge.
    func skipChallenge(_ byteCount: Int, for exchange: Exchange) {
        authenticationState.skippedByteCount += byteCount
        guard authenticationState.skippedByteCount > ConnectionAuthentication.skippedLimit else { return }
        if exchange.authentication?.needsConnection == true {
            exchange.end(.badResponse("the content of the challenge is too long to be read past"))
        } else {
            answerElsewhere(exchange)
        }
    }

    /// The challenge has ended: sends the message with its answer.
    ///
    /// `hasExcess` is true when bytes came that do not belong to the challenge.
    func challengeEnded(for exchange: Exchange, hasExcess: Bool) {
        authenticationState.isAnswering = false
        // The answer is another message: bytes that wait now could be taken for its response.
        guard !hasExcess, isSilent() else {
            guard exchange.authentication?.needsConnection == true else { return answerElsewhere(exchange) }
            return exchange.end(.badResponse("the peer closed the connection that NTLM needs, or sent bytes unasked"))
        }
        exchange.report.responseHeaderByteCount += Int64(parser.headerByteCount)
        exchange.report.responseStart = 0
        exchange.sentByteCount = 0
        exchange.sentContent = nil
        exchange.requestContent = .untouched
        begin(exchange)
    }

    /// Sends the message with its answer on another connection.
    private func answerElsewhere(_ exchange: Exchange) {
        let authentication = exchange.authentication
        detach(exchange, isAnswered: true)
        authentication?.connectionIsLost()
        exchange.authentication = authentication
    }
}
