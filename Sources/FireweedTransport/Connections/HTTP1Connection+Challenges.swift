// Answers to challenges on an HTTP/1.1 connection.

/// Which peers of a connection, the origin and a proxy that takes the absolute form, have authenticated the connection.
struct ConnectionAuthentication {
    /// Whether the origin has authenticated this connection (NTLM): messages need no credentials.
    var isOriginAuthenticated = false
    /// Whether the proxy has authenticated this connection.
    var isProxyAuthenticated = false
    /// Whether the content of a challenge is being skipped; afterwards the message is sent again.
    var isAnswering = false
    /// The number of skipped bytes of the challenge's content.
    var skippedByteCount = 0

    /// The most bytes of a challenge's content that are skipped; after more, the message is sent on another connection,
    /// or fails if NTLM needs this connection.
    static let skippedLimit = 64 * 1024
}

extension HTTP1Connection {
    /// The form of the request target: absolute for a proxy without a tunnel (RFC 9112 §3.2.2).
    var form: HTTP1RequestWriter.Form {
        origin.absoluteFormProxy == nil ? .origin : .proxy(lines: Proxy.connectionLine)
    }

    /// The message of the present exchange as it is sent, with its credentials.
    func authorizedMessage(of exchange: Exchange) -> RequestMessage {
        let proxy = origin.absoluteFormProxy
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

    /// Begins to answer a challenge; false for a head that is not a challenge or that cannot be answered.
    ///
    /// If the connection cannot be used again, the answer is sent on another connection. NTLM needs the same
    /// connection: such a challenge is then delivered as the response.
    func takesChallenge(_ head: ResponseHead, _ framing: ContentFraming, for exchange: Exchange) -> Bool {
        guard let authentication = exchange.authentication, let target = exchange.target,
            !exchange.isDiscarding
        else { return false }
        guard head.status == 401 || head.status == 407 else {
            authentication.note(in: &authenticationState)
            return false
        }
        if head.status == 401 { authentication.noteProxy(in: &authenticationState) }
        let keeps =
            framing != .untilClose && reading.parser.isPersistent && !isSending && !writing.isStopped
            && !writing.closesAfterExchange
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

    /// Counts skipped content of a challenge; beyond the limit, the message is sent on another connection or fails.
    func skipChallenge(_ byteCount: Int, for exchange: Exchange) {
        authenticationState.skippedByteCount += byteCount
        guard authenticationState.skippedByteCount > ConnectionAuthentication.skippedLimit else { return }
        if exchange.authentication?.needsConnection == true {
            exchange.end(.badResponse("the content of the challenge is too long to be read past"))
        } else {
            answerElsewhere(exchange)
        }
    }

    /// Sends the message with its answer, after the end of the challenge.
    ///
    /// `hasExcess` is true if bytes after the challenge have come.
    func challengeEnded(for exchange: Exchange, hasExcess: Bool) {
        authenticationState.isAnswering = false
        // The message is sent again with an answer to the challenge: bytes that have arrived already could be mistaken
        // for its response.
        guard !hasExcess, isSilent() else {
            guard exchange.authentication?.needsConnection == true else { return answerElsewhere(exchange) }
            return exchange.end(.badResponse("the peer closed the connection that NTLM needs, or sent bytes unasked"))
        }
        exchange.reports.current.responseHeaderByteCount += Int64(reading.parser.headerByteCount)
        exchange.reports.current.responseStart = 0
        exchange.sending.restart()
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
