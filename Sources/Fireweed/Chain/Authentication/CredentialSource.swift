// Sources of credentials other than the request.

import FireweedTransport
import Foundation
import FoundationNetworking
import Glibc

/// Finds the credentials for an origin, and stores accepted credentials.
///
/// The order: the request's own credentials; with the first message, the URL's userinfo, then the netrc file; after a
/// challenge, the configuration's storage, then the netrc file. When credentials of the request or of the userinfo are
/// refused, no others are tried: the 401 is the response.
struct CredentialSource: @unchecked Sendable {
    // SAFETY: the storage synchronises itself, and is never replaced.
    private let storage: URLCredentialStorage?
    private let netrc: Netrc?

    init(storage: URLCredentialStorage?, netrc: Netrc?) {
        self.storage = storage
        self.netrc = netrc
    }

    // MARK: Before the first message to an origin

    /// Whether `completing` may change a message with this URL: there is a netrc file, or the URL has an `@`.
    ///
    /// Cheap, since every message is checked.
    func concerns(_ urlText: String) -> Bool {
        guard netrc == nil else { return true }
        // `memchr`, since a Swift loop over the bytes takes ten times as long, and this runs for every message.
        let found = urlText.utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, 0x40, bytes.count) != nil } ?? false
        }
        return found ?? true
    }

    /// Returns a failure when the userinfo in the message's URL cannot be sent; otherwise `nil`.
    func violation(in message: OutgoingMessage) -> TransferFailure? {
        guard let (_, user, password) = Userinfo.split(message.url.absoluteString),
            !RequestMessage.Credentials(user: user, password: password).isSendable
        else { return nil }
        return .exchange(.badURL, detail: "the user or the password in the URL has a line break in it", engineCode: 0)
    }

    /// Returns the message without userinfo in its URL; a message without credentials gets credentials from the
    /// userinfo, or else from the netrc file.
    func completing(_ message: OutgoingMessage) -> OutgoingMessage {
        var message = message
        if let (text, user, password) = Userinfo.split(message.url.absoluteString), let url = URL(string: text) {
            message.url = url
            message.urlRequest?.url = url
            let isNeeded = message.credentials == nil && !message.fields.contains("Authorization") && !user.isEmpty
            if isNeeded { message.adopt(RequestMessage.Credentials(user: user, password: password)) }
        }
        guard message.credentials == nil, !message.fields.contains("Authorization"), let host = message.url.host,
            let entry = netrc?.entry(forHost: host), let login = entry.login
        else { return message }
        let credentials = RequestMessage.Credentials(user: login, password: entry.password ?? "", schemes: .basic)
        if credentials.isSendable { message.credentials = credentials }
        return message
    }

    // MARK: After a challenge

    /// Returns the message with credentials from the storage or the netrc file for one of the challenges; `nil` when
    /// the message has its own credentials, or when all found credentials were refused.
    func answering(_ challenges: [HTTPChallenge], to message: OutgoingMessage) -> OutgoingMessage? {
        guard !message.hasOwnCredentials, !message.fields.contains("Authorization") else { return nil }
        let refused = message.refusedCredentials + [message.credentials].compactMap { $0 }
        let answers = challenges.flatMap { challenge in
            candidates(for: challenge, of: message.url).map { candidate in
                (challenge, candidate, strength: challenge.strength(byTicket: Self.isTicket(candidate)))
            }
        }
        for (challenge, candidate, _) in answers.sorted(by: { $0.strength > $1.strength }) {
            guard let scheme = challenge.known else { continue }
            let made = RequestMessage.Credentials(user: candidate.user, password: candidate.password, schemes: scheme)
            if let next = self.message(message, with: made, answering: challenge, refused: refused) { return next }
        }
        return nil
    }

    /// Whether credentials mean the user's Kerberos ticket: an empty user and an empty password.
    private static func isTicket(_ credentials: (user: String, password: String)) -> Bool {
        credentials.user.isEmpty && credentials.password.isEmpty
    }

    /// Returns the message with the credential that a delegate gave for the challenges; `nil` when the credential fits
    /// no challenge or was refused before, or after too many refusals.
    func answering(_ challenges: [HTTPChallenge], to message: OutgoingMessage, by credential: URLCredential)
        -> OutgoingMessage?
    {
        var message = message
        // The delegate's credential replaces the request's own `Authorization` field, which was refused.
        message.fields = FieldBlock(message.fields.fields.filter { !$0.name.isEqualIgnoringASCIICase("Authorization") })
        let refused = message.refusedCredentials + [message.credentials].compactMap { $0 }
        let isTicket = Self.isTicket((credential.user ?? "", credential.password ?? ""))
        for challenge in challenges.sorted(by: { $0.strength(byTicket: isTicket) > $1.strength(byTicket: isTicket) }) {
            guard let scheme = challenge.known else { continue }
            let made = RequestMessage.Credentials(
                user: credential.user ?? "", password: credential.password ?? "", schemes: scheme)
            guard var next = self.message(message, with: made, answering: challenge, refused: refused) else { continue }
            next.remembered = credential
            return next
        }
        return nil
    }

    private func message(
        _ message: OutgoingMessage, with credentials: RequestMessage.Credentials, answering challenge: HTTPChallenge,
        refused: [RequestMessage.Credentials]
    ) -> OutgoingMessage? {
        guard credentials.isSendable, !refused.contains(credentials), refused.count < Self.maximumRefusals else {
            return nil
        }
        var next = message
        next.credentials = credentials
        next.refusedCredentials = refused
        next.digest = nil
        // For a WebSocket's handshake the transport answers Digest challenges, so no answer is added here.
        if credentials.schemes != .digest || message.webSocket != nil { return next }
        return next.answering([challenge])
    }

    /// The most credentials that are tried for one message.
    private static let maximumRefusals = 4

    private func candidates(for challenge: HTTPChallenge, of url: URL) -> [(user: String, password: String)] {
        var found = stored(for: challenge, of: url).map { ($0.user ?? "", $0.password ?? "") }
        if let host = url.host, let entry = netrc?.entry(forHost: host), let login = entry.login {
            found.append((login, entry.password ?? ""))
        }
        return found
    }

    /// The credentials in the storage for the challenge's protection space, the default credential first.
    ///
    /// Foundation on Linux compares protection spaces by identity: its own look-up does not find a credential that was
    /// stored with another object. This method compares the values.
    private func stored(for challenge: HTTPChallenge, of url: URL) -> [URLCredential] {
        guard let storage else { return [] }
        return storage.allCredentials.flatMap { space, credentials -> [URLCredential] in
            guard space.covers(challenge, of: url) else { return [] }
            let byDefault = storage.defaultCredential(for: space)
            return [byDefault].compactMap { $0 }
                + credentials.sorted { $0.key < $1.key }.map(\.value).filter { $0 !== byDefault }
        }
    }

    // MARK: After success

    /// Stores a credential that the origin has accepted, unless its persistence is `none`.
    func remember(_ credential: URLCredential, for challenges: [HTTPChallenge], of url: URL) {
        guard let storage, credential.persistence != .none,
            let challenge = challenges.filter({ $0.known != nil }).max(by: { $0.strength < $1.strength })
        else { return }
        let existing = storage.allCredentials.keys.first {
            $0.covers(challenge, of: url) && $0.realm == challenge.realm
        }
        let space =
            existing
            ?? URLProtectionSpace(
                host: url.host ?? "", port: url.effectivePort, protocol: url.scheme?.lowercased(),
                realm: challenge.realm, authenticationMethod: challenge.method)
        storage.set(credential, for: space)
    }
}

extension HTTPChallenge {
    /// The rank of the challenge's scheme for a user and a password; the challenge with the highest rank is answered.
    ///
    /// A scheme that reveals less has a higher rank. Negotiate comes last: it uses the user's Kerberos ticket and no
    /// password.
    fileprivate var strength: Int { strength(byTicket: false) }

    /// The rank of the challenge's scheme; with `isTicket`, Negotiate has the highest rank.
    fileprivate func strength(byTicket isTicket: Bool) -> Int {
        switch known {
        case .negotiate: isTicket ? .max : 0
        case .digest: 3 + (DigestAnswer(self)?.algorithm.rawValue ?? 0)
        case .ntlm: 2
        case .basic: 1
        default: 0
        }
    }
}

extension URLProtectionSpace {
    /// Whether this space includes a challenge from the origin of `url`; a space without a realm covers the whole
    /// origin.
    fileprivate func covers(_ challenge: HTTPChallenge, of url: URL) -> Bool {
        CanonicalHost.identity(of: host) == url.host.map(CanonicalHost.identity) && port == url.effectivePort
            && (`protocol` ?? "http").lowercased() == url.scheme?.lowercased()
            && (realm == nil || realm == challenge.realm)
            && [challenge.method, NSURLAuthenticationMethodDefault].contains(authenticationMethod)
    }
}

extension URL {
    /// The port, or the scheme's default.
    var effectivePort: Int { port ?? (scheme?.lowercased() == "https" ? 443 : 80) }
}

extension RequestMessage.Credentials {
    /// Whether user and password can be sent: neither has a character that could end or forge a field.
    var isSendable: Bool { user.staysInLine && password.staysInLine }
}

extension OutgoingMessage {
    /// Makes credentials the request's own, unless they cannot be sent.
    mutating func adopt(_ credentials: RequestMessage.Credentials) {
        guard credentials.isSendable else { return }
        self.credentials = credentials
        hasOwnCredentials = true
    }

    /// Removes the previous origin's credentials and the state of its challenges.
    mutating func forgetCredentials() {
        credentials = nil
        hasOwnCredentials = false
        refusedCredentials = []
        remembered = nil
        challenge = nil
        digest = nil
        laterSchemes = []
    }
}
