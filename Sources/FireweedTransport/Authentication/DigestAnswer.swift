// The answer to a Digest challenge.

package import Foundation

/// Makes the `Authorization` field of Digest (RFC 7616 §3.4); pure.
package struct DigestAnswer: Equatable, Sendable {
    /// The algorithms from the weakest to the strongest (RFC 7616 §3.7).
    package enum Algorithm: Int {
        case md5, sha256, sha512Cut256

        /// Reads the name of an algorithm; `nil` for an unknown name.
        init?(_ name: String) {
            switch name.lowercased() {
            case "md5": self = .md5
            case "sha-256": self = .sha256
            case "sha-512-256": self = .sha512Cut256
            default: return nil
            }
        }

        var hash: Hash {
            switch self {
            case .md5: .md5
            case .sha256: .sha256
            case .sha512Cut256: .sha512Cut256
            }
        }
    }

    /// The quality of protection (`qop`); `none` is for servers that implement only RFC 2069.
    enum Protection: String {
        case none
        case authentication = "auth"
        case integrity = "auth-int"
    }

    package let algorithm: Algorithm
    package let nonce: String
    /// Whether the peer says `stale=true`: the nonce of our last answer was too old, but the credentials were right.
    package let isStale: Bool
    /// The number of messages that have used the nonce (`nc`), including the message with this answer.
    package var useCount: UInt32 = 1
    /// The URIs for which the nonce is valid: paths of the origin, or absolute URIs; empty for the whole origin.
    private let domain: [String]
    private let algorithmName: String?
    private let isSession: Bool
    private let realm: String
    private let opaque: String?
    private let protection: Protection
    private let hashesUser: Bool

    /// True if the answer also covers the content (`qop=auth-int`).
    package var coversContent: Bool { protection == .integrity }

    /// Returns the strongest answer that the challenges allow; `nil` if they allow none.
    ///
    /// Challenges with an unknown algorithm are ignored (RFC 7616 §3.3). Without `knowsContent`, challenges that offer
    /// only `qop=auth-int` are ignored too.
    package static func strongest(of challenges: [HTTPChallenge], knowsContent: Bool = true) -> DigestAnswer? {
        challenges.compactMap(DigestAnswer.init).filter { knowsContent || !$0.coversContent }
            .max { $0.algorithm.rawValue < $1.algorithm.rawValue }
    }

    /// Makes an answer; `nil` for another scheme, without a nonce, or for an unknown algorithm or quality of
    /// protection.
    package init?(_ challenge: HTTPChallenge) {
        guard challenge.known == .digest, let nonce = challenge.parameters["nonce"] else { return nil }
        algorithmName = challenge.parameters["algorithm"]
        let name = (algorithmName ?? "MD5").lowercased()
        isSession = name.hasSuffix("-sess")
        guard let algorithm = Algorithm(isSession ? String(name.dropLast(5)) : name),
            let protection = Self.protection(offered: challenge.parameters["qop"])
        else { return nil }
        self.algorithm = algorithm
        self.protection = protection
        self.nonce = nonce
        realm = challenge.realm ?? ""
        opaque = challenge.parameters["opaque"]
        domain = challenge.parameters["domain"]?.split(separator: " ").map(String.init) ?? []
        isStale = challenge.parameters["stale"]?.lowercased() == "true"
        hashesUser = challenge.parameters["userhash"]?.lowercased() == "true"
    }

    private static func protection(offered list: String?) -> Protection? {
        guard let list else { return Protection.none }
        let names = list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
        if names.contains("auth") { return .authentication }
        return names.contains("auth-int") ? .integrity : nil
    }

    /// Whether the nonce is also valid for another URL of the origin (RFC 7616 §3.3, `domain`).
    package func covers(_ url: String) -> Bool {
        guard !domain.isEmpty else { return true }
        guard let target = try? RequestTarget(url) else { return false }
        return domain.contains { uri in
            if uri.hasPrefix("/") { return target.originForm.hasPrefix(uri) }
            guard let prefix = try? RequestTarget(uri), prefix.isSecure == target.isSecure, prefix.port == target.port,
                CanonicalHost.identity(of: prefix.host) == CanonicalHost.identity(of: target.host)
            else { return false }
            return target.originForm.hasPrefix(prefix.originForm)
        }
    }

    /// Returns the field's value, with `useCount` as the nonce count.
    ///
    /// - Parameters:
    ///   - credentials: the user and the password.
    ///   - method: the method of the message.
    ///   - target: the request target, as in the request line.
    ///   - clientNonce: our `cnonce`.
    ///   - content: the content of the message; only used if `coversContent`.
    /// - Returns: the value of `Authorization` or `Proxy-Authorization` (RFC 7616 §3.4).
    package func field(
        _ credentials: RequestMessage.Credentials, method: String, target: String, clientNonce: String,
        content: Data = Data()
    ) -> String {
        func hash(_ text: String) -> String { algorithm.hash.hexadecimalDigest(of: text) }
        var secret = hash("\(credentials.user):\(realm):\(credentials.password)")
        if isSession { secret = hash("\(secret):\(nonce):\(clientNonce)") }
        let digits = String(useCount, radix: 16)
        let count = String(repeating: "0", count: 8 - digits.count) + digits
        let middle = protection == .none ? "" : "\(count):\(clientNonce):\(protection.rawValue):"
        let covered = coversContent ? ":\(algorithm.hash.hexadecimalDigest(of: content))" : ""
        let response = hash("\(secret):\(nonce):\(middle)\(hash("\(method):\(target)\(covered)"))")
        let user = hashesUser ? hash("\(credentials.user):\(realm)") : credentials.user
        var parts = [
            "username=\(Self.quoted(user))", "realm=\(Self.quoted(realm))", "nonce=\(Self.quoted(nonce))",
            "uri=\(Self.quoted(target))", "response=\"\(response)\"",
        ]
        if let algorithmName { parts.append("algorithm=\(algorithmName)") }
        if let opaque { parts.append("opaque=\(Self.quoted(opaque))") }
        if protection != .none {
            parts += ["qop=\(protection.rawValue)", "nc=\(count)", "cnonce=\(Self.quoted(clientNonce))"]
        } else if isSession {
            parts.append("cnonce=\(Self.quoted(clientNonce))")
        }
        if hashesUser { parts.append("userhash=true") }
        return "Digest \(parts.joined(separator: ", "))"
    }

    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    /// Returns a random `cnonce`.
    package static func makeClientNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(generator.next() as UInt64, radix: 36) + String(generator.next() as UInt64, radix: 36)
    }
}
