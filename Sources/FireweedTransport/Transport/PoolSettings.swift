// The common settings of a pool's connections.

import Foundation

/// Settings of a connection pool; they belong to one session, since sessions never share connections.
public struct PoolSettings: Sendable {
    /// The transport options of the session.
    public var options: TransportOptions
    /// Most connections to one host at a time; further requests wait.
    ///
    /// Zero or less for no limit.
    public var maximumConnectionsPerHost: Int
    /// The rules that decide inside the TLS handshake whether the peer is trusted; `nil` leaves this to the authorities
    /// in `options`.
    public var trustRules: ServerTrustRules?
    /// Runs trust decisions that may block; each transport has an instance, since each has rules of its own.
    var trustDecisions = TrustDecisions()
    /// Fetches revocation statuses with the session's proxies, routes and address guard.
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

    /// The session's trust rule for a host, or otherwise the check by authorities and name.
    func rule(forHost host: String) -> PeerRule {
        PeerRule(
            host: host, authorities: options.certificateAuthorities, mayWait: trustRules?.mayWait(host) ?? false,
            decide: trustRules?.decide ?? PeerRule.authoritiesAndName)
    }
}
