// The authentication schemes (RFC 9110 §11).

/// Schemes of HTTP authentication (RFC 9110 §11).
///
/// Of several that are allowed and that a server offers, the strongest is used: Negotiate, Digest, NTLM, Basic, in this
/// order. Without a Kerberos ticket, Negotiate is passed over.
public struct AuthenticationSchemes: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Makes a set of its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// User and password as they are (RFC 7617).
    public static let basic = AuthenticationSchemes(rawValue: 1 << 0)
    /// A hash of user, password and the server's nonce: MD5, SHA-256, SHA-512/256 (RFC 7616).
    public static let digest = AuthenticationSchemes(rawValue: 1 << 1)
    /// NTLM, which authenticates the connection.
    public static let ntlm = AuthenticationSchemes(rawValue: 1 << 2)
    /// Kerberos by SPNEGO (RFC 4559); takes the user's ticket and no password.
    public static let negotiate = AuthenticationSchemes(rawValue: 1 << 3)

    /// Every scheme that uses a password: Basic, Digest and NTLM.
    ///
    /// Negotiate is left out: it takes the ticket of the process's user, who may be another one than the user whose
    /// password is given.
    public static let password: AuthenticationSchemes = [.basic, .digest, .ntlm]
}
