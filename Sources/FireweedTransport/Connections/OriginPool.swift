// The queue of an origin's exchanges, and its connections.

/// The connections to one origin, and the queue of exchanges that wait for a connection.
///
/// An exchange gets the first available of these: an HTTP/2 connection with room for a stream, an idle connection, a
/// new connection within the limit, the next connection that becomes free. `DeadlineLine` decides the order of the
/// exchanges; an exchange that a peer did not process returns to its former place. An exchange whose connection was
/// lost is served first, on a connection that was made afterwards.
final class OriginPool {
    let key: OriginKey
    // The pool holds its origins too: the reference cycle ends when the pool is shut down and releases them.
    let pool: ConnectionPool
    /// The counts of connections and waiting exchanges, which other threads read.
    let counters: OriginCounters

    /// The queues and the connections.
    private struct Books {
        var target: DialTarget
        var line: DeadlineLine
        /// The queue of exchanges that need a new connection.
        var renewals = ExchangeLine()
        /// The queue of exchanges whose files are not open; after the file was opened, an exchange enters another
        /// queue.
        var files = FileLine()
        var dialings: [ObjectIdentifier: PendingDial] = [:]
        /// Idle connections; the most recently used one is used next.
        var idle = IdleList<OriginOrder>()
        /// Connections that are in use or idle, and not retired.
        var openConnections: [ObjectIdentifier: Connection] = [:]
        /// The multiplexed connections among `openConnections`.
        var shared: [HTTP2Connection] = []
        /// Connections that finish their exchanges and begin no others.
        var retired: [ObjectIdentifier: Connection] = [:]
        /// The origin's protocol, once it is known: HTTP/2 needs one connection, HTTP/1.1 one for each exchange.
        var knownProtocol: ApplicationProtocol?
        /// Whether further connections are made although the protocol of the first connection is not known yet.
        var dialsInParallel = false
        var isAssigning = false
        /// Whether the turn ended before all waiting exchanges were handled.
        var isPutOff = false
        var isShutDown = false
        /// The number of dials begun in the present call of `assignConnections()`.
        var dialCount = 0
        var connectionNumber = 0
        /// Whether the process was out of descriptors for a socket or a file.
        ///
        /// Until a descriptor may be free again, no connection is made and no file is opened.
        var lacksDescriptors = false
        /// The number of the exchange that entered the queue last.
        var exchangeNumber = 0

        init(_ target: DialTarget, _ options: TransportOptions) {
            self.target = target
            line = DeadlineLine(options)
        }
    }

    // SAFETY: `books` is used only on the loop's thread, and no method of its members calls this object again. Debug
    // builds, in which the tests run, check the exclusive access; a release build would check it some forty times for a
    // request.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    private var books: Books

    /// The most simultaneous connections, including those under construction; `nil` for no limit.
    private let limit: Int?
    /// The durations of the last responses, from the moment when the exchange got a connection to the response's end.
    private var latencies = LatencyWindow()
    private let protocolTimer = OriginTimer { $0.dialInParallel() }
    private let descriptorTimer = OriginTimer { $0.dialAgain() }
    private let restTimer = OriginTimer { $0.endRest() }
    /// Whether connections are assigned later in this turn, once all exchanges have entered the queue.
    var isEntered = false
    /// The number of the origin's exchanges, including those that have not entered the queue yet.
    var exchangeCount = 0
    /// The number of exchanges that a connection processed before its peer sent GOAWAY and refused others; `nil` for
    /// none.
    ///
    /// Servers limit the requests of a connection (`keepalive_requests` of nginx), and refuse further requests. So a
    /// new connection gets at most this number until the peer has shown that it accepts more.
    var knownStreamLimit: Int?
    /// Grows whenever a peer sends a response head over HTTP/2, or a GOAWAY that says that it has processed exchanges.
    private(set) var progress = 0

    init(key: OriginKey, pool: ConnectionPool) {
        self.key = key
        counters = OriginCounters(key)
        self.pool = pool
        let settings = pool.settings
        limit = settings.maximumConnectionsPerHost > 0 ? settings.maximumConnectionsPerHost : nil
        books = Books(DialTarget(key, options: settings.options, digests: pool.digests), settings.options)
        if !key.isSecure {
            books.knownProtocol = books.target.clearTextProtocol
        } else if books.target.isLimitedToHTTP1 || settings.options.httpVersion == .http1Only
            || !settings.options.offersALPN
        {
            books.knownProtocol = .http1
        }
    }

    /// Whether the pool can be removed.
    var isEmpty: Bool { exchangeCount == 0 && !hasConnections }

    // MARK: The queue

    /// Adds an exchange at the end of the queue, or at its former place if `isRepeated` is true or its file is open.
    func enter(_ exchange: Exchange) {
        let number: Int
        if exchange.isRepeated || exchange.isAhead, let old = exchange.number {
            number = old
        } else {
            books.exchangeNumber += 1
            number = books.exchangeNumber
        }
        (exchange.number, exchange.place) = (number, number)
        exchange.beginWaiting(in: pool.context)
        if exchange.needsFile {
            books.files.enter(exchange, number: number)
        } else if exchange.wantsNewConnection {
            books.renewals.enter(exchange, number: number)
        } else {
            books.line.enter(exchange, number: number, at: pool.context.now)
        }
        if pool.maximumConnectionWait != nil { exchange.setTimer() }
        assignConnections()
    }

    /// Removes a waiting exchange.
    func leave(_ exchange: Exchange) {
        books.files.endAhead(exchange)
        defer {
            openFiles()
            publishCounts()
        }
        guard let place = exchange.place else { return }
        exchange.place = nil
        if exchange.needsFile {
            books.files.leave(place)
        } else if exchange.wantsNewConnection {
            books.renewals.leave(place)
        } else {
            books.line.leave(place)
        }
        releaseDialer(of: exchange)
    }

    /// Opens the files of the next exchanges, as far as the limit of files allows.
    private func openFiles() {
        while !books.lacksDescriptors, !pool.isShutDown, let exchange = books.files.next() {
            exchange.place = nil
            // A suspended exchange enters the queue again when it is resumed.
            if exchange.flow.level == .suspended { books.files.endAhead(exchange) } else { exchange.openFile() }
        }
    }

    /// The number of exchanges that wait for a connection.
    private var waitingCount: Int { books.line.count + books.renewals.count }

    /// Gives connections to waiting exchanges while connections are available or may be made.
    func assignConnections() {
        // A dial that fails at once calls this method again: the loop of the outer call then continues.
        guard !books.isAssigning, !pool.isShutDown, !pool.defersAssignment(of: self) else { return }
        (books.isAssigning, books.isPutOff) = (true, false)
        books.dialCount = 0
        var count = 0
        while waitingCount > 0, assignConnection() {
            pool.context.turn.noteCost(TurnBudget.callCost)
            count += 1
            guard pool.context.turn.allows(count) else {
                putOff()
                break
            }
        }
        books.isAssigning = false
        // No exchange is refused if the turn ended before all were handled: the next turn may find connections for the
        // others.
        if !books.isPutOff, let limit = pool.maximumWaitingRequests { refuseExchanges(beyond: limit) }
        openFiles()
        // The heads of all exchanges that got a stream are sent together.
        for connection in books.shared where connection.needsFlush { connection.flush() }
        publishCounts()
    }

    /// Publishes the counts for other threads; called after every change.
    private func publishCounts() {
        counters.publish(
            connecting: books.dialings.count,
            active: books.openConnections.count + books.retired.count - books.idle.count, idle: books.idle.count,
            waiting: waitingCount)
    }

    /// Continues with the other exchanges in the next turn.
    private func putOff() {
        books.isPutOff = true
        pool.context.continueAfterSockets(self)
    }

    /// Gives a connection to an exchange, closes an idle one for it, or dials; false when none of these is possible.
    private func assignConnection() -> Bool {
        if let exchange = books.renewals.first {
            if let connection = takeShared(newerThan: exchange.lostConnection)
                ?? takeUnused(newerThan: exchange.lostConnection)
            {
                serve(connection)
                return true
            }
            // The exchange needs a newer connection than the lost one: without room, a used idle connection is closed.
            if books.renewals.count > books.dialings.count, !hasRoom, let used = books.idle.oldest {
                used.close()
                return true
            }
        }
        if books.line.count > 0, let connection = takeShared() ?? takeIdle() {
            serve(connection)
            return true
        }
        guard mayDial else { return false }
        // A long queue is possible, for example when the protocol becomes known: its dials are spread over several
        // turns.
        guard pool.context.turn.allows(books.dialCount) else {
            putOff()
            return false
        }
        books.dialCount += 1
        pool.context.turn.noteCost(4 * TurnBudget.callCost)
        return dial()
    }

    /// Gives a connection to the first suitable exchange that may run; if there is none, the connection becomes idle.
    private func serve(_ connection: Connection) {
        var hasRefused = false
        // Once the turn is over, each call of this method refuses at most one exchange, so that the loop's turn ends.
        while !(hasRefused && pool.context.turn.isOver), let turn = nextTurn(for: connection) {
            guard case .serve(let exchange) = turn else {
                hasRefused = true
                refuse(turn)
                continue
            }
            exchange.place = nil
            books.files.endAhead(exchange)
            releaseDialer(of: exchange)
            // A suspended exchange enters the queue again when it is resumed.
            guard exchange.flow.level != .suspended else { continue }
            if let field = pool.deadlineField { exchange.writeRemainingTime(into: field, at: pool.context.now) }
            return connection.attach(exchange)
        }
        guard connection.isIdle else { return }
        putIdle(connection)
        pool.limitIdle()
    }

    private func nextTurn(for connection: Connection) -> DeadlineLine.Turn? {
        let isMultiplexed = connection is HTTP2Connection
        if let first = books.renewals.first, connection.number > first.lostConnection ?? 0,
            isMultiplexed || connection.exchangeCount == 0
        {
            return books.renewals.next().map { .serve($0) }
        }
        return books.line.next(at: pool.context.now, turn: pool.context.turnNumber, &latencies)
    }

    /// Fails an exchange whose deadline is out of reach.
    private func refuse(_ turn: DeadlineLine.Turn) {
        guard case .refuse(let exchange, let remaining, let needed) = turn else { return }
        exchange.place = nil
        pool.context.turn.noteCost(TurnBudget.callCost)
        releaseDialer(of: exchange)
        refuse(exchange, remaining: remaining, needed: needed)
    }

    /// Fails the exchanges that would be served last, until at most `limit` exchanges without a dialer wait.
    private func refuseExchanges(beyond limit: Int) {
        while waitingCount - books.dialings.count > max(0, limit), let exchange = books.line.removeLast() {
            exchange.place = nil
            releaseDialer(of: exchange)
            refuse(exchange, beyond: limit)
        }
    }

    /// Records how long a complete response took, in nanoseconds.
    func noteResponse(after duration: UInt64, at now: LoopInstant) {
        latencies.note(duration, at: now)
    }

    /// Notes that the peer has processed exchanges, so refused exchanges may be sent again.
    func noteProgress() {
        progress += 1
    }

    /// Pauses new streams, since the peer refuses all of them; after a first refusal, continues at once.
    func rest(afterRefusals count: Int) {
        guard count > 1 else { return endRest() }
        let pause = Self.firstRest << (2 * UInt64(min(count, ResendRule.refusalLimit) - 2))
        restTimer.wait(for: self, until: pool.context.now + pause)
    }

    private func endRest() {
        for connection in books.shared { connection.endRest() }
        assignConnections()
    }

    /// The pause after the second refusal in a row, in nanoseconds; after the third, the pause is four times as long.
    private static let firstRest: LoopInstant = 50_000_000

    // MARK: New connections

    /// Whether a connection may be made.
    ///
    /// Up to `limit` retired connections are not counted, so that their long streams do not block other exchanges.
    private var hasRoom: Bool {
        guard !books.lacksDescriptors else { return false }
        return limit.map { books.openConnections.count + max(0, books.retired.count - $0) + books.dialings.count < $0 }
            ?? true
    }

    private var mayDial: Bool {
        guard books.dialings.count < waitingCount, hasRoom, !books.shared.contains(where: \.isThrottled) else {
            return false
        }
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

    private var hasConnections: Bool {
        !(books.openConnections.isEmpty && books.retired.isEmpty && books.dialings.isEmpty)
    }

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
    private func dial() -> Bool {
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
        exchange.dialer = dialer
        exchange.noteDialed(in: pool.context)
        // The idle time-out includes the time in which the connection is made.
        exchange.touch()
        exchange.setTimer()
        dialer.begin()
        return true
    }

    /// Detaches an exchange from its dialer; the exchange may get another dialer.
    private func separate(_ exchange: Exchange) {
        exchange.dialer = nil
        guard let place = exchange.place else { return }
        books.line.noteUndialed(place)
        books.renewals.noteUndialed(place)
        if pool.maximumConnectionWait != nil { exchange.setTimer() }
    }

    /// Passes the dialer of an exchange on to an exchange without a dialer; abandons it if every exchange has one.
    private func releaseDialer(of exchange: Exchange) {
        guard let dialer = exchange.dialer else { return }
        exchange.dialer = nil
        guard books.dialings[ObjectIdentifier(dialer)] != nil else { return }
        guard let exchange = books.renewals.nextUndialed() ?? books.line.nextUndialed() else {
            books.dialings[ObjectIdentifier(dialer)] = nil
            return dialer.abandon()
        }
        books.dialings[ObjectIdentifier(dialer)]?.exchange = exchange
        exchange.dialer = dialer
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
    private func abandonDialers() {
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

    // MARK: Idle connections

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

    /// Stops offering HTTP/2, since the server wants HTTP/1.1 (RFC 9113 §7, HTTP_1_1_REQUIRED).
    ///
    /// Exchanges that already run on HTTP/2 may finish there.
    func requireHTTP1() {
        guard !books.target.isLimitedToHTTP1 else { return }
        books.target.isLimitedToHTTP1 = true
        books.knownProtocol = .http1
        // The dialers are abandoned, since they may have offered HTTP/2 already.
        abandonDialers()
        for connection in books.shared { connection.retire() }
        assignConnections()
    }

    /// Moves a connection that begins no further exchange from the open to the retired connections.
    func connectionRetired(_ connection: HTTP2Connection) {
        books.openConnections[ObjectIdentifier(connection)] = nil
        books.shared.removeAll { $0 === connection }
        books.retired[ObjectIdentifier(connection)] = connection
        removeIdle(connection)
        assignConnections()
    }

    /// Removes a closed connection.
    func connectionClosed(_ connection: Connection) {
        books.lacksDescriptors = false
        removeIdle(connection)
        if connection is HTTP2Connection { books.shared.removeAll { $0 === connection } }
        books.openConnections[ObjectIdentifier(connection)] = nil
        books.retired[ObjectIdentifier(connection)] = nil
        pool.connectionObserver?.connectionClosed(connection.observed, after: connection.age)
        assignConnections()
    }

    private func putIdle(_ connection: Connection) {
        assert(!connection.isClosed && books.openConnections[ObjectIdentifier(connection)] === connection)
        books.idle.append(connection)
        pool.addIdle(connection)
        connection.becomeIdle()
    }

    private func removeIdle(_ connection: Connection) {
        if books.idle.remove(connection) { pool.removeIdle(connection) }
    }

    /// The first HTTP/2 connection with room for another exchange.
    private func takeShared(newerThan number: Int? = nil) -> Connection? {
        while let connection = books.shared.first(where: { $0.hasRoom && $0.number > number ?? 0 }) {
            guard connection.isIdle, connection.originLinks.isListed else { return connection }
            removeIdle(connection)
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    /// The most recently used idle HTTP/1.1 connection that its peer has not closed.
    private func takeIdle() -> Connection? {
        takeIdle { !($0 is HTTP2Connection) }
    }

    /// An idle HTTP/1.1 connection that has carried nothing yet.
    private func takeUnused(newerThan number: Int?) -> Connection? {
        takeIdle { !($0 is HTTP2Connection) && $0.exchangeCount == 0 && $0.number > number ?? 0 }
    }

    private func takeIdle(where suits: (Connection) -> Bool) -> Connection? {
        while let connection = books.idle.newest(where: suits) {
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
        for connection in books.idle.all where connection.isIdle { connection.close() }
    }

    /// Closes all connections and abandons the dialers; the caller has ended the exchanges before.
    func shutDown() {
        books.isShutDown = true
        abandonDialers()
        for timer in [protocolTimer, descriptorTimer, restTimer] { timer.end() }
        for connection in Array(books.openConnections.values) + books.retired.values { connection.close() }
    }
}

extension OriginPool: NextIteration {
    func continueWork() {
        // After the shutdown, no connection is assigned.
        if !books.isShutDown { assignConnections() }
    }
}

extension OriginPool {
    func dialer(_ dialer: Dialer, didConnect socket: ConnectedSocket) {
        let exchange = forget(dialer)
        books.dialsInParallel = false
        protocolTimer.end()
        books.knownProtocol = socket.applicationProtocol
        switch socket.applicationProtocol {
        case .http1: begin(HTTP1Connection(socket, origin: self))
        case .http2:
            do {
                let session = try HTTP2Session(limits: pool.responseLimits)
                let connection = HTTP2Connection(socket, session: session, origin: self)
                books.shared.append(connection)
                // The other dialers are abandoned: more connections are needed only if this one is not enough.
                abandonDialers()
                begin(connection)
            } catch {
                pool.context.sockets.willClose(socket.channel.descriptor)
                socket.channel.close()
                exchange?.hasFailedDial = true
                exchange?.end(error)
                assignConnections()
            }
        }
    }

    private func begin(_ connection: Connection) {
        books.openConnections[ObjectIdentifier(connection)] = connection
        pool.connectionObserver?.connectionOpened(connection.observed)
        connectionIsFree(connection)
    }

    func dialer(_ dialer: Dialer, didFail failure: TransferFailure) {
        books.dialsInParallel = true
        let exchange = forget(dialer)
        // Without descriptors, the exchange waits until another connection of the origin is made, becomes free or
        // closes, or until `descriptorTimer` fires.
        if !noteLackOfDescriptors(isAwaited: dialer.lacksDescriptors && hasConnections) {
            exchange?.hasFailedDial = true
            exchange?.end(failure)
        }
        assignConnections()
    }
}
