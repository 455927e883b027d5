// The connections to one origin, and the line in front of them.

/// Gives exchanges connections: an idle one, a new one within the limit, or the first that is free, in the order in
/// which they came.
final class Origin {
    let key: OriginKey
    unowned let table: ConnectionTable
    private var target: DialTarget
    /// Most connections at a time, those that are being made included; `nil` for no limit.
    private let limit: Int?
    private var line = WaitingLine<Exchange>()
    private var dialings: [Dialing] = []
    /// The one that was used last is at the end, and is used next.
    private var idle: [Connection] = []
    /// Connections that are in use or idle.
    private var openConnections: [Connection] = []
    /// Those among them that carry many exchanges at a time.
    private var shared: [HTTP2Connection] = []
    /// Connections on which no further exchange begins.
    private var retired: [Connection] = []
    /// What connections to the origin speak, as far as that is known: HTTP/2 needs one of them, HTTP/1.1 many.
    private var spoken: ApplicationProtocol?
    /// Exchanges wait no longer for the one connection that is being made.
    private var isImpatient = false
    private lazy var patience = PatienceTimer(self)
    private var isAdmitting = false
    /// How many exchanges there are for the origin, those that have not entered the line included.
    var exchangeCount = 0

    init(key: OriginKey, table: ConnectionTable) {
        self.key = key
        self.table = table
        let settings = table.settings
        limit = settings.maximumConnectionsPerHost > 0 ? settings.maximumConnectionsPerHost : nil
        target = DialTarget(key, options: settings.options)
        if !key.isSecure {
            spoken = target.clearTextProtocol
        } else if target.isLimitedToHTTP1 || settings.options.httpVersion == .http1Only || !settings.options.offersALPN
        {
            spoken = .http1
        }
    }

    /// Whether there is nothing to remember.
    var isEmpty: Bool { exchangeCount == 0 && dialings.isEmpty && openConnections.isEmpty && retired.isEmpty }

    /// How many connections nobody uses.
    var idleCount: Int { idle.count }

    /// The connection that has been idle longest.
    var oldestIdle: Connection? { idle.first }

    // MARK: The line

    /// Takes an exchange in, behind all others.
    func enter(_ exchange: Exchange) {
        exchange.place = line.enter(exchange)
        admit()
    }

    /// Takes an exchange in that has waited before, in front of all others.
    func enterFirst(_ exchange: Exchange) {
        exchange.place = line.enterFirst(exchange)
        admit()
    }

    /// Lets an exchange go that waits.
    func leave(_ exchange: Exchange) {
        guard let place = exchange.place else { return }
        exchange.place = nil
        line.leave(place)
        releaseDialer(of: exchange)
    }

    /// Gives connections to those who wait, as long as there are any.
    private func admit() {
        // A failure at once calls this again; the loop below continues in its place.
        guard !isAdmitting, !table.isShutDown else { return }
        isAdmitting = true
        var canServe = true
        while canServe, line.count > 0 {
            if let connection = takeShared() ?? takeIdle() {
                canServe = serve(connection)
            } else {
                canServe = mayDial && dial()
            }
        }
        isAdmitting = false
        // The heads of all who were served leave together.
        for connection in shared where connection.needsFlush { connection.flush() }
    }

    /// Gives a connection to the first who waits and may run.
    private func serve(_ connection: Connection) -> Bool {
        while let exchange = line.next() {
            exchange.place = nil
            releaseDialer(of: exchange)
            // One that was suspended meanwhile enters again when it runs.
            guard exchange.flow.level != .suspended else { continue }
            connection.attach(exchange)
            return true
        }
        if connection.isIdle { putIdle(connection) }
        return false
    }

    // MARK: New connections

    /// Retired connections may be as many again: long streams on them do not hold up all others.
    private var hasRoom: Bool {
        limit.map { openConnections.count + max(0, retired.count - $0) + dialings.count < $0 } ?? true
    }

    private var mayDial: Bool {
        guard dialings.count < line.count, hasRoom else { return false }
        // One connection may be enough for all: it is waited for (RFC 9113 §9.1).
        return spoken == .http1 || isImpatient || dialings.isEmpty
    }

    /// Lets those who wait have connections of their own.
    fileprivate func losePatience() {
        isImpatient = true
        admit()
    }

    /// So long exchanges wait for one connection to say what it speaks, in nanoseconds.
    private static let patienceTime: LoopInstant = 100_000_000

    /// Begins a connection for the first who waits without one; false when nobody does.
    private func dial() -> Bool {
        guard let sponsor = line.first(where: { $0.dialer == nil }) else { return false }
        let dialer = Dialer(
            target, userTimeout: sponsor.message.idleTimeout, context: table.context, timers: table.timers,
            parts: table.parts, tls: table.tls, owner: self)
        dialings.append(Dialing(dialer: dialer, sponsor: sponsor))
        if spoken == nil, !isImpatient { table.timers.set(patience, to: table.context.now + Self.patienceTime) }
        sponsor.dialer = dialer
        // The idle time-out covers the making of the connection.
        sponsor.touch()
        sponsor.setTimer()
        dialer.begin()
        return true
    }

    /// Gives the connection that was being made for an exchange to another who waits, or gives it up.
    private func releaseDialer(of exchange: Exchange) {
        guard let dialer = exchange.dialer else { return }
        exchange.dialer = nil
        guard let index = dialings.firstIndex(where: { $0.dialer === dialer }) else { return }
        guard let sponsor = line.first(where: { $0.dialer == nil }) else {
            dialings.remove(at: index)
            return dialer.abandon()
        }
        dialings[index].sponsor = sponsor
        sponsor.dialer = dialer
        sponsor.touch()
        sponsor.setTimer()
    }

    /// Forgets a dialer that is over; returns the exchange that it worked for.
    private func forget(_ dialer: Dialer) -> Exchange? {
        guard let index = dialings.firstIndex(where: { $0.dialer === dialer }) else { return nil }
        let sponsor = dialings.remove(at: index).sponsor
        sponsor.dialer = nil
        return sponsor
    }

    /// Gives up the connections that are being made; those who wait need others, or none.
    private func abandonDialers() {
        for dialing in dialings {
            dialing.sponsor.dialer = nil
            dialing.dialer.abandon()
        }
        dialings = []
    }

    // MARK: Idle connections

    /// A connection carries nothing any more, and may carry the next exchange.
    func connectionIsFree(_ connection: Connection) {
        putIdle(connection)
        admit()
    }

    /// A connection that carries exchanges can carry more of them.
    func connectionHasRoom(_ connection: HTTP2Connection) {
        admit()
    }

    /// The server wants HTTP/1.1 (RFC 9113 §7, HTTP_1_1_REQUIRED): no further connection offers HTTP/2.
    ///
    /// Exchanges that run on HTTP/2 may end there.
    func requireHTTP1() {
        guard !target.isLimitedToHTTP1 else { return }
        target.isLimitedToHTTP1 = true
        spoken = .http1
        // Those that are being made have offered HTTP/2 already.
        abandonDialers()
        for connection in shared { connection.retire() }
        admit()
    }

    /// A connection takes no further exchange.
    func connectionRetired(_ connection: HTTP2Connection) {
        openConnections.removeAll { $0 === connection }
        shared.removeAll { $0 === connection }
        retired.append(connection)
        if let index = idle.lastIndex(where: { $0 === connection }) {
            idle.remove(at: index)
            table.idleCount -= 1
        }
        admit()
    }

    /// A connection was closed.
    func connectionClosed(_ connection: Connection) {
        openConnections.removeAll { $0 === connection }
        shared.removeAll { $0 === connection }
        retired.removeAll { $0 === connection }
        if let index = idle.lastIndex(where: { $0 === connection }) {
            idle.remove(at: index)
            table.idleCount -= 1
        }
        admit()
    }

    private func putIdle(_ connection: Connection) {
        idle.append(connection)
        table.idleCount += 1
        connection.becomeIdle()
        table.limitIdle()
    }

    /// The first connection of HTTP/2 that can carry another exchange.
    private func takeShared() -> Connection? {
        while let connection = shared.first(where: \.hasRoom) {
            guard connection.isIdle, let index = idle.lastIndex(where: { $0 === connection }) else { return connection }
            idle.remove(at: index)
            table.idleCount -= 1
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    /// The idle connection that was used last, unless its peer has closed it.
    private func takeIdle() -> Connection? {
        while let index = idle.lastIndex(where: { !($0 is HTTP2Connection) }) {
            let connection = idle.remove(at: index)
            table.idleCount -= 1
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    /// Closes the connections that carry nothing.
    func closeIdle() {
        for connection in idle { connection.close() }
    }

    /// Closes everything; exchanges have ended before.
    func shutDown() {
        abandonDialers()
        table.timers.remove(patience)
        for connection in openConnections + retired { connection.close() }
    }
}

extension Origin: DialerOwner {
    func dialerDidProgress(_ dialer: Dialer) {
        dialings.first { $0.dialer === dialer }?.sponsor.touch()
    }

    func dialer(_ dialer: Dialer, didConnect socket: ConnectedSocket) {
        let sponsor = forget(dialer)
        isImpatient = false
        table.timers.remove(patience)
        spoken = socket.applicationProtocol
        switch socket.applicationProtocol {
        case .http1: begin(HTTP1Connection(socket, origin: self))
        case .http2:
            do {
                let session = try HTTP2Session(limits: table.parserLimits)
                let connection = HTTP2Connection(socket, session: session, origin: self)
                shared.append(connection)
                // The others that are being made are needed only if this one is not enough.
                abandonDialers()
                begin(connection)
            } catch {
                table.context.sockets.willClose(socket.channel.descriptor)
                socket.channel.close()
                sponsor?.end(error)
                admit()
            }
        }
    }

    private func begin(_ connection: Connection) {
        openConnections.append(connection)
        connectionIsFree(connection)
    }

    func dialer(_ dialer: Dialer, didFail failure: TransferFailure) {
        isImpatient = true
        forget(dialer)?.end(failure)
        admit()
    }

    func dialerNeedsDescriptor(_ dialer: Dialer) -> Bool {
        table.closeOldestIdle()
    }
}

/// A connection that is being made, and the exchange in the line that it is made for.
private struct Dialing {
    let dialer: Dialer
    var sponsor: Exchange
}

/// Ends the waiting for one connection when it takes long.
private final class PatienceTimer: Timed {
    private weak var origin: Origin?

    init(_ origin: Origin) { self.origin = origin }

    override func timeReached(at now: LoopInstant) { origin?.losePatience() }
}
