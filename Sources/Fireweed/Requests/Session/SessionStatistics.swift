// A snapshot of a session's requests and connections.

public import FireweedTransport

/// A snapshot of a session's requests and connections, for the gauges of a metrics system.
public struct SessionStatistics: Sendable, Hashable {
    /// The requests that have begun and have not ended (``Session/activeRequestCount``).
    public var activeRequestCount: Int
    /// For each origin that has connections: the connections, and the messages that wait for one; ordered by origin.
    ///
    /// Empty for a transport without connections, such as a transport of stubs. Connections of WebSockets are left out.
    public var origins: [OriginStatistics]

    /// Makes statistics from their parts.
    ///
    /// - Parameters:
    ///   - activeRequestCount: the requests that have begun and have not ended.
    ///   - origins: the connections to each origin; none by default.
    public init(activeRequestCount: Int, origins: [OriginStatistics] = []) {
        self.activeRequestCount = activeRequestCount
        self.origins = origins
    }

    /// Connections that are being made, of all origins.
    public var connecting: Int { origins.reduce(0) { $0 + $1.connecting } }
    /// Connections with at least one exchange, of all origins.
    public var active: Int { origins.reduce(0) { $0 + $1.active } }
    /// Connections without an exchange, of all origins.
    public var idle: Int { origins.reduce(0) { $0 + $1.idle } }
    /// Messages that wait for a connection, of all origins.
    public var waiting: Int { origins.reduce(0) { $0 + $1.waiting } }
}

extension Session {
    /// The session's requests, connections, and messages that wait for a connection, at this moment.
    ///
    /// Reading does not wait for an event loop; its cost grows with the number of origins.
    public var statistics: SessionStatistics {
        SessionStatistics(activeRequestCount: activeRequestCount, origins: transport.statistics)
    }
}
