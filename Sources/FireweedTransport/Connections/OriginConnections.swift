// The connections of an origin, by what they are used for.

/// The connections of an `OriginPool`; every connection is open or retired, and an idle one is in a list besides.
struct OriginConnections {
    /// Connections that are in use or idle, and not retired.
    private(set) var open: [ObjectIdentifier: Connection] = [:]
    /// The multiplexed connections among the open ones, the oldest first.
    private(set) var shared: [HTTP2Connection] = []
    /// Connections that finish their exchanges and begin no others.
    private(set) var retired: [ObjectIdentifier: Connection] = [:]
    /// Idle connections; the most recently used one is used next.
    private(set) var idle = IdleList<OriginOrder>()

    var isEmpty: Bool { open.isEmpty && retired.isEmpty }
    var all: [Connection] { Array(open.values) + retired.values }
    /// The number of connections that are not idle.
    var activeCount: Int { open.count + retired.count - idle.count }

    /// The number of connections for a limit.
    ///
    /// Up to `limit` retired connections are not counted, so that their long streams do not block other exchanges.
    func count(for limit: Int) -> Int { open.count + max(0, retired.count - limit) }

    /// Adds a new connection.
    mutating func insert(_ connection: Connection) {
        open[ObjectIdentifier(connection)] = connection
        if let connection = connection as? HTTP2Connection { shared.append(connection) }
    }

    /// Moves a connection from the open to the retired ones.
    mutating func retire(_ connection: HTTP2Connection) {
        open[ObjectIdentifier(connection)] = nil
        shared.removeAll { $0 === connection }
        retired[ObjectIdentifier(connection)] = connection
    }

    /// Removes a closed connection, which is not idle.
    mutating func remove(_ connection: Connection) {
        if connection is HTTP2Connection { shared.removeAll { $0 === connection } }
        open[ObjectIdentifier(connection)] = nil
        retired[ObjectIdentifier(connection)] = nil
    }

    /// Adds an open connection to the idle ones.
    mutating func addIdle(_ connection: Connection) {
        assert(!connection.isClosed && open[ObjectIdentifier(connection)] === connection)
        idle.append(connection)
    }

    /// Removes a connection from the idle ones; false if it is not idle.
    mutating func removeIdle(_ connection: Connection) -> Bool {
        idle.remove(connection)
    }

    /// The first HTTP/2 connection with room for another exchange.
    func firstShared(newerThan number: Int?) -> HTTP2Connection? {
        shared.first { $0.hasRoom && $0.number > number ?? 0 }
    }
}
