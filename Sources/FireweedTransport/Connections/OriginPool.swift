// The queue of an origin's exchanges, and its connections.

/// The connections to one origin, and the line of exchanges that wait for one.
///
/// An exchange gets an HTTP/2 connection with room for a stream, else an idle connection, else a new connection within
/// the limit, else the first connection that becomes free. Exchanges are served in the order in which they came, also
/// those that come back because a peer did not process them. An exchange whose connection was lost gets a connection
/// that was made after that, ahead of all others.
final class OriginPool {
    let key: OriginKey
    unowned let pool: ConnectionPool
    private var target: DialTarget
    /// Most connections at a time, those that are being made included; `nil` for no limit.
    private let limit: Int?
    private var line = WaitingQueue<Exchange>()
    /// The line of exchanges that want a new connection.
    private var renewals = WaitingQueue<Exchange>()
    /// The line of exchanges whose files are to be opened; they enter one of the others then.
    private var files = FileLine()
    private var dialings: [PendingDial] = []
    /// The connection that was used last is at the end, and is used next.
    private var idle: [Connection] = []
    /// Connections that are in use or idle.
    private var openConnections: [Connection] = []
    /// Those among them that carry many exchanges at a time.
    private var shared: [HTTP2Connection] = []
    /// Connections on which no further exchange begins.
    private var retired: [Connection] = []
    /// The protocol of connections to the origin, once it is known: HTTP/2 needs one connection, HTTP/1.1 needs many.
    private var knownProtocol: ApplicationProtocol?
    /// Whether further connections are made although the protocol of the first one is not known yet.
    private var dialsInParallel = false
    private lazy var protocolTimer = OriginTimer(self) { $0.dialInParallel() }
    private lazy var descriptorTimer = OriginTimer(self) { $0.dialAgain() }
    private lazy var restTimer = OriginTimer(self) { $0.endRest() }
    private var isAssigning = false
    /// The number of connections that were begun since `isAssigning` is true.
    private var dialCount = 0
    private var connectionNumber = 0
    /// A socket could not be made, or a file not opened, since the process was out of descriptors; connections that
    /// become free are used meanwhile.
    private var lacksDescriptors = false
    /// The number of the exchange that entered the line last.
    private var exchangeNumber = 0
    /// How many exchanges there are for the origin, those that have not entered the line included.
    var exchangeCount = 0
    /// How many exchanges a connection took before it went away and refused others; `nil` where none has done so.
    ///
    /// A new connection gets no more until it has shown that it takes more: servers limit the requests of a connection
    /// (`keepalive_requests` of nginx), and the others would have been sent for nothing.
    var knownStreamLimit: Int?
    /// Grows whenever a peer answers an exchange over HTTP/2, or goes away and keeps exchanges.
    private(set) var progress = 0

    init(key: OriginKey, pool: ConnectionPool) {
        self.key = key
        self.pool = pool
        let settings = pool.settings
        limit = settings.maximumConnectionsPerHost > 0 ? settings.maximumConnectionsPerHost : nil
        target = DialTarget(key, options: settings.options, digests: pool.digests)
        if !key.isSecure {
            knownProtocol = target.clearTextProtocol
        } else if target.isLimitedToHTTP1 || settings.options.httpVersion == .http1Only || !settings.options.offersALPN
        {
            knownProtocol = .http1
        }
    }

    /// Whether there is nothing to remember.
    var isEmpty: Bool { exchangeCount == 0 && !hasConnections }

    /// How many connections are idle.
    var idleCount: Int { idle.count }

    /// The connection that has been idle longest.
    var oldestIdle: Connection? { idle.first }

    // MARK: The line

    /// Takes an exchange in, behind all others; one that is to be sent again, in the place that it had.
    func enter(_ exchange: Exchange) {
        let number: Int
        if exchange.isRepeated || exchange.isAhead, let old = exchange.number {
            number = old
        } else {
            exchangeNumber += 1
            number = exchangeNumber
        }
        (exchange.number, exchange.place) = (number, number)
        if exchange.needsFile {
            files.enter(exchange, number: number)
        } else if exchange.wantsNewConnection {
            renewals.enter(exchange, number: number)
        } else {
            line.enter(exchange, number: number)
        }
        assignConnections()
    }

    /// Lets an exchange go that waits.
    func leave(_ exchange: Exchange) {
        files.endAhead(exchange)
        defer { openFiles() }
        guard let place = exchange.place else { return }
        exchange.place = nil
        if exchange.needsFile {
            files.leave(place)
        } else if exchange.wantsNewConnection {
            renewals.leave(place)
        } else {
            line.leave(place)
        }
        releaseDialer(of: exchange)
    }

    /// Opens the files of the exchanges that are next.
    private func openFiles() {
        while !lacksDescriptors, !pool.isShutDown, let exchange = files.next() {
            exchange.place = nil
            // One that was suspended meanwhile enters again when it runs.
            if exchange.flow.level == .suspended { files.endAhead(exchange) } else { exchange.openFile() }
        }
    }

    /// The number of exchanges that wait for a connection.
    private var waitingCount: Int { line.count + renewals.count }

    /// Gives connections to the exchanges in the line, as long as there are connections.
    private func assignConnections() {
        // A connection that fails at once calls this again: the loop below continues then.
        guard !isAssigning, !pool.isShutDown else { return }
        isAssigning = true
        dialCount = 0
        while waitingCount > 0, assignConnection() {}
        isAssigning = false
        openFiles()
        // The heads of all exchanges that were served are sent together.
        for connection in shared where connection.needsFlush { connection.flush() }
    }

    /// Gives a connection to an exchange, or begins to make one; false when neither can be done.
    private func assignConnection() -> Bool {
        if let exchange = renewals.first {
            if let connection = takeShared(newerThan: exchange.lostConnection)
                ?? takeUnused(newerThan: exchange.lostConnection)
            {
                serve(connection)
                return true
            }
            // A used connection makes room for a new one.
            if renewals.count > dialings.count, !hasRoom, let used = idle.first {
                used.close()
                return true
            }
        }
        if line.count > 0, let connection = takeShared() ?? takeIdle() {
            serve(connection)
            return true
        }
        guard mayDial else { return false }
        // The line of an origin whose protocol has become known is dialled in several turns.
        guard pool.context.turn.allows(dialCount) else {
            pool.context.continueAfterSockets(self)
            return false
        }
        dialCount += 1
        pool.context.turn.noteCost(4 * TurnBudget.callCost)
        return dial()
    }

    /// Gives a connection to the first exchange in the lines that it suits and that may run, else keeps it.
    private func serve(_ connection: Connection) {
        while let exchange = nextExchange(for: connection) {
            exchange.place = nil
            files.endAhead(exchange)
            releaseDialer(of: exchange)
            // One that was suspended meanwhile enters again when it runs.
            guard exchange.flow.level != .suspended else { continue }
            return connection.attach(exchange)
        }
        guard connection.isIdle else { return }
        putIdle(connection)
        pool.limitIdle()
    }

    private func nextExchange(for connection: Connection) -> Exchange? {
        let isMultiplexed = connection is HTTP2Connection
        if let first = renewals.first, connection.number > first.lostConnection ?? 0,
            isMultiplexed || connection.exchangeCount == 0
        {
            return renewals.next()
        }
        return line.next()
    }

    /// Notes that the peer has taken exchanges: others that it refused may be sent again.
    func noteProgress() {
        progress += 1
    }

    /// Sends nothing over HTTP/2 for a moment, since the peer has refused all it got; not after a first refusal.
    func rest(afterRefusals count: Int) {
        guard count > 1 else { return endRest() }
        let pause = Self.firstRest << (2 * UInt64(min(count, ResendRule.refusalLimit) - 2))
        pool.timers.set(restTimer, to: pool.context.now + pause)
    }

    private func endRest() {
        for connection in shared { connection.endRest() }
        assignConnections()
    }

    /// The pause after the second refusal in a row, in nanoseconds; after the third it is four times as long.
    private static let firstRest: LoopInstant = 50_000_000

    // MARK: New connections

    /// Retired connections may be as many again: long streams on them do not hold up all others.
    private var hasRoom: Bool {
        guard !lacksDescriptors else { return false }
        return limit.map { openConnections.count + max(0, retired.count - $0) + dialings.count < $0 } ?? true
    }

    private var mayDial: Bool {
        guard dialings.count < waitingCount, hasRoom, !shared.contains(where: \.isThrottled) else { return false }
        // One connection of HTTP/2 is enough for all exchanges: they wait for it (RFC 9113 §9.1).
        return knownProtocol == .http1 || dialsInParallel || dialings.isEmpty
    }

    /// Makes connections for the exchanges that waited for the protocol of the first connection.
    func dialInParallel() {
        dialsInParallel = true
        assignConnections()
    }

    /// Lets an exchange wait whose file found no descriptor; false where nothing of the origin will free one.
    func waitForDescriptor(exchange: Exchange) -> Bool {
        guard noteLackOfDescriptors(isAwaited: hasConnections || files.aheadCount > 1) else { return false }
        enter(exchange)
        return true
    }

    /// Begins a time without new descriptors, where one that becomes free is awaited; returns the same.
    private func noteLackOfDescriptors(isAwaited: Bool) -> Bool {
        lacksDescriptors = isAwaited
        if isAwaited { pool.timers.set(descriptorTimer, to: pool.context.now + Self.descriptorWait) }
        return isAwaited
    }

    private var hasConnections: Bool { !(openConnections.isEmpty && retired.isEmpty && dialings.isEmpty) }

    /// Makes a connection again, or opens a file, since descriptors may be free that other parts of the process had.
    func dialAgain() {
        lacksDescriptors = false
        assignConnections()
    }

    /// The time without new connections and files after the process was out of descriptors, in nanoseconds.
    private static let descriptorWait: LoopInstant = 100_000_000
    /// How long exchanges wait for the protocol of the first connection, in nanoseconds.
    private static let protocolWaitLimit: LoopInstant = 100_000_000

    /// Begins a connection for the first exchange in the line without a dialer; false when there is none.
    private func dial() -> Bool {
        guard let exchange = nextExchange else { return false }
        let dialer = Dialer(
            target, userTimeout: exchange.message.idleTimeout, context: pool.context, timers: pool.timers,
            parts: pool.parts, tls: pool.tls, owner: self)
        dialings.append(PendingDial(dialer: dialer, exchange: exchange))
        if knownProtocol == nil, !dialsInParallel {
            pool.timers.set(protocolTimer, to: pool.context.now + Self.protocolWaitLimit)
        }
        exchange.dialer = dialer
        // The idle time-out covers the making of the connection.
        exchange.touch()
        exchange.setTimer()
        dialer.begin()
        return true
    }

    /// The first exchange for which no connection is being made.
    private var nextExchange: Exchange? {
        renewals.first { $0.dialer == nil } ?? line.first { $0.dialer == nil }
    }

    /// Gives the connection that was being made for an exchange to another who waits, or gives it up.
    private func releaseDialer(of exchange: Exchange) {
        guard let dialer = exchange.dialer else { return }
        exchange.dialer = nil
        guard let index = dialings.firstIndex(where: { $0.dialer === dialer }) else { return }
        guard let exchange = nextExchange else {
            dialings.remove(at: index)
            return dialer.abandon()
        }
        dialings[index].exchange = exchange
        exchange.dialer = dialer
        exchange.touch()
        exchange.setTimer()
    }

    /// Forgets a dialer that is over; returns the exchange that it worked for.
    private func forget(_ dialer: Dialer) -> Exchange? {
        guard let index = dialings.firstIndex(where: { $0.dialer === dialer }) else { return nil }
        let exchange = dialings.remove(at: index).exchange
        exchange.dialer = nil
        return exchange
    }

    /// Gives up the connections that are being made; those who wait need others, or none.
    private func abandonDialers() {
        for dialing in dialings {
            dialing.exchange.dialer = nil
            dialing.dialer.abandon()
        }
        dialings = []
    }

    /// The number of the next connection, counted from 1.
    func nextConnectionNumber() -> Int {
        connectionNumber += 1
        return connectionNumber
    }

    // MARK: Idle connections

    /// A connection carries nothing any more, and may carry the next exchange.
    func connectionIsFree(_ connection: Connection) {
        lacksDescriptors = false
        putIdle(connection)
        assignConnections()
        // Those who wait come first.
        pool.limitIdle()
    }

    /// A connection that carries exchanges can carry more of them.
    ///
    /// One that has ended may have closed its file.
    func connectionHasRoom(_ connection: HTTP2Connection) {
        lacksDescriptors = false
        assignConnections()
    }

    /// The server wants HTTP/1.1 (RFC 9113 §7, HTTP_1_1_REQUIRED): no further connection offers HTTP/2.
    ///
    /// Exchanges that run on HTTP/2 may end there.
    func requireHTTP1() {
        guard !target.isLimitedToHTTP1 else { return }
        target.isLimitedToHTTP1 = true
        knownProtocol = .http1
        // Those that are being made have offered HTTP/2 already.
        abandonDialers()
        for connection in shared { connection.retire() }
        assignConnections()
    }

    /// A connection takes no further exchange.
    func connectionRetired(_ connection: HTTP2Connection) {
        openConnections.removeAll { $0 === connection }
        shared.removeAll { $0 === connection }
        retired.append(connection)
        if let index = idle.lastIndex(where: { $0 === connection }) {
            idle.remove(at: index)
            pool.idleCount -= 1
        }
        assignConnections()
    }

    /// A connection was closed.
    func connectionClosed(_ connection: Connection) {
        lacksDescriptors = false
        openConnections.removeAll { $0 === connection }
        shared.removeAll { $0 === connection }
        retired.removeAll { $0 === connection }
        if let index = idle.lastIndex(where: { $0 === connection }) {
            idle.remove(at: index)
            pool.idleCount -= 1
        }
        assignConnections()
    }

    private func putIdle(_ connection: Connection) {
        idle.append(connection)
        pool.idleCount += 1
        connection.becomeIdle()
    }

    /// The first connection of HTTP/2 that can carry another exchange.
    private func takeShared(newerThan number: Int? = nil) -> Connection? {
        while let connection = shared.first(where: { $0.hasRoom && $0.number > number ?? 0 }) {
            guard connection.isIdle, let index = idle.lastIndex(where: { $0 === connection }) else { return connection }
            idle.remove(at: index)
            pool.idleCount -= 1
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    /// The idle connection that was used last, unless its peer has closed it.
    private func takeIdle() -> Connection? {
        takeIdle { !($0 is HTTP2Connection) }
    }

    /// An idle connection of HTTP/1.1 that has carried nothing yet.
    private func takeUnused(newerThan number: Int?) -> Connection? {
        takeIdle { !($0 is HTTP2Connection) && $0.exchangeCount == 0 && $0.number > number ?? 0 }
    }

    private func takeIdle(where suits: (Connection) -> Bool) -> Connection? {
        while let index = idle.lastIndex(where: suits) {
            let connection = idle.remove(at: index)
            pool.idleCount -= 1
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    /// Closes the connections that carry nothing.
    func closeIdle() {
        // Closing one connection may give another one to an exchange.
        for connection in idle where connection.isIdle { connection.close() }
    }

    /// Closes everything; exchanges have ended before.
    func shutDown() {
        abandonDialers()
        pool.timers.remove(protocolTimer)
        pool.timers.remove(descriptorTimer)
        pool.timers.remove(restTimer)
        for connection in openConnections + retired { connection.close() }
    }
}

extension OriginPool: NextIteration {
    func continueWork() { assignConnections() }
}

extension OriginPool: DialerOwner {
    func dialerDidProgress(_ dialer: Dialer) {
        dialings.first { $0.dialer === dialer }?.exchange.touch()
    }

    func dialer(_ dialer: Dialer, didConnect socket: ConnectedSocket) {
        let exchange = forget(dialer)
        dialsInParallel = false
        pool.timers.remove(protocolTimer)
        knownProtocol = socket.applicationProtocol
        switch socket.applicationProtocol {
        case .http1: begin(HTTP1Connection(socket, origin: self))
        case .http2:
            do {
                let session = try HTTP2Session(limits: pool.responseLimits)
                let connection = HTTP2Connection(socket, session: session, origin: self)
                shared.append(connection)
                // The others that are being made are needed only if this one is not enough.
                abandonDialers()
                begin(connection)
            } catch {
                pool.context.sockets.willClose(socket.channel.descriptor)
                socket.channel.close()
                exchange?.end(error)
                assignConnections()
            }
        }
    }

    private func begin(_ connection: Connection) {
        openConnections.append(connection)
        connectionIsFree(connection)
    }

    func dialer(_ dialer: Dialer, didFail failure: TransferFailure) {
        dialsInParallel = true
        let exchange = forget(dialer)
        // The exchange waits for a connection to the same host that is made, becomes free or closes.
        if !noteLackOfDescriptors(isAwaited: dialer.lacksDescriptors && hasConnections) { exchange?.end(failure) }
        assignConnections()
    }

    func dialerNeedsDescriptor(_ dialer: Dialer) -> Bool {
        pool.freeDescriptor()
    }
}
