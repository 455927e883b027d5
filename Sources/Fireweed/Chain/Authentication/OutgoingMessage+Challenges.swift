// Answers to challenges with the credentials of a message.

import FireweedTransport
import Foundation

extension OutgoingMessage {
    /// The credentials that the transport uses; `nil` for credentials that allow Digest, since this code answers Digest
    /// challenges.
    ///
    /// The answer to a Digest challenge is sent in a new message. With `qop=auth-int` the answer covers the content, if
    /// that is in memory (RFC 7616 §3.4.3). For WebSockets the transport answers.
    var transportCredentials: RequestMessage.Credentials? {
        guard let credentials, webSocket == nil, credentials.schemes.contains(.digest) else { return credentials }
        return nil
    }

    /// Returns the message with an answer to one of the challenges; `nil` when the message's credentials fit no
    /// challenge, or were refused.
    ///
    /// Of several schemes, the scheme that reveals least is used. Negotiate comes first: it sends nothing without a
    /// Kerberos ticket, and does not use the password. When Negotiate is refused, the other schemes are tried.
    func answering(_ challenges: [HTTPChallenge]) -> OutgoingMessage? {
        let allowed = laterSchemes.isEmpty ? credentials?.schemes ?? [] : laterSchemes
        guard let credentials, webSocket == nil, allowed.contains(.digest), !fields.contains("Authorization") else {
            return nil
        }
        if let digest, !digest.isReused {
            guard let next = answer(to: challenges), next.isStale, next.nonce != digest.nonce,
                digest.staleCount < DigestRound.maximumStaleCount
            else { return nil }
            return answering(next, by: credentials, staleCount: digest.staleCount + 1)
        }
        let offered = challenges.compactMap(\.known)
        for scheme in [AuthenticationSchemes.negotiate, .digest, .ntlm, .basic]
        where allowed.contains(scheme) && offered.contains(scheme) {
            var next = self
            next.digest = nil
            next.laterSchemes = scheme == .negotiate ? allowed.subtracting(.negotiate) : []
            guard scheme == .digest else {
                next.credentials?.schemes = scheme
                return next
            }
            next.credentials?.schemes = allowed
            guard let answer = answer(to: challenges),
                let answered = next.answering(answer, by: credentials, staleCount: 0)
            else { continue }
            return answered
        }
        return nil
    }

    /// The content if it is in memory; `nil` for a stream or a file, whose content is not known before it is sent.
    private var knownContent: Data? {
        switch body {
        case .none: Data()
        case .data(let data): data
        case .file, .reader: nil
        }
    }

    private func answer(to challenges: [HTTPChallenge]) -> DigestAnswer? {
        DigestAnswer.strongest(of: challenges, knowsContent: knownContent != nil)
    }

    private func answering(
        _ answer: DigestAnswer, by credentials: RequestMessage.Credentials, staleCount: Int
    ) -> OutgoingMessage? {
        let use = DigestSessions.Use(answer)
        guard let authorization = authorization(for: use, by: credentials) else { return nil }
        var next = self
        next.digest = DigestRound(authorization: authorization, use: use, staleCount: staleCount)
        return next
    }

    private func authorization(for use: DigestSessions.Use, by credentials: RequestMessage.Credentials) -> String? {
        guard let components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
        let value = use.answer.field(
            credentials, method: method, target: RequestMessage.target(of: components), clientNonce: use.clientNonce,
            content: knownContent ?? Data())
        return value.staysInLine ? value : nil
    }

    // MARK: Nonces of earlier messages

    /// Whether the message may be sent with a nonce that the origin has accepted before.
    var mayReuseDigest: Bool {
        guard let credentials, webSocket == nil, credentials.schemes.contains(.digest) else { return false }
        return (digest?.isReused ?? true) && !fields.contains("Authorization")
    }

    /// The protection space for the message's credentials (RFC 7616 §3.3); `nil` without credentials.
    var digestSpace: DigestSessions.Space? {
        guard let credentials, let host = url.host else { return nil }
        let scheme = url.scheme?.lowercased() ?? ""
        return DigestSessions.Space("\(scheme)://\(CanonicalHost.identity(of: host)):\(url.effectivePort)", credentials)
    }

    /// Returns a Digest answer with a nonce that the origin has accepted before; `nil` when this message can use no
    /// such nonce.
    func reusedDigest(of sessions: DigestSessions) -> DigestRound? {
        guard let credentials, let space = digestSpace else { return nil }
        let (text, knowsContent) = (url.absoluteString, knownContent != nil)
        let use = sessions.next(in: space) { $0.covers(text) && (knowsContent || !$0.coversContent) }
        guard let use, let authorization = authorization(for: use, by: credentials) else { return nil }
        return DigestRound(authorization: authorization, use: use, isReused: true)
    }
}
