// The authentication of one message, WebSocket handshake or tunnel.

import Foundation

/// Answers the challenges to one message or handshake.
///
/// It uses the first of Negotiate, Digest, NTLM and Basic that is allowed and offered. Negotiate is answered once, with
/// a token that the caller got earlier. Refused credentials are not sent again, so that every handshake ends.
struct HandshakeAuthentication {
    enum Answer: Equatable {
        /// There is no answer: the response is final.
        case none
        /// Send the message again with `authorization`; the last NTLM message must use the same connection.
        case again(onSameConnection: Bool)
    }

    private enum Progress {
        case unasked, basic, negotiate, ntlmBegun, ntlmAnswered
        case digest(nonce: String, staleCount: Int)
        /// A remembered nonce was used, which the peer may have forgotten.
        case digestReused
    }

    /// The value of `Authorization` or `Proxy-Authorization` for the next request; `nil` for no such field.
    private(set) var authorization: String?
    private let credentials: RequestMessage.Credentials?
    /// The status of challenges: 401, or 407 for a proxy.
    private let challengeStatus: Int
    private let method: String
    /// The token for Negotiate; `nil` if there is none.
    private let token: [UInt8]?
    private var progress = Progress.unasked
    /// The Digest answer of the next request.
    private var digest: DigestSessions.Use?
    /// The store of accepted Digest answers; `nil` if answers are not remembered.
    private var memory: (sessions: DigestSessions, space: DigestSessions.Space)?
    /// How often a server may reject a nonce as stale that it has just issued.
    private static let maximumStaleCount = 2

    /// Answers challenges to a WebSocket's message; if the message has its own `Authorization` field, that is kept and
    /// challenges get no answer.
    init(message: RequestMessage) {
        let isOwn = message.fields.contains("Authorization")
        self.init(credentials: isOwn ? nil : message.credentials, challengeStatus: 401, method: "GET")
    }

    /// Answers challenges that have this status, for requests with this method.
    init(credentials: RequestMessage.Credentials?, challengeStatus: Int, method: String, token: [UInt8]? = nil) {
        self.credentials = credentials
        self.challengeStatus = challengeStatus
        self.method = method
        self.token = token
        switch credentials?.schemes {
        case .basic: answerBasic()
        case .ntlm: beginNTLM()
        case .negotiate: answerNegotiate()
        default: break
        }
    }

    /// Whether the last NTLM message was made, which authenticates the connection.
    var hasAnsweredNTLM: Bool { if case .ntlmAnswered = progress { true } else { false } }

    /// Whether the next message only begins NTLM: the peer refuses it in any case, so it needs no content.
    var isBeginning: Bool { if case .ntlmBegun = progress { true } else { false } }

    /// Drops the NTLM message and waits for a challenge, for a connection that is authenticated already, or for a new
    /// one.
    mutating func awaitChallenge() {
        guard isBeginning || hasAnsweredNTLM else { return }
        progress = .unasked
        authorization = nil
    }

    /// Authenticates pre-emptively with a nonce that the peer accepted earlier (RFC 7616 §3.3), and enables the storing
    /// of accepted answers.
    ///
    /// - Parameters:
    ///   - sessions: the remembered nonces.
    ///   - server: a name for the peer.
    ///   - target: the request target as it will be sent.
    ///   - content: the content of the message; `nil` if it is unknown.
    mutating func reuseDigest(
        of sessions: DigestSessions, for server: String, target: String, content: Data? = Data()
    ) {
        guard let credentials, credentials.schemes.contains(.digest), case .unasked = progress else { return }
        let space = DigestSessions.Space(server, credentials)
        memory = (sessions, space)
        guard let use = sessions.next(in: space, where: { content != nil || !$0.coversContent }) else { return }
        progress = .digestReused
        answer(with: use, credentials, target: target, content: content)
    }

    /// Remembers the last answer, which the peer has accepted.
    func wasAccepted() {
        if let digest, let memory { memory.sessions.accept(digest, in: memory.space) }
    }

    /// Prepares the answer to a challenge, and returns how to send it.
    ///
    /// `target` is the request target as sent. `content` is the content of the message, which `auth-int` covers; `nil`
    /// if it is unknown.
    mutating func answer(_ head: ResponseHead, target: String, content: Data? = Data()) -> Answer {
        guard head.status == challengeStatus, let credentials else { return .none }
        let challenges = HTTPChallenge.all(in: head)
        switch progress {
        case .basic, .negotiate, .ntlmAnswered: return .none
        case .ntlmBegun: return finishNTLM(challenges, credentials)
        case .digest(let nonce, let count):
            guard let next = DigestAnswer.strongest(of: challenges, knowsContent: content != nil), next.isStale,
                next.nonce != nonce,
                count < Self.maximumStaleCount
            else { return .none }
            return answer(next, credentials, target: target, content: content, staleCount: count + 1)
        case .digestReused:
            if let digest, let memory { memory.sessions.forget(digest, in: memory.space) }
            (digest, authorization) = (nil, nil)
        case .unasked: break
        }
        let allowed = credentials.schemes
        if challenges.contains(where: { $0.known == .negotiate }), allowed.contains(.negotiate), answerNegotiate() {
            return .again(onSameConnection: false)
        }
        if allowed.contains(.digest),
            let digest = DigestAnswer.strongest(of: challenges, knowsContent: content != nil)
        {
            return answer(digest, credentials, target: target, content: content, staleCount: 0)
        }
        let offered = challenges.compactMap(\.known)
        if allowed.contains(.ntlm), offered.contains(.ntlm) {
            beginNTLM()
        } else if allowed.contains(.basic), offered.contains(.basic) {
            answerBasic()
        } else {
            return .none
        }
        return .again(onSameConnection: false)
    }

    /// Returns why a challenge is not answered, as text for people; `nil` without credentials.
    func complaint(about head: ResponseHead) -> String? {
        guard let credentials else { return nil }
        if case .unasked = progress {
            let offered = HTTPChallenge.all(in: head).map(\.scheme)
            return offered == ["negotiate"] || credentials.schemes == .negotiate
                ? "a \(challengeStatus == 407 ? "proxy" : "WebSocket")'s handshake cannot use Negotiate"
                : "no scheme that it offers can be answered: \(offered.joined(separator: ", "))"
        }
        return "it refuses the credentials"
    }

    /// Whether a text contains the credentials that were sent, since debugging proxies echo requests in their
    /// responses.
    func isRepeated(in text: [UInt8]) -> Bool {
        let value = authorization?.split(separator: " ", maxSplits: 1).last.map(String.init)
        return [value, credentials?.password].contains { secret in
            secret.map { $0.utf8.count >= 3 && text.firstRange(of: Array($0.utf8)) != nil } ?? false
        }
    }

    /// Answers with the Negotiate token; returns false if there is none.
    @discardableResult
    private mutating func answerNegotiate() -> Bool {
        guard let token else { return false }
        progress = .negotiate
        authorization = "Negotiate " + Data(token).base64EncodedString()
        return true
    }

    private mutating func answerBasic() {
        guard let credentials else { return }
        progress = .basic
        authorization = "Basic " + Data("\(credentials.user):\(credentials.password)".utf8).base64EncodedString()
    }

    private mutating func answer(
        _ digest: DigestAnswer, _ credentials: RequestMessage.Credentials, target: String, content: Data?,
        staleCount: Int
    ) -> Answer {
        progress = .digest(nonce: digest.nonce, staleCount: staleCount)
        answer(with: DigestSessions.Use(digest), credentials, target: target, content: content)
        return .again(onSameConnection: false)
    }

    private mutating func answer(
        with use: DigestSessions.Use, _ credentials: RequestMessage.Credentials, target: String, content: Data?
    ) {
        digest = use
        authorization = use.answer.field(
            credentials, method: method, target: target, clientNonce: use.clientNonce, content: content ?? Data())
    }

    private mutating func beginNTLM() {
        progress = .ntlmBegun
        authorization = "NTLM " + Data(NTLMMessages.negotiate).base64EncodedString()
    }

    private mutating func finishNTLM(
        _ challenges: [HTTPChallenge], _ credentials: RequestMessage.Credentials
    ) -> Answer {
        let tokens = challenges.filter { $0.known == .ntlm }.compactMap(\.token)
        progress = .ntlmAnswered
        guard let bytes = tokens.first.flatMap({ Data(base64Encoded: $0) }),
            let challenge = NTLMMessages.Challenge(Array(bytes))
        else { return .none }
        var generator = SystemRandomNumberGenerator()
        let own = (0..<8).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let message = NTLMMessages.authenticate(challenge, credentials, clientChallenge: own, now: Date())
        authorization = "NTLM " + Data(message).base64EncodedString()
        return .again(onSameConnection: true)
    }
}
