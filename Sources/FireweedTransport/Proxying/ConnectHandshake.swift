// The handshake with an HTTP proxy that makes a tunnel (RFC 9110 §9.3.6).

import Foundation

/// The client's side of CONNECT (RFC 9110 §9.3.6), as a state machine over bytes.
///
/// A 407 is answered with the proxy's credentials. A refusal keeps what the proxy said.
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
    /// What comes next.
    package enum Event {
        /// The bytes are used up.
        case needsMore
        /// These bytes are to be sent on this connection.
        case send([UInt8])
        /// Another connection is needed, since the proxy closes this one.
        case reconnect
        /// The tunnel is there; bytes behind the proxy's answer are left alone.
        case established
        /// There is no tunnel.
        case refused(TunnelRefusal)
    }

    /// Is shown the heads of both sides.
    package var observer: (any WireObserver)?
    private let authority: String
    private let extraLines: [UInt8]
    private var authentication: HandshakeAuthentication
    /// Nonces that the proxy has accepted; its name is among their spaces.
    private var digests: (sessions: DigestSessions, proxy: String)?
    private var parser: HTTP1ResponseParser
    private var head: ResponseHead?
    private var content: [UInt8] = []
    /// What is done when the content of the present answer has come.
    private var decision = HandshakeAuthentication.Answer.none
    /// A proxy that challenges again is not asked again.
    private var roundCount = 0
    private static let maximumRoundCount = 8
    /// So much of a refusal's content is kept; the rest is not waited for.
    private static let maximumContentByteCount = 16 * 1024

    /// Makes the handshake for one tunnel.
    ///
    /// - Parameters:
    ///   - target: the origin that the tunnel leads to.
    ///   - credentials: the proxy's; `nil` for none. Basic alone goes out at once; otherwise a challenge is waited for.
    ///   - extraLines: fields for the proxy, each with its CRLF. With a `Proxy-Authorization` among them no credentials
    ///     may be given.
    ///   - limits: how long the proxy's answers may be.
    package init(
        to target: RequestTarget, credentials: RequestMessage.Credentials?, extraLines: [UInt8] = [],
        limits: ResponseLimits = .init()
    ) {
        authority = target.authorityForm
        self.extraLines = extraLines
        authentication = HandshakeAuthentication(credentials: credentials, challengeStatus: 407, method: "CONNECT")
        parser = HTTP1ResponseParser(limits: limits)
    }

    /// Has nonces reused that the proxy has accepted, by a name for the proxy, and new ones remembered.
    package mutating func reuseDigest(of sessions: DigestSessions, for proxy: String) {
        digests = (sessions, proxy)
    }

    /// The request that begins the handshake on a new connection.
    ///
    /// Throws `badURL` where the credentials cannot be sent, such as a user with a line break.
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

    /// Takes bytes from the front of `bytes` up to the next event; throws what is wrong with the proxy's answer.
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
                // Nothing would say where the content ends but a close, which ends the connection as well.
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

    /// The event when the proxy has closed the connection; throws `cannotConnectToHost` where no answer came.
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

    /// Asks again with an answer to the challenge.
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
    /// The proxy's answer.
    package let head: ResponseHead
    /// The start of its content; empty where it repeats our credentials.
    package let content: [UInt8]
    /// What we think of it, where it is about credentials.
    package let complaint: String?

    /// The failure of the transfer, whose sentence has status, reason and the start of the content.
    ///
    /// `userAuthenticationRequired` where the proxy asks for credentials, else `cannotConnectToHost`.
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
