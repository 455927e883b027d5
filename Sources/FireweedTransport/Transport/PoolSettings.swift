// The common settings of a pool's connections.

import Foundation

/// Settings of a connection pool; they are the session's, so that two sessions never share a connection.
public struct PoolSettings: Sendable {
    /// The transport options of the session.
    public var options: TransportOptions
    /// Most connections to one host at a time; more requests wait.
    ///
    /// Zero or less for no limit.
    public var maximumConnectionsPerHost: Int
    /// Decide inside the TLS handshake whether the peer is trusted; `nil` leaves it to the authorities in `options`.
    public var trustRules: ServerTrustRules?
    /// Where decisions that may wait are made; each transport has its own, since its rules are its own.
    var trustDecisions = TrustDecisions()
    /// Fetches revocation statuses by the way of the session's requests.
    var statuses: (any StatusSource)?

    /// Makes the settings of a pool.
    ///
    /// - Parameters:
    ///   - options: the transport options of the session.
    ///   - maximumConnectionsPerHost: most connections to one host at a time, 6 by default; zero or less for no limit.
    ///   - trustRules: decide whether a server is trusted; `nil`, the default, leaves it to the authorities in
    ///     `options`.
    public init(
        options: TransportOptions = TransportOptions(), maximumConnectionsPerHost: Int = 6,
        trustRules: ServerTrustRules? = nil
    ) {
        self.options = options
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
        self.trustRules = trustRules
    }
}

extension PoolSettings {
    /// The identity for a host that asks for a client certificate.
    func identity(forHost host: String) -> ClientIdentity? {
        trustRules?.identity(host) ?? options.identity(forHost: host)
    }

    /// The session's own rules for an origin, else the authorities.
    func rule(forHost host: String) -> PeerRule {
        PeerRule(
            host: host, authorities: options.certificateAuthorities, mayWait: trustRules?.mayWait(host) ?? false,
            decide: trustRules?.decide ?? PeerRule.authoritiesAndName)
    }
}
