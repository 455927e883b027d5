// The list of fields with credentials.

import Synchronization

/// The fields that carry credentials.
///
/// Redirects drop these fields, caches keep the users of such fields apart, and logs hide their values. All three use
/// this list, because separate lists would become different over time.
package struct CredentialFields: Sendable {
    /// The kind of credentials in a field.
    package enum Kind: Sendable {
        /// `Authorization` (RFC 9110 §11.6.2), and fields that services use instead of it, such as
        /// `Sec-WebSocket-Protocol`, in which browser clients must send their tokens.
        case user
        /// `Cookie` (RFC 6265 §4.2).
        case cookie
        /// `Proxy-Authorization` (RFC 9110 §11.7.2), which does not identify the user to the origin.
        case proxy
    }

    /// The standard fields that always carry credentials.
    private static let fixed: [(String, Kind)] = [
        ("Authorization", .user), ("Cookie", .cookie), ("Proxy-Authorization", .proxy),
        ("Sec-WebSocket-Protocol", .user),
    ]
    /// Response fields and obsolete fields with similar secrets; only logs hide them.
    private static let reported = [
        "Authentication-Info", "Cookie2", "Proxy-Authentication-Info", "Set-Cookie", "Set-Cookie2",
        "X-Amzn-Oidc-Data", "X-Forwarded-Client-Cert",
    ]

    private static let words = SecretFieldWords()

    private let kinds: FieldNames<Kind>
    /// Whether a field whose name contains a secret's word is treated as a credential field too.
    private let knowsWords: Bool

    /// Makes a list of the fields of HTTP itself and of `names`, a session's `TransportOptions.credentialFieldNames`.
    ///
    /// If `names` contains all standard names, fields with a secret's word in their names are included too. A caller
    /// that leaves a standard name out wants to keep such fields.
    package init(_ names: [String]) {
        kinds = FieldNames(Self.fixed + names.map { ($0, .user) })
        let listed = Set(names.map { $0.lowercased() })
        knowsWords = TransportOptions.standardCredentialFieldNames.allSatisfy { listed.contains($0.lowercased()) }
    }

    /// The names of fields whose values logs and archives hide, in lower case.
    package static var hiddenNames: Set<String> {
        Set((fixed.map(\.0) + reported + TransportOptions.standardCredentialFieldNames).map { $0.lowercased() })
    }

    /// Returns the names that only this session's logs and archives hide, in lower case; empty for the standard names.
    package static func ownHiddenNames(_ names: [String]) -> Set<String> {
        // The unchanged standard array shares its storage, so that this comparison takes constant time.
        guard names != TransportOptions.standardCredentialFieldNames else { return [] }
        return Set(names.map { $0.lowercased() }).subtracting(hiddenNames)
    }

    /// Returns the kind of credentials in a field; `nil` for a field without credentials.
    package func kind(of name: String) -> Kind? {
        if let kind = kinds[name] { return kind }
        return knowsWords && Self.words.areSecret(in: name) ? .user : nil
    }
}

/// Finds the standard words of secrets in field names; caches the results, since a program uses few names.
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
    /// The fields besides `Authorization` and `Cookie` in which common services expect keys, tokens and session
    /// identifiers.
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
