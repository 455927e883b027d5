// The connections to one origin, and the line in front of them.

import Foundation

/// Gives exchanges connections: an idle one, a new one within the limit, or the first that is free, in the order in
/// which they came.
final class Origin {
    let key: OriginKey
    unowned let table: ConnectionTable
    private let target: DialTarget
    /// Most connections at a time, those that are being made included; `nil` for no limit.
    private let limit: Int?
    private var line = WaitingLine<Exchange>()
    private var dialers: [Dialer] = []
    /// The one that was used last is at the end, and is used next.
    private var idle: [Connection] = []
    /// Connections that are in use or idle.
    private var openConnections: [Connection] = []
    private var isAdmitting = false
    /// How many exchanges there are for the origin, those that have not entered the line included.
    var exchangeCount = 0

    init(key: OriginKey, table: ConnectionTable) {
        self.key = key
        self.table = table
        let settings = table.settings
        limit = settings.maximumConnectionsPerHost > 0 ? settings.maximumConnectionsPerHost : nil
        target = DialTarget(key, options: settings.options)
    }

    /// Whether there is nothing to remember.
    var isEmpty: Bool { exchangeCount == 0 && dialers.isEmpty && openConnections.isEmpty }

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
        // Whatever fails at once comes back here; the loop goes on for it.
        guard !isAdmitting, !table.isShutDown else { return }
        isAdmitting = true
        defer { isAdmitting = false }
        var canServe = true
        while canServe, line.count > 0 {
            if let connection = takeIdle() {
                canServe = serve(connection)
            } else {
                canServe = dialers.count < line.count && hasRoom && dial()
            }
        }
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
        putIdle(connection)
        return false
    }

    // MARK: New connections

    private var hasRoom: Bool { limit.map { openConnections.count + dialers.count < $0 } ?? true }

    /// Begins a connection for the first who waits without one; false when nobody does.
    private func dial() -> Bool {
        guard let sponsor = line.first(where: { $0.dialer == nil }) else { return false }
        let dialer = Dialer(
            target, userTimeout: sponsor.message.idleTimeout, context: table.context, timers: table.timers,
            parts: table.parts, tls: table.tls, owner: self)
        dialers.append(dialer)
        dialer.sponsor = sponsor
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
        dialer.sponsor = line.first { $0.dialer == nil }
        if let sponsor = dialer.sponsor {
            sponsor.dialer = dialer
            sponsor.touch()
            sponsor.setTimer()
        } else {
            dialer.abandon()
            dialers.removeAll { $0 === dialer }
        }
    }

    private func forget(_ dialer: Dialer) -> Exchange? {
        dialers.removeAll { $0 === dialer }
        let sponsor = dialer.sponsor
        dialer.sponsor = nil
        sponsor?.dialer = nil
        return sponsor
    }

    // MARK: Idle connections

    /// A connection carries nothing any more, and may carry the next exchange.
    func connectionIsFree(_ connection: Connection) {
        putIdle(connection)
        admit()
    }

    /// A connection was closed.
    func connectionClosed(_ connection: Connection) {
        openConnections.removeAll { $0 === connection }
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

    /// The idle connection that was used last, unless its peer has closed it.
    private func takeIdle() -> Connection? {
        while let connection = idle.popLast() {
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
        for dialer in dialers { dialer.abandon() }
        dialers = []
        for connection in openConnections { connection.close() }
    }
}

extension Origin: DialerOwner {
    func dialer(_ dialer: Dialer, didConnect socket: ConnectedSocket) {
        let sponsor = forget(dialer)
        let connection: Connection
        switch socket.applicationProtocol {
        case .http1: connection = HTTP1Connection(socket, origin: self)
        case .http2:
            table.context.sockets.willClose(socket.channel.descriptor)
            socket.channel.close()
            sponsor?.end(.exchange(.unsupportedURL, detail: "this transport has no HTTP/2 yet", engineCode: 0))
            return admit()
        }
        openConnections.append(connection)
        connectionIsFree(connection)
    }

    func dialer(_ dialer: Dialer, didFail failure: TransferFailure) {
        forget(dialer)?.end(failure)
        admit()
    }

    func dialerNeedsDescriptor(_ dialer: Dialer) -> Bool {
        table.closeOldestIdle()
    }
}
