// The handshake with an HTTP proxy to make a tunnel (RFC 9110 §9.3.6).

import Foundation

/// The client side of CONNECT (RFC 9110 §9.3.6), as a state machine over bytes.
///
/// It answers a 407 with the credentials for the proxy. A refusal contains the proxy's response.
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
        /// All given bytes were read, and more are needed.
        case needsMore
        /// Send these bytes on this connection.
        case send([UInt8])
        /// Continue on another connection, since the proxy closes this one.
        case reconnect
        /// The tunnel is established; bytes after the proxy's response are not read.
        case established
        /// The proxy refused the tunnel.
        case refused(TunnelRefusal)
    }

    /// Receives the heads of both sides; `nil` for no observer.
    package var observer: (any WireObserver)?
    private let authority: String
    private let extraLines: [UInt8]
    private var authentication: HandshakeAuthentication
    /// The nonces that proxies have accepted, and the name under which they are stored for this proxy.
    private var digests: (sessions: DigestSessions, proxy: String)?
    private var parser: HTTP1ResponseParser
    private var head: ResponseHead?
    private var content: [UInt8] = []
    /// The answer to the current response's challenge, to be sent after the end of its content.
    private var decision = HandshakeAuthentication.Answer.none
    /// The number of responses without a tunnel; it is limited, so that a proxy cannot challenge for ever.
    private var roundCount = 0
    private static let maximumRoundCount = 8
    /// The most content of a response to keep; more is not read.
    private static let maximumContentByteCount = 16 * 1024

    /// Makes the handshake for one tunnel.
    ///
    /// - Parameters:
    ///   - target: the origin at the end of the tunnel.
    ///   - credentials: the credentials for the proxy; `nil` for none. If the only scheme is Basic or NTLM, the first
    ///     request contains them; otherwise they are sent only after a challenge.
    ///   - extraLines: fields for the proxy, each with its CRLF. If they contain a `Proxy-Authorization`, `credentials`
    ///     must be `nil`.
    ///   - limits: the limits on the size of the proxy's responses.
    package init(
        to target: RequestTarget, credentials: RequestMessage.Credentials?, extraLines: [UInt8] = [],
        limits: ResponseLimits = .init()
    ) {
        authority = target.authorityForm
        self.extraLines = extraLines
        authentication = HandshakeAuthentication(credentials: credentials, challengeStatus: 407, method: "CONNECT")
        parser = HTTP1ResponseParser(limits: limits)
    }

    /// Enables the reuse of nonces that the proxy has accepted, and the storing of new nonces under the name `proxy`.
    package mutating func reuseDigest(of sessions: DigestSessions, for proxy: String) {
        digests = (sessions, proxy)
    }

    /// Returns the first request of the handshake on a new connection, or the next request on the same connection.
    ///
    /// Throws `badURL` if a field cannot be sent, such as a Digest answer with a line break in the user name.
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

    /// Reads from the front of `bytes` up to the next event; throws if the proxy's response is invalid.
    package mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        while true {
            switch try parser.next(&bytes) {
            case .needsMore: return .needsMore
            case .interim(let head): show(head)
            case .head(let head, let framing):
                show(head)
                self.head = head
                // tinyproxy answers wrong credentials with 401 instead of 407.
                if head.status != 407, head.status != 401 { authentication.wasAccepted() }
                if framing == .tunnel { return .established }
                roundCount += 1
                decision = roundCount < Self.maximumRoundCount ? authentication.answer(head, target: authority) : .none
                // This content ends only when the connection closes, so the next request needs another connection.
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

    /// Returns the event after the proxy has closed the connection; throws `cannotConnectToHost` if no response came.
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

    /// Repeats the request with the answer to the challenge, on this connection or on another.
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
    /// Why the credentials did not help, which `failure` shows for a 407 or 401; `nil` without credentials.
    package let complaint: String?

    /// The failure of the transfer; its text contains the status, the reason, our explanation and the start of content
    /// that is not HTML.
    ///
    /// The code is `userAuthenticationRequired` for a 407 or 401, otherwise `cannotConnectToHost`.
    package var failure: TransferFailure {
        // tinyproxy answers wrong credentials with 401 instead of 407.
        let isChallenge = head.status == 407 || head.status == 401
        var detail = "CONNECT tunnel failed, response \(head.status)"
        if let reason = head.reason, !reason.isEmpty { detail += " \(Self.printable(reason.utf8))" }
        if let complaint, isChallenge { detail += ": \(complaint)" }
        let isMarkup = head.value(of: "Content-Type")?.lowercased().contains("html") == true
        if !content.isEmpty, !isMarkup { detail += "; the proxy says: \(Self.printable(content))" }
        return .exchange(
            isChallenge ? .userAuthenticationRequired : .cannotConnectToHost, detail: detail, engineCode: head.status)
    }

    private static func printable(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: bytes.prefix(200).map { 0x20...0x7E ~= $0 ? $0 : 0x20 }, as: UTF8.self)
    }
}
