// Credentials in curl commands.

/// The treatment of credentials in a `curl` command: shown or hidden.
public enum CURLSecrets: Sendable {
    /// The command shows everything, and sends the same request.
    case shown
    /// For logs: `REDACTED` replaces the values of `Authorization`, `Cookie`, `Set-Cookie` and `Proxy-Authorization`,
    /// user and password, and the userinfo of the URL.
    ///
    /// The rest of the URL, other fields and the content are shown as they are.
    case hidden
}

/// The fields that `.hidden` hides.
enum SecretFields {
    static let mark = "REDACTED"
    private static let names = ["Authorization", "Cookie", "Set-Cookie", "Proxy-Authorization"]

    static func contains(_ name: String) -> Bool {
        names.contains(where: name.isEqualIgnoringASCIICase)
    }
}
