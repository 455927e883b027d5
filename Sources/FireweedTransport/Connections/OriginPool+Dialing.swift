// Making of an origin's connections.

extension OriginPool {
    /// Whether a connection may be made.
    var hasRoom: Bool {
        guard !books.lacksDescriptors else { return false }
        return limit.map { books.connections.count(for: $0) + books.dialings.count < $0 } ?? true
    }

    /// Whether a connection may be made for an exchange that waits.
    var mayDial: Bool {
        guard books.dialings.count < waitingCount, hasRoom,
            !books.connections.shared.contains(where: \.isThrottled)
        else { return false }
        // One HTTP/2 connection serves all exchanges (RFC 9113 §9.1), so exchanges wait for the first connection.
        return books.knownProtocol == .http1 || books.dialsInParallel || books.dialings.isEmpty
    }

    /// Makes connections for exchanges that have waited for the protocol of the first connection.
    func dialInParallel() {
        books.dialsInParallel = true
        assignConnections()
    }

    /// Puts an exchange back into the queue when its file got no descriptor; false if nothing at this origin can
    /// release a descriptor.
    func waitForDescriptor(exchange: Exchange) -> Bool {
        guard noteLackOfDescriptors(isAwaited: hasConnections || books.files.aheadCount > 1) else { return false }
        enter(exchange)
        return true
    }

    /// Pauses new connections and files if a descriptor is expected to become free; returns `isAwaited`.
    private func noteLackOfDescriptors(isAwaited: Bool) -> Bool {
        books.lacksDescriptors = isAwaited
        if isAwaited { descriptorTimer.wait(for: self, until: pool.context.now + Self.descriptorWait) }
        return isAwaited
    }

    /// Whether there are connections, or some are being made.
    var hasConnections: Bool { !(books.connections.isEmpty && books.dialings.isEmpty) }

    /// Makes connections and opens files again: other parts of the process may have released descriptors.
    func dialAgain() {
        books.lacksDescriptors = false
        assignConnections()
    }

    /// Nanoseconds without new connections and files after the process was out of descriptors.
    private static let descriptorWait: LoopInstant = 100_000_000
    /// Nanoseconds that exchanges wait for the protocol of the first connection.
    private static let protocolWaitLimit: LoopInstant = 100_000_000

    /// Begins a connection for the first exchange without a dialer; false if every exchange has a dialer.
    func dial() -> Bool {
        guard let exchange = books.renewals.nextUndialed() ?? books.line.nextUndialed() else { return false }
        let dialing = PendingDial(exchange, origin: self)
        let dialer = Dialer(
            books.target, userTimeout: exchange.message.idleTimeout, context: pool.context, parts: pool.parts,
            tls: pool.tls, owner: dialing)
        dialing.dialer = dialer
        books.dialings[ObjectIdentifier(dialer)] = dialing
        if books.knownProtocol == nil, !books.dialsInParallel {
            protocolTimer.wait(for: self, until: pool.context.now + Self.protocolWaitLimit)
        }
        exchange.entry.dialer = dialer
        exchange.noteDialed(in: pool.context)
        // The idle time-out includes the time in which the connection is made.
        exchange.touch()
        exchange.setTimer()
        dialer.begin()
        return true
    }

    /// Detaches an exchange from its dialer; the exchange may get another dialer.
    private func separate(_ exchange: Exchange) {
        exchange.entry.dialer = nil
        guard let place = exchange.entry.place else { return }
        books.line.noteUndialed(place)
        books.renewals.noteUndialed(place)
        if pool.maximumConnectionWait != nil { exchange.setTimer() }
    }

    /// Passes the dialer of an exchange on to an exchange without a dialer; abandons it if every exchange has one.
    func releaseDialer(of exchange: Exchange) {
        guard let dialer = exchange.entry.dialer else { return }
        exchange.entry.dialer = nil
        guard books.dialings[ObjectIdentifier(dialer)] != nil else { return }
        guard let exchange = books.renewals.nextUndialed() ?? books.line.nextUndialed() else {
            books.dialings[ObjectIdentifier(dialer)] = nil
            return dialer.abandon()
        }
        books.dialings[ObjectIdentifier(dialer)]?.exchange = exchange
        exchange.entry.dialer = dialer
        exchange.touch()
        exchange.setTimer()
    }

    /// Removes a finished dialer; returns the exchange that it worked for.
    private func forget(_ dialer: Dialer) -> Exchange? {
        guard let exchange = books.dialings.removeValue(forKey: ObjectIdentifier(dialer))?.exchange else { return nil }
        separate(exchange)
        return exchange
    }

    /// Abandons all connections under construction, which the waiting exchanges do not need or cannot use.
    func abandonDialers() {
        for dialing in books.dialings.values {
            separate(dialing.exchange)
            dialing.dialer?.abandon()
        }
        books.dialings = [:]
    }

    /// The number of the next connection, counted from 1.
    func nextConnectionNumber() -> Int {
        books.connectionNumber += 1
        return books.connectionNumber
    }

    /// Stops offering HTTP/2, since the server wants HTTP/1.1 (RFC 9113 §7, HTTP_1_1_REQUIRED).
    ///
    /// Exchanges that already run on HTTP/2 may finish there.
    func requireHTTP1() {
        guard !books.target.isLimitedToHTTP1 else { return }
        books.target.isLimitedToHTTP1 = true
        books.knownProtocol = .http1
        // The dialers are abandoned, since they may have offered HTTP/2 already.
        abandonDialers()
        for connection in books.connections.shared { connection.retire() }
        assignConnections()
    }
}

// The calls of the dialers.
extension OriginPool {
    func dialer(_ dialer: Dialer, didConnect socket: ConnectedSocket) {
        let exchange = forget(dialer)
        books.dialsInParallel = false
        protocolTimer.end()
        books.knownProtocol = socket.applicationProtocol
        switch socket.applicationProtocol {
        case .http1:
            let connection = HTTP1Connection(socket, origin: self)
            books.connections.insert(connection)
            begin(connection)
        case .http2:
            do {
                let session = try HTTP2Session(limits: pool.responseLimits)
                let connection = HTTP2Connection(socket, session: session, origin: self)
                books.connections.insert(connection)
                // The other dialers are abandoned: more connections are needed only if this one is not enough.
                abandonDialers()
                begin(connection)
            } catch {
                pool.context.sockets.willClose(socket.channel.descriptor)
                socket.channel.close()
                exchange?.entry.hasFailedDial = true
                exchange?.end(error)
                assignConnections()
            }
        }
    }

    private func begin(_ connection: Connection) {
        pool.connectionObserver?.connectionOpened(connection.observed)
        connectionIsFree(connection)
    }

    func dialer(_ dialer: Dialer, didFail failure: TransferFailure) {
        books.dialsInParallel = true
        let exchange = forget(dialer)
        // Without descriptors, the exchange waits until another connection of the origin is made, becomes free or
        // closes, or until `descriptorTimer` fires.
        if !noteLackOfDescriptors(isAwaited: dialer.lacksDescriptors && hasConnections) {
            exchange?.entry.hasFailedDial = true
            exchange?.end(failure)
        }
        assignConnections()
    }
}
