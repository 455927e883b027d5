// What a curl command shows.

/// Whether a `curl` command shows what would let its reader in.
public enum CURLSecrets: Sendable {
    /// Everything is there, and the command sends the same request.
    case shown
    /// For logs: `REDACTED` stands for the values of `Authorization`, `Cookie`, `Set-Cookie` and `Proxy-Authorization`,
    /// for user and password, and for the user information of the URL.
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
