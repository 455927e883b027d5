// The rule for a TLS connection's peer.

/// The rule for the peer of one connection.
struct PeerRule: Sendable {
    /// The host that the connection is for.
    let host: String
    let authorities: CertificateAuthorities
    /// Whether `decide` may wait, and so must not run on the loop's thread.
    let mayWait: Bool
    /// Throws when the peer is not to be trusted.
    let decide: @Sendable (ServerTrust) throws -> Void

    /// Checks the chain up to an authority, and the name.
    static let authoritiesAndName: @Sendable (ServerTrust) throws -> Void = { trust in
        try trust.evaluateChain()
        try trust.evaluateHost(trust.host)
    }
}
