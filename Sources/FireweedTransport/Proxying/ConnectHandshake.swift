// The handshake with an HTTP proxy that makes a tunnel (RFC 9110 §9.3.6).

import Foundation

/// The client's side of CONNECT (RFC 9110 §9.3.6), as a state machine over bytes.
///
/// A 407 is answered with the proxy's credentials. A refusal contains the proxy's response.
/// ```swift
/// write(try handshake.begin())
/// switch try handshake.next(&bytes) {
/// case .needsMore: …              // read again, or `finish()` when the proxy has closed
/// case .send(let bytes): …        // the next request, on the same connection
/// case .reconnect: …              // `begin()` again, on a new connection
/// case .established: …            // what is left in `bytes` comes from the origin
/// case .refused(let refusal): …   // the connection is of no use
/// }
/// ```
package struct ConnectHandshake {
    /// The next step of the handshake.
    package enum Event {
        /// All bytes are consumed, and more are needed.
        case needsMore
        /// These bytes are to be sent on this connection.
        case send([UInt8])
        /// Another connection is needed, since the proxy closes this one.
        case reconnect
        /// The tunnel is established; bytes after the proxy's response are not consumed.
        case established
        /// The proxy refused the tunnel.
        case refused(TunnelRefusal)
    }

    /// Receives the heads of both sides; `nil` for no observer.
    package var observer: (any WireObserver)?
    private let authority: String
    private let extraLines: [UInt8]
    private var authentication: HandshakeAuthentication
    /// Nonces that proxies have accepted, and the name of this proxy, which is the key for its nonces.
    private var digests: (sessions: DigestSessions, proxy: String)?
    private var parser: HTTP1ResponseParser
    private var head: ResponseHead?
    private var content: [UInt8] = []
    /// The action after the content of the current response.
    private var decision = HandshakeAuthentication.Answer.none
    /// The number of responses without a tunnel, which is limited: a proxy cannot challenge for ever.
    private var roundCount = 0
    private static let maximumRoundCount = 8
    /// The most content of a response that is kept; the rest is not read.
    private static let maximumContentByteCount = 16 * 1024

    /// Makes the handshake for one tunnel.
    ///
    /// - Parameters:
    ///   - target: the origin that the tunnel leads to.
    ///   - credentials: the proxy's; `nil` for none. If the only scheme is Basic or NTLM, the first request contains
    ///     them; otherwise they wait for a challenge.
    ///   - extraLines: fields for the proxy, each with its CRLF. If there is a `Proxy-Authorization`, `credentials`
    ///     must be `nil`.
    ///   - limits: limits on the size of the proxy's responses.
    package init(
        to target: RequestTarget, credentials: RequestMessage.Credentials?, extraLines: [UInt8] = [],
        limits: ResponseLimits = .init()
    ) {
        authority = target.authorityForm
        self.extraLines = extraLines
        authentication = HandshakeAuthentication(credentials: credentials, challengeStatus: 407, method: "CONNECT")
        parser = HTTP1ResponseParser(limits: limits)
    }

    /// Reuses nonces that the proxy has accepted, and remembers new ones; `proxy` is a name for the proxy.
    package mutating func reuseDigest(of sessions: DigestSessions, for proxy: String) {
        digests = (sessions, proxy)
    }

    /// The request that begins the handshake on a new connection.
    ///
    /// Throws `badURL` if the credentials cannot be sent, such as a user with a line break.
    package mutating func begin() throws(TransferFailure) -> [UInt8] {
        parser.expect(ResponseExpectation(method: "CONNECT"))
        (head, content) = (nil, [])
        if let digests { authentication.reuseDigest(of: digests.sessions, for: digests.proxy, target: authority) }
        var bytes: [UInt8] = []
        try bytes.appendRequestLine("CONNECT", authority)
        try bytes.appendLine(of: Field(name: "Host", value: authority))
        if let value = authentication.authorization {
            try bytes.appendLine(of: Field(name: "Proxy-Authorization", value: value))
        }
        bytes += Proxy.connectionLine
        bytes += extraLines + [0x0D, 0x0A]
        observer?.didSend(head: bytes)
        return bytes
    }

    /// Consumes bytes from the front of `bytes` up to the next event; throws if the proxy's response is invalid.
    package mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        while true {
            switch try parser.next(&bytes) {
            case .needsMore: return .needsMore
            case .interim(let head): show(head)
            case .head(let head, let framing):
                show(head)
                self.head = head
                // tinyproxy answers credentials that are wrong with 401.
                if head.status != 407, head.status != 401 { authentication.wasAccepted() }
                if framing == .tunnel { return .established }
                roundCount += 1
                decision = roundCount < Self.maximumRoundCount ? authentication.answer(head, target: authority) : .none
                // Only the end of the connection would end this content, so the next request needs another connection.
                if decision != .none, framing == .untilClose { return try retry(keepsConnection: false) }
            case .content(let piece):
                content += piece.prefix(Self.maximumContentByteCount - content.count)
                if content.count == Self.maximumContentByteCount { return try finished(keepsConnection: false) }
            case .end:
                if let head, 200..<300 ~= head.status { return .established }
                return try finished(keepsConnection: keepsConnection)
            }
        }
    }

    /// The event when the proxy has closed the connection; throws `cannotConnectToHost` if no response came.
    package mutating func finish() throws(TransferFailure) -> Event {
        guard head != nil else { throw .proxyFailed("the proxy closed the connection before it answered CONNECT") }
        return try finished(keepsConnection: false)
    }

    private func show(_ head: ResponseHead) {
        observer?.didReceive(headLines: head.receivedLines + [0x0D, 0x0A])
    }

    private var keepsConnection: Bool {
        parser.isPersistent && !(head.map { Proxy.closesConnection($0) } ?? false)
    }

    private mutating func finished(keepsConnection: Bool) throws(TransferFailure) -> Event {
        guard decision == .none, let head else { return try retry(keepsConnection: keepsConnection) }
        return refused(head, complaint: authentication.complaint(about: head))
    }

    /// Sends the request again with an answer to the challenge, on this connection or on another one.
    private mutating func retry(keepsConnection: Bool) throws(TransferFailure) -> Event {
        if case .again(onSameConnection: true) = decision, !keepsConnection, let head {
            return refused(head, complaint: "it closes the connection that NTLM needs")
        }
        return keepsConnection ? .send(try begin()) : .reconnect
    }

    private func refused(_ head: ResponseHead, complaint: String?) -> Event {
        let isEcho = authentication.isRepeated(in: content)
        return .refused(TunnelRefusal(head: head, content: isEcho ? [] : content, complaint: complaint))
    }
}

/// The response of a proxy that refused a tunnel.
package struct TunnelRefusal: Error, Sendable {
    /// The head of the proxy's response.
    package let head: ResponseHead
    /// The start of the response's content; empty if the content contains our credentials.
    package let content: [UInt8]
    /// The library's explanation if the credentials are the problem; otherwise `nil`.
    package let complaint: String?

    /// The failure of the transfer; its text contains status, reason, explanation and the start of the content.
    ///
    /// The code is `userAuthenticationRequired` for a 407 or 401, otherwise `cannotConnectToHost`.
    package var failure: TransferFailure {
        // tinyproxy answers credentials that are wrong with 401.
        let isChallenge = head.status == 407 || head.status == 401
        var detail = "CONNECT tunnel failed, response \(head.status)"
        if let reason = head.reason, !reason.isEmpty { detail += " \(Self.printable(reason.utf8))" }
        if let complaint, isChallenge { detail += ": \(complaint)" }
        if !content.isEmpty { detail += "; the proxy says: \(Self.printable(content))" }
        return .exchange(
            isChallenge ? .userAuthenticationRequired : .cannotConnectToHost, detail: detail, engineCode: head.status)
    }

    private static func printable(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: bytes.prefix(200).map { 0x20...0x7E ~= $0 ? $0 : 0x20 }, as: UTF8.self)
    }
}
