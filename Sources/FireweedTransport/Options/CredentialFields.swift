// Fields with credentials: the one list of them.

/// The fields that say who a request comes from, for everything that depends on it.
///
/// Redirects drop them, caches keep their users apart, and logs hide their values. Each of these asks here: a list of
/// their own would differ some day.
package struct CredentialFields: Sendable {
    /// The place of a field in HTTP.
    package enum Kind: Sendable {
        /// `Authorization` (RFC 9110 §11.6.2), and the fields that services use instead.
        case user
        /// `Cookie` (RFC 6265 §4.2).
        case cookie
        /// `Proxy-Authorization` (RFC 9110 §11.7.2): says nothing about the user to the origin.
        case proxy
    }

    /// The fields that have this meaning everywhere.
    private static let fixed: [(String, Kind)] = [
        ("Authorization", .user), ("Cookie", .cookie), ("Proxy-Authorization", .proxy),
    ]
    /// Fields of responses and of the past with the same secrets, which only logs have to know.
    private static let reported = [
        "Authentication-Info", "Cookie2", "Proxy-Authentication-Info", "Sec-WebSocket-Protocol", "Set-Cookie",
        "Set-Cookie2", "X-Amzn-Oidc-Data", "X-Forwarded-Client-Cert",
    ]

    private let kinds: FieldNames<Kind>

    /// The fields of HTTP itself, and those of these names: `TransportOptions.credentialFieldNames` of a session.
    package init(_ names: [String]) {
        kinds = FieldNames(Self.fixed + names.map { ($0, .user) })
    }

    /// The names whose values are secrets in logs and archives, in lower case.
    package static var hiddenNames: Set<String> {
        Set((fixed.map(\.0) + reported + TransportOptions.standardCredentialFieldNames).map { $0.lowercased() })
    }

    /// The kind of a field; `nil` for a field without credentials.
    package func kind(of name: String) -> Kind? { kinds[name] }
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
