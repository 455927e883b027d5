// Fields with credentials: the one list of them.

import Synchronization

/// The fields that carry credentials, for all code that treats such fields differently.
///
/// Redirects drop them, caches keep their users apart, and logs hide their values. All three use this list: separate
/// lists would differ some day.
package struct CredentialFields: Sendable {
    /// The kind of credentials in a field.
    package enum Kind: Sendable {
        /// `Authorization` (RFC 9110 §11.6.2), and the fields that services use instead; among them
        /// `Sec-WebSocket-Protocol`, in which clients in browsers have to send their tokens.
        case user
        /// `Cookie` (RFC 6265 §4.2).
        case cookie
        /// `Proxy-Authorization` (RFC 9110 §11.7.2): says nothing about the user to the origin.
        case proxy
    }

    /// The fields that have this meaning everywhere.
    private static let fixed: [(String, Kind)] = [
        ("Authorization", .user), ("Cookie", .cookie), ("Proxy-Authorization", .proxy),
        ("Sec-WebSocket-Protocol", .user),
    ]
    /// Fields of responses, and obsolete fields, with the same secrets; only logs hide them.
    private static let reported = [
        "Authentication-Info", "Cookie2", "Proxy-Authentication-Info", "Set-Cookie", "Set-Cookie2",
        "X-Amzn-Oidc-Data", "X-Forwarded-Client-Cert",
    ]

    private static let words = SecretFieldWords()

    private let kinds: FieldNames<Kind>
    /// Whether fields with a secret's word in their names count as credentials too.
    private let knowsWords: Bool

    /// The fields of HTTP itself, and those of these names: `TransportOptions.credentialFieldNames` of a session.
    ///
    /// If `names` has all of the standard names, fields that logs hide by the words in their names count too. A caller
    /// that leaves a standard name out wants such fields to be kept.
    package init(_ names: [String]) {
        kinds = FieldNames(Self.fixed + names.map { ($0, .user) })
        let listed = Set(names.map { $0.lowercased() })
        knowsWords = TransportOptions.standardCredentialFieldNames.allSatisfy { listed.contains($0.lowercased()) }
    }

    /// The names whose values are secrets in logs and archives, in lower case.
    package static var hiddenNames: Set<String> {
        Set((fixed.map(\.0) + reported + TransportOptions.standardCredentialFieldNames).map { $0.lowercased() })
    }

    /// The names of a session that its own logs and archives hide too, in lower case; empty for the standard ones.
    package static func ownHiddenNames(_ names: [String]) -> Set<String> {
        // Comparing the unchanged array takes constant time.
        guard names != TransportOptions.standardCredentialFieldNames else { return [] }
        return Set(names.map { $0.lowercased() }).subtracting(hiddenNames)
    }

    /// The kind of a field; `nil` for a field without credentials.
    package func kind(of name: String) -> Kind? {
        if let kind = kinds[name] { return kind }
        return knowsWords && Self.words.areSecret(in: name) ? .user : nil
    }
}

/// Finds the standard words of secrets in the names of fields, and caches the results, since a program uses few names.
private final class SecretFieldWords: Sendable {
    private let parts = SecretNames(SecretNames.standardParts)
    private let wholes = SecretNames(SecretNames.standardWholes)
    private let known = Mutex<[(name: String, isSecret: Bool)]>(Array(repeating: ("", false), count: 256))

    func areSecret(in name: String) -> Bool {
        guard name.utf8.count <= 64 else {
            return SecretNames.isSecret(field: name, parts: parts, wholes: wholes)
        }
        let place = Int(truncatingIfNeeded: name.withBytes { $0.reduce(5381) { $0 &* 33 &+ UInt64($1) } }) & 255
        if let isSecret = known.withLock({ $0[place].name == name ? $0[place].isSecret : nil }) { return isSecret }
        let isSecret = SecretNames.isSecret(field: name, parts: parts, wholes: wholes)
        known.withLock { $0[place] = (name, isSecret) }
        return isSecret
    }
}

extension TransportOptions {
    /// The fields beside `Authorization` and `Cookie` in which common services and frameworks take keys, tokens and
    /// sessions.
    ///
    /// A redirect to another origin drops them: `Api-Key`, `Apikey`, `Authentication`, `CF-Access-Client-Id`,
    /// `CF-Access-Client-Secret`, `CF-Access-Jwt-Assertion`, `Circle-Token`, `DD-API-KEY`, `DD-APPLICATION-KEY`,
    /// `DPoP`, `Job-Token`, `Ocp-Apim-Subscription-Key`, `Private-Token`, `Token`, `X-Access-Token`,
    /// `X-Algolia-API-Key`, `X-Amz-Security-Token`, `X-Api-Key`, `X-Api-Token`, `X-ApiKey`, `X-App-Token`, `X-Auth`,
    /// `X-Auth-Key`, `X-Auth-Token`, `X-Authorization`, `X-Consul-Token`, `X-CSRF-Token`, `X-CSRFToken`,
    /// `X-Figma-Token`, `X-Forwarded-Access-Token`, `X-Functions-Key`, `X-Gitlab-Token`, `X-Goog-Api-Key`,
    /// `X-Goog-IAM-Authorization-Token`, `X-Id-Token`, `X-JFrog-Art-Api`, `X-Master-Key`, `X-NuGet-ApiKey`,
    /// `X-Parse-Master-Key`, `X-Parse-REST-API-Key`, `X-Parse-Session-Token`, `X-Plex-Token`, `X-RapidAPI-Key`,
    /// `X-Redmine-API-Key`, `X-Refresh-Token`, `X-Secret-Key`, `X-Session-Id`, `X-Session-Token`,
    /// `X-Shopify-Access-Token`, `X-Token`, `X-User-Token`, `X-Vault-Token` and `X-XSRF-Token`.
    public static let standardCredentialFieldNames = [
        "Api-Key", "Apikey", "Authentication", "CF-Access-Client-Id", "CF-Access-Client-Secret",
        "CF-Access-Jwt-Assertion", "Circle-Token", "DD-API-KEY", "DD-APPLICATION-KEY", "DPoP", "Job-Token",
        "Ocp-Apim-Subscription-Key", "Private-Token", "Token", "X-Access-Token", "X-Algolia-API-Key",
        "X-Amz-Security-Token", "X-Api-Key", "X-Api-Token", "X-ApiKey", "X-App-Token", "X-Auth", "X-Auth-Key",
        "X-Auth-Token", "X-Authorization", "X-Consul-Token", "X-CSRF-Token", "X-CSRFToken", "X-Figma-Token",
        "X-Forwarded-Access-Token", "X-Functions-Key", "X-Gitlab-Token", "X-Goog-Api-Key",
        "X-Goog-IAM-Authorization-Token", "X-Id-Token", "X-JFrog-Art-Api", "X-Master-Key", "X-NuGet-ApiKey",
        "X-Parse-Master-Key", "X-Parse-REST-API-Key", "X-Parse-Session-Token", "X-Plex-Token", "X-RapidAPI-Key",
        "X-Redmine-API-Key", "X-Refresh-Token", "X-Secret-Key", "X-Session-Id", "X-Session-Token",
        "X-Shopify-Access-Token", "X-Token", "X-User-Token", "X-Vault-Token", "X-XSRF-Token",
    ]
}
