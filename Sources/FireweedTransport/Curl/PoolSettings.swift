// What every connection of a pool has in common.

import Foundation

/// Settings of a connection pool; they are the session's, so that two sessions never share a connection.
public struct PoolSettings: Sendable {
    /// The transport options of the session.
    public var options: TransportOptions
    /// Most connections to one host at a time; more requests wait.
    ///
    /// Zero or less for no limit.
    public var maximumConnectionsPerHost: Int
    /// Decides inside the TLS handshake whether the peer is trusted; `nil` leaves it to the authorities in `options`.
    public var trustDecision: (@Sendable (ServerTrust) throws -> Void)?

    /// Makes the settings of a pool.
    public init(
        options: TransportOptions = TransportOptions(), maximumConnectionsPerHost: Int = 6,
        trustDecision: (@Sendable (ServerTrust) throws -> Void)? = nil
    ) {
        self.options = options
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
        self.trustDecision = trustDecision
    }
}

extension PoolSettings {
    /// Asks the session's rules about the chain of a peer; false when there are none, an error when they refuse it.
    func judge(_ chain: [Certificate], of url: String) throws -> Bool {
        guard let decide = trustDecision else { return false }
        let host = URL(string: url)?.host ?? ""
        try decide(ServerTrust(certificates: chain, host: host, authorities: options.certificateAuthorities))
        return true
    }
}
