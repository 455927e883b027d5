// What an HTTP proxy without a tunnel is told of who we are.

/// The answers of one message in absolute form to the challenges of its proxy (RFC 9110 §11.7).
///
/// Used on the loop's thread.
final class ProxyAnswer {
    private var authentication: HandshakeAuthentication
    private let target: String

    /// `nil` when the proxy has no credentials, and when the message has a field of its own.
    init?(to proxy: Proxy, for message: RequestMessage, target: RequestTarget) {
        guard let credentials = proxy.credentials, !message.fields.contains("Proxy-Authorization") else { return nil }
        authentication = HandshakeAuthentication(
            credentials: credentials, challengeStatus: 407, method: message.method)
        self.target = target.absoluteForm
    }

    /// The line of `Proxy-Authorization` with its CRLF, empty without one.
    var fieldLine: [UInt8] {
        authentication.authorization.map { Array("Proxy-Authorization: \($0)\r\n".utf8) } ?? []
    }

    /// Whether the last word was an answer that proves who we are for the whole connection.
    var authenticatesConnection: Bool { authentication.hasAnsweredNTLM }

    /// Prepares the answer to a challenge.
    func answer(_ head: ResponseHead) -> HandshakeAuthentication.Step {
        authentication.answer(head, target: target)
    }
}
