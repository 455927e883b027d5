// Credentials in curl commands.

/// The treatment of credentials in a `curl` command: shown or hidden.
public enum CURLSecrets: Sendable {
    /// The command shows everything, and sends the same request.
    case shown
    /// For logs: `REDACTED` replaces what ``Redaction/standard`` hides in fields, URLs, forms, JSON and XML, the fields
    /// in `TransportOptions.credentialFieldNames` of the request's session, and user and password.
    ///
    /// A known authentication scheme stays, as in `Authorization: Bearer REDACTED`. `REDACTED` also replaces the
    /// userinfo of the URL. Content of other types, multipart forms among them, is shown unchanged.
    case hidden

    /// The redaction of ``hidden``: ``Redaction/standard`` with a replacement that needs no escaping in a URL or a
    /// shell.
    static let redaction = Redaction.standard.replacing(by: "REDACTED")
}
