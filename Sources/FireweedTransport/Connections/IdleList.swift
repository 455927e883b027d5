// Idle connections in the order in which they became idle.

/// The neighbours of a connection in a list of idle ones.
struct IdleLinks {
    // SAFETY: a listed connection is kept by its origin, and leaves the lists before the origin lets it go.
    fileprivate unowned(unsafe) var older: Connection?
    fileprivate unowned(unsafe) var newer: Connection?
    fileprivate(set) var isListed = false
}

/// One of the lists that a connection is in: its origin's, or that of all origins.
protocol IdleOrder {
    static subscript(connection: Connection) -> IdleLinks { get set }
}

enum OriginOrder: IdleOrder {
    static subscript(connection: Connection) -> IdleLinks {
        get { connection.originLinks }
        set { connection.originLinks = newValue }
    }
}

enum PoolOrder: IdleOrder {
    static subscript(connection: Connection) -> IdleLinks {
        get { connection.poolLinks }
        set { connection.poolLinks = newValue }
    }
}

/// A list of idle connections, which enter and leave in constant time and without memory.
struct IdleList<Order: IdleOrder> {
    private(set) unowned(unsafe) var oldest: Connection?
    private unowned(unsafe) var newest: Connection?
    private(set) var count = 0

    /// Adds a connection that became idle now.
    mutating func append(_ connection: Connection) {
        guard !Order[connection].isListed else { return }
        Order[connection] = IdleLinks(older: newest, newer: nil, isListed: true)
        if let newest { Order[newest].newer = connection } else { oldest = connection }
        newest = connection
        count += 1
    }

    /// Removes a connection; false for one that is not in the list.
    @discardableResult
    mutating func remove(_ connection: Connection) -> Bool {
        let links = Order[connection]
        guard links.isListed else { return false }
        if let newer = links.newer { Order[newer].older = links.older } else { newest = links.older }
        if let older = links.older { Order[older].newer = links.newer } else { oldest = links.newer }
        Order[connection] = IdleLinks()
        count -= 1
        return true
    }

    /// The connection that became idle last among those that suit.
    func newest(where suits: (Connection) -> Bool) -> Connection? {
        var next = newest
        while let connection = next, !suits(connection) { next = Order[connection].older }
        return next
    }

    /// All connections, the oldest first.
    var all: [Connection] {
        var all: [Connection] = []
        var next = oldest
        while let connection = next {
            all.append(connection)
            next = Order[connection].newer
        }
        return all
    }
}
