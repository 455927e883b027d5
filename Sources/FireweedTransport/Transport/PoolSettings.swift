// The settings that a pool's connections share.

import Foundation

/// Settings of a connection pool; they belong to one session, since sessions never share connections.
public struct PoolSettings: Sendable {
    /// The transport options of the session.
    public var options: TransportOptions
    /// The most connections to one host at a time; further requests wait.
    ///
    /// Zero or less means no limit.
    public var maximumConnectionsPerHost: Int
    /// The rules that decide during the TLS handshake whether the peer is trusted; `nil` uses the authorities in
    /// `options`.
    public var trustRules: ServerTrustRules?
    /// Runs trust decisions that may block; each transport has its own instance, because it has its own rules.
    var trustDecisions = TrustDecisions()
    /// Fetches revocation statuses with the session's proxies, routes and address guard.
    var statuses: (any StatusSource)?

    /// Makes the settings of a pool.
    ///
    /// - Parameters:
    ///   - options: the transport options of the session.
    ///   - maximumConnectionsPerHost: the most connections to one host at a time, 6 by default; zero or less for no
    ///     limit.
    ///   - trustRules: the rules that decide whether a server is trusted; `nil`, the default, uses the authorities in
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
    /// Returns the client identity for a host; `nil` for none.
    func identity(forHost host: String) -> ClientIdentity? {
        trustRules?.identity(host) ?? options.identity(forHost: host)
    }

    /// Returns the session's trust rule for a host; without session rules, the check of authorities and name.
    func rule(forHost host: String) -> PeerRule {
        PeerRule(
            host: host, authorities: options.certificateAuthorities, mayWait: trustRules?.mayWait(host) ?? false,
            decide: trustRules?.decide ?? PeerRule.authoritiesAndName)
    }
}
