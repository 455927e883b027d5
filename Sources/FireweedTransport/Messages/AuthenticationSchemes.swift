// The authentication schemes (RFC 9110 §11).

/// Schemes of HTTP authentication (RFC 9110 §11).
///
/// Of the schemes that are allowed and that a server offers, the strongest is used: Negotiate, Digest, NTLM, Basic, in
/// this order. Negotiate is skipped without a Kerberos ticket.
public struct AuthenticationSchemes: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// User and password, Base64-encoded but not encrypted (RFC 7617).
    public static let basic = AuthenticationSchemes(rawValue: 1 << 0)
    /// A hash of user, password and the server's nonce: MD5, SHA-256, SHA-512/256 (RFC 7616).
    public static let digest = AuthenticationSchemes(rawValue: 1 << 1)
    /// NTLM, which authenticates the connection instead of single messages.
    public static let ntlm = AuthenticationSchemes(rawValue: 1 << 2)
    /// Kerberos with SPNEGO (RFC 4559); uses the user's ticket and no password.
    public static let negotiate = AuthenticationSchemes(rawValue: 1 << 3)

    /// All schemes that use a password: Basic, Digest and NTLM.
    ///
    /// Negotiate is not included: it uses the ticket of the process's user, who may differ from the user of the
    /// password.
    public static let password: AuthenticationSchemes = [.basic, .digest, .ntlm]
}
