// The trust rule for a TLS connection's peer.

/// The trust rule for the peer of one connection.
struct PeerRule: Sendable {
    /// The host that the certificate must be for.
    let host: String
    let authorities: CertificateAuthorities
    /// Whether `decide` may block, and so must not run on the loop's thread.
    let mayWait: Bool
    /// Throws if the peer must not be trusted.
    let decide: @Sendable (ServerTrust) throws -> Void

    /// Checks the chain up to an authority, and the host name.
    static let authoritiesAndName: @Sendable (ServerTrust) throws -> Void = { trust in
        try trust.evaluateChain()
        try trust.evaluateHost(trust.host)
    }
}
