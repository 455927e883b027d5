// The requirements on a chain.

public import Foundation

/// The requirements on a chain, besides leading to an authority.
public struct TrustRules: Sendable, Hashable {
    /// The moment at which the certificates must be valid; `nil`, the default, is the moment of the verification.
    public var date: Date?
    /// OpenSSL's security level, 0 to 5 (SSL_CTX_set_security_level(3)).
    ///
    /// Default: 2, which requires 112 bits of security: RSA keys of 2048 bits, curves of 224 bits, and no SHA-1. 0
    /// accepts everything.
    public var securityLevel: Int {
        didSet { securityLevel = min(max(securityLevel, 0), 5) }
    }

    /// Makes rules.
    ///
    /// - Parameters:
    ///   - date: the moment at which the certificates must be valid; `nil`, the default, is the moment of the
    ///     verification.
    ///   - securityLevel: OpenSSL's security level, 2 by default; a level outside 0 to 5 becomes the nearest one.
    public init(date: Date? = nil, securityLevel: Int = 2) {
        self.date = date
        self.securityLevel = min(max(securityLevel, 0), 5)
    }
}
