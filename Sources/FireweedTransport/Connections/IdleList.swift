// Idle connections in the order in which they became idle.

/// The neighbours of a connection in a list of idle connections.
struct IdleLinks<Member: AnyObject> {
    // SAFETY: the origin holds a listed connection, which leaves the lists before the origin releases it.
    fileprivate unowned(unsafe) var older: Member?
    fileprivate unowned(unsafe) var newer: Member?
    fileprivate(set) var isListed = false
}

/// One of the two lists that contain a connection: the list of its origin, or the list of the pool.
protocol IdleOrder {
    associatedtype Member: AnyObject
    static subscript(member: Member) -> IdleLinks<Member> { get set }
}

enum OriginOrder: IdleOrder {
    static subscript(connection: Connection) -> IdleLinks<Connection> {
        get { connection.originLinks }
        set { connection.originLinks = newValue }
    }
}

enum PoolOrder: IdleOrder {
    static subscript(connection: Connection) -> IdleLinks<Connection> {
        get { connection.poolLinks }
        set { connection.poolLinks = newValue }
    }
}

/// A list of idle connections, which enter and leave in constant time and without allocation.
struct IdleList<Order: IdleOrder> {
    private(set) unowned(unsafe) var oldest: Order.Member?
    private unowned(unsafe) var newest: Order.Member?
    private(set) var count = 0

    /// Adds a connection that became idle now; false if it is already in the list.
    @discardableResult
    mutating func append(_ connection: Order.Member) -> Bool {
        guard !Order[connection].isListed else { return false }
        Order[connection] = IdleLinks(older: newest, newer: nil, isListed: true)
        if let newest { Order[newest].newer = connection } else { oldest = connection }
        newest = connection
        count += 1
        return true
    }

    /// Removes a connection; false if it is not in the list.
    @discardableResult
    mutating func remove(_ connection: Order.Member) -> Bool {
        let links = Order[connection]
        guard links.isListed else { return false }
        if let newer = links.newer { Order[newer].older = links.older } else { newest = links.older }
        if let older = links.older { Order[older].newer = links.newer } else { oldest = links.newer }
        Order[connection] = IdleLinks()
        count -= 1
        return true
    }

    /// The suitable connection that became idle last.
    func newest(where suits: (Order.Member) -> Bool) -> Order.Member? {
        var next = newest
        while let connection = next, !suits(connection) { next = Order[connection].older }
        return next
    }

    /// All connections, the oldest first.
    var all: [Order.Member] {
        var all: [Order.Member] = []
        var next = oldest
        while let connection = next {
            all.append(connection)
            next = Order[connection].newer
        }
        return all
    }
}
