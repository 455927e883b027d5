// The queue of an origin's exchanges, and its connections.

/// The connections to one origin, and the queue of exchanges that wait for a connection.
///
/// An exchange gets the first available of these: an HTTP/2 connection with room for a stream, an idle connection, a
/// new connection within the limit, the next connection that becomes free. `DeadlineLine` decides the order of the
/// exchanges; an exchange that a peer did not process returns to its former place. An exchange whose connection was
/// lost is served first, on a connection that was made afterwards.
final class OriginPool {
    let key: OriginKey
    /// `OriginKey.absoluteFormProxy`, kept for the head of every message.
    let absoluteFormProxy: Proxy?
    // The pool holds its origins too: the reference cycle ends when the pool is shut down and releases them.
    let pool: ConnectionPool
    /// The counts of connections and waiting exchanges, which other threads read.
    let counters: OriginCounters

    /// The queues and the connections; only this class uses them.
    struct Books {
        var target: DialTarget
        var line: DeadlineLine
        /// The queue of exchanges that need a new connection.
        var renewals = ExchangeLine()
        /// The queue of exchanges whose files are not open; after the file was opened, an exchange enters another
        /// queue.
        var files = FileLine()
        var dialings: [ObjectIdentifier: PendingDial] = [:]
        var connections = OriginConnections()
        /// The origin's protocol, once it is known: HTTP/2 needs one connection, HTTP/1.1 one for each exchange.
        var knownProtocol: ApplicationProtocol?
        /// Whether further connections are made although the protocol of the first connection is not known yet.
        var dialsInParallel = false
        var isAssigning = false
        /// Whether the turn ended before all waiting exchanges were handled.
        var isPutOff = false
        var isShutDown = false
        /// The last turn with a dial, and the number of its dials.
        var dialTurn: UInt64 = 0
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
    var books: Books

    /// The most simultaneous connections, including those under construction; `nil` for no limit.
    let limit: Int?
    /// The durations of the last responses, from the moment when the exchange got a connection to the response's end.
    private var latencies = LatencyWindow()
    let protocolTimer = OriginTimer { $0.dialInParallel() }
    let descriptorTimer = OriginTimer { $0.dialAgain() }
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
        absoluteFormProxy = key.absoluteFormProxy
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
        if exchange.tries.isRepeated || exchange.entry.isAhead, let old = exchange.entry.number {
            number = old
        } else {
            books.exchangeNumber += 1
            number = books.exchangeNumber
        }
        (exchange.entry.number, exchange.entry.place) = (number, number)
        exchange.beginWaiting(in: pool.context)
        if exchange.needsFile {
            books.files.enter(exchange, number: number)
        } else if exchange.tries.wantNewConnection {
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
        guard let place = exchange.entry.place else { return }
        exchange.entry.place = nil
        if exchange.needsFile {
            books.files.leave(place)
        } else if exchange.tries.wantNewConnection {
            books.renewals.leave(place)
        } else {
            books.line.leave(place)
        }
        releaseDialer(of: exchange)
    }

    /// Opens the files of the next exchanges, as far as the limit of files allows.
    private func openFiles() {
        while !books.lacksDescriptors, !pool.isShutDown, let exchange = books.files.next() {
            exchange.entry.place = nil
            // A suspended exchange enters the queue again when it is resumed.
            if exchange.flow.level == .suspended { books.files.endAhead(exchange) } else { exchange.openFile() }
        }
    }

    /// The number of exchanges that wait for a connection.
    var waitingCount: Int { books.line.count + books.renewals.count }

    /// Gives connections to waiting exchanges while connections are available or may be made.
    func assignConnections() {
        // A dial that fails at once calls this method again: the loop of the outer call then continues.
        guard !books.isAssigning, !pool.isShutDown, !pool.defersAssignment(of: self) else { return }
        (books.isAssigning, books.isPutOff) = (true, false)
        if books.dialTurn != pool.context.turnNumber {
            (books.dialTurn, books.dialCount) = (pool.context.turnNumber, 0)
        }
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
        for connection in books.connections.shared where connection.needsFlush { connection.flush() }
        publishCounts()
    }

    /// Publishes the counts for other threads; called after every change.
    private func publishCounts() {
        counters.publish(
            connecting: books.dialings.count,
            active: books.connections.activeCount, idle: books.connections.idle.count, waiting: waitingCount)
    }

    /// Continues with the other exchanges in the next turn.
    private func putOff() {
        books.isPutOff = true
        pool.context.continueAfterSockets(self)
    }

    /// Gives a connection to an exchange, closes an idle one for it, or dials; false when none of these is possible.
    private func assignConnection() -> Bool {
        if let exchange = books.renewals.first {
            if let connection = takeShared(newerThan: exchange.tries.lostConnection)
                ?? takeUnused(newerThan: exchange.tries.lostConnection)
            {
                serve(connection)
                return true
            }
            // The exchange needs a newer connection than the lost one: without room, a used idle connection is closed.
            if books.renewals.count > books.dialings.count, !hasRoom, let used = books.connections.idle.oldest {
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
            exchange.entry.place = nil
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
        if let first = books.renewals.first, connection.number > first.tries.lostConnection ?? 0,
            isMultiplexed || connection.exchangeCount == 0
        {
            return books.renewals.next().map { .serve($0) }
        }
        return books.line.next(at: pool.context.now, turn: pool.context.turnNumber, &latencies)
    }

    /// Fails an exchange whose deadline is out of reach.
    private func refuse(_ turn: DeadlineLine.Turn) {
        guard case .refuse(let exchange, let remaining, let needed) = turn else { return }
        exchange.entry.place = nil
        pool.context.turn.noteCost(TurnBudget.callCost)
        releaseDialer(of: exchange)
        refuse(exchange, remaining: remaining, needed: needed)
    }

    /// Fails the exchanges that would be served last, until at most `limit` exchanges without a dialer wait.
    private func refuseExchanges(beyond limit: Int) {
        while waitingCount - books.dialings.count > max(0, limit), let exchange = books.line.removeLast() {
            exchange.entry.place = nil
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

    /// Pauses new streams, since the peer refuses all of them, or continues at once (`ResendRule`).
    func rest(afterRefusals count: Int) {
        guard let pause = ResendRule.pause(afterRefusals: count) else { return endRest() }
        restTimer.wait(for: self, until: pool.context.now + pause)
    }

    private func endRest() {
        for connection in books.connections.shared { connection.endRest() }
        assignConnections()
    }

    /// Closes all connections and abandons the dialers; the caller has ended the exchanges before.
    func shutDown() {
        books.isShutDown = true
        abandonDialers()
        for timer in [protocolTimer, descriptorTimer, restTimer] { timer.end() }
        for connection in books.connections.all { connection.close() }
    }
}

extension OriginPool: NextIteration {
    func continueWork() {
        // After the shutdown, no connection is assigned.
        if !books.isShutDown { assignConnections() }
    }
}
