// Fields in which services take keys and tokens.

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
