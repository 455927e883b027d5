// Use of an origin's connections: which is taken next, and what becomes of it afterwards.

extension OriginPool {
    /// Makes a connection idle that has finished its exchanges, and gives it to a waiting exchange if possible.
    func connectionIsFree(_ connection: Connection) {
        books.lacksDescriptors = false
        putIdle(connection)
        assignConnections()
        // The limit applies only now, after waiting exchanges have got connections.
        pool.limitIdle()
    }

    /// Assigns exchanges to a connection that has room for more of them.
    ///
    /// An ended exchange may have closed its file, and so released a descriptor.
    func connectionHasRoom(_ connection: HTTP2Connection) {
        books.lacksDescriptors = false
        assignConnections()
    }

    /// Moves a connection that begins no further exchange from the open to the retired connections.
    func connectionRetired(_ connection: HTTP2Connection) {
        books.connections.retire(connection)
        removeIdle(connection)
        assignConnections()
    }

    /// Removes a closed connection.
    func connectionClosed(_ connection: Connection) {
        books.lacksDescriptors = false
        removeIdle(connection)
        books.connections.remove(connection)
        pool.connectionObserver?.connectionClosed(connection.observed, after: connection.age)
        assignConnections()
    }

    func putIdle(_ connection: Connection) {
        books.connections.addIdle(connection)
        pool.addIdle(connection)
        connection.becomeIdle()
    }

    private func removeIdle(_ connection: Connection) {
        if books.connections.removeIdle(connection) { pool.removeIdle(connection) }
    }

    /// The first HTTP/2 connection with room for another exchange, if its peer has not closed it.
    func takeShared(newerThan number: Int? = nil) -> Connection? {
        while let connection = books.connections.firstShared(newerThan: number) {
            guard connection.isIdle, connection.originLinks.isListed else { return connection }
            removeIdle(connection)
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    /// The most recently used idle HTTP/1.1 connection that its peer has not closed.
    func takeIdle() -> Connection? {
        takeIdle { !($0 is HTTP2Connection) }
    }

    /// An idle HTTP/1.1 connection that has carried nothing yet.
    func takeUnused(newerThan number: Int?) -> Connection? {
        takeIdle { !($0 is HTTP2Connection) && $0.exchangeCount == 0 && $0.number > number ?? 0 }
    }

    private func takeIdle(where suits: (Connection) -> Bool) -> Connection? {
        while let connection = books.connections.idle.newest(where: suits) {
            removeIdle(connection)
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    /// Closes all idle connections.
    func closeIdle() {
        // Closing a connection may give another connection of this list to an exchange, so `isIdle` is checked for
        // each.
        for connection in books.connections.idle.all where connection.isIdle { connection.close() }
    }
}
