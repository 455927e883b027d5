// Authentication of one exchange's messages by the engine.

import Foundation

/// Adds credentials to the messages of an exchange: for the origin, and for a proxy that takes the absolute form.
///
/// If the only scheme is Basic, NTLM, or Negotiate with a token, the first message has credentials; with Digest, it has
/// them if the proxy accepted a nonce earlier. In other cases a challenge is awaited. NTLM authenticates a connection:
/// its second answer is sent on the connection of the challenge, and later messages on that connection need no
/// credentials.
///
/// Used on the loop's thread.
final class ExchangeAuthentication {
    private var origin: HandshakeAuthentication?
    fileprivate var proxy: HandshakeAuthentication?

    /// Makes the authentication of a message; `nil` if there are no credentials, or if the message has its own
    /// credential fields.
    ///
    /// - Parameters:
    ///   - message: the message, without credentials in its fields.
    ///   - proxy: the proxy that takes the message in the absolute form; `nil` for none.
    ///   - token: the token of Negotiate for the origin; `nil` for none.
    init?(_ message: RequestMessage, proxy: Proxy?, token: [UInt8]? = nil) {
        if message.credentials != nil, !message.fields.contains("Authorization") {
            origin = HandshakeAuthentication(
                credentials: message.credentials, challengeStatus: 401, method: message.method, token: token)
        }
        if let credentials = proxy?.credentials, !message.fields.contains("Proxy-Authorization") {
            self.proxy = HandshakeAuthentication(
                credentials: credentials, challengeStatus: 407, method: message.method)
        }
        if origin == nil, self.proxy == nil { return nil }
    }

    /// Begins on a connection; NTLM is not started with a peer that has already authenticated the connection.
    func begin(_ authenticationState: ConnectionAuthentication) {
        if authenticationState.isOriginAuthenticated { origin?.awaitChallenge() }
        if authenticationState.isProxyAuthenticated { proxy?.awaitChallenge() }
    }

    /// Authenticates to the proxy pre-emptively, with a nonce that the proxy accepted earlier.
    func reuseDigest(
        of sessions: DigestSessions, for name: String, message: RequestMessage, _ target: RequestTarget
    ) {
        proxy?.reuseDigest(
            of: sessions, for: name, target: target.absoluteForm, content: message.content.knownContent)
    }

    /// Returns the message with its credentials; without its content if the message only begins NTLM, since the peer
    /// refuses such a message.
    func authorizing(_ message: RequestMessage) -> RequestMessage {
        var added: [Field] = []
        if let value = origin?.authorization { added.append(Field(name: "Authorization", value: value)) }
        if let value = proxy?.authorization { added.append(Field(name: "Proxy-Authorization", value: value)) }
        guard !added.isEmpty else { return message }
        var message = message
        if origin?.isBeginning == true || proxy?.isBeginning == true, message.content.hasContent {
            message.content = .data(Data())
            let framing = ["content-length", "transfer-encoding"]
            message.fields = FieldBlock(
                message.fields.fields.filter { !framing.contains($0.name.lowercased()) } + added)
        } else {
            message.fields = FieldBlock(message.fields, adding: added)
        }
        return message
    }

    /// Prepares the answer to a challenge, and returns where it is sent; `.none` for every other head.
    func answer(
        _ head: ResponseHead, to message: RequestMessage, _ target: RequestTarget
    ) -> HandshakeAuthentication.Answer {
        let content = message.content.knownContent
        switch head.status {
        case 401: return origin?.answer(head, target: target.originForm, content: content) ?? .none
        case 407: return proxy?.answer(head, target: target.absoluteForm, content: content) ?? .none
        default: return .none
        }
    }

    /// Resets NTLM, whose answers are valid only on the lost connection.
    func connectionIsLost() {
        origin?.awaitChallenge()
        proxy?.awaitChallenge()
    }

    /// Whether the last answer authenticates its connection (NTLM), and is valid on no other connection.
    var needsConnection: Bool { origin?.hasAnsweredNTLM == true || proxy?.hasAnsweredNTLM == true }

    /// Stores which peers have accepted NTLM, after a response that is not a challenge.
    func note(in authenticationState: inout ConnectionAuthentication) {
        if origin?.hasAnsweredNTLM == true { authenticationState.isOriginAuthenticated = true }
        noteProxy(in: &authenticationState)
    }
}

extension ExchangeAuthentication {
    /// Stores that the proxy has accepted its credentials, since the message has reached the origin.
    func noteProxy(in authenticationState: inout ConnectionAuthentication) {
        proxy?.wasAccepted()
        guard proxy?.hasAnsweredNTLM == true else { return }
        authenticationState.isProxyAuthenticated = true
        proxy?.awaitChallenge()
    }
}

extension MessageContent {
    fileprivate var hasContent: Bool { if case .none = self { false } else { true } }

    /// The content, if it is in memory; otherwise `nil`.
    fileprivate var knownContent: Data? {
        switch self {
        case .none: Data()
        case .data(let data): data
        case .file, .reader: nil
        }
    }
}

extension RequestMessage {
    /// The credentials that NTLM or Negotiate may bind to a connection, which then serves only messages with the same
    /// credentials.
    ///
    /// Messages with their own `Authorization` field for these schemes share connections only with each other, since
    /// their user is unknown.
    static func connectionCredentials(_ fields: FieldBlock, _ credentials: Credentials?) -> Credentials? {
        if let own = fields.value(of: "Authorization") {
            // White space around a value is not part of it (RFC 9110 §5.5), and either a space or a tab may end the
            // scheme.
            let scheme = own.utf8.drop { $0.isFieldSpace }.prefix { !$0.isFieldSpace }
            guard scheme.count == 4 || scheme.count == 9 else { return nil }
            return ["ntlm", "negotiate"].contains(String(Substring(scheme)).lowercased())
                ? Credentials(user: "", password: "", schemes: []) : nil
        }
        guard let credentials, !credentials.schemes.isDisjoint(with: [.ntlm, .negotiate]) else { return nil }
        return credentials
    }

    /// Whether a Negotiate token may be needed.
    var wantsNegotiateToken: Bool {
        credentials?.schemes.contains(.negotiate) == true && !fields.contains("Authorization")
    }
}
