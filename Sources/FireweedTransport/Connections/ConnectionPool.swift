// The connections of one session on one loop.

import Foundation

/// A connection pool: an `OriginPool` for each origin, and the active exchanges.
///
/// The pool is confined to its loop's thread. The compiler enforces this: only the loop's thread has a `LoopContext`.
final class ConnectionPool {
    let settings: PoolSettings
    let context: LoopContext
    let parts: EngineParts
    let tls: TLSClient
    /// Nonces that proxies have accepted.
    let digests = DigestSessions()
    /// Whether exchanges check for a proxy; false if neither the options nor the environment contain a proxy.
    private let mayHaveProxy: Bool
    let responseLimits: ResponseLimits
    let contentLimits: ContentLimits
    // Options that each request needs; reading an option from `settings` would copy all settings.
    let wireObserver: (any WireObserver)?
    /// How long an idle connection is kept.
    let idleTime: LoopInstant
    private let maximumIdleConnections: Int
    /// The number of bytes of one read, 1 KiB to 512 KiB; `nil` if the options contain none.
    let readByteCount: Int?
    // Limits on the time that exchanges wait for a connection, and on their number; `nil` for no limit.
    let maximumConnectionWait: Duration?
    let maximumWaitingRequests: Int?
    /// The name of the request field that contains the time left to the deadline; `nil` for no such field.
    let deadlineField: String?
    /// One writer for all connections, since successive messages often have the same fields.
    var writer: HTTP1RequestWriter
    var http2Writer: HTTP2RequestWriter
    /// The counts of each origin's connections, which other threads read.
    private let counters: PoolCounters
    let connectionObserver: (any ConnectionObserver)?

    /// The origins, their exchanges and the idle connections; only this class uses them.
    private struct Books {
        var origins: [OriginKey: OriginPool] = [:]
        /// The origins of recent URLs, since most messages go to a recent URL.
        var recent: [RecentOrigin] = []
        /// The exchanges that were started and have not ended.
        var active: [Exchange] = []
        /// Exchanges that enter the queues of their origins after the socket events of this turn.
        var arrivals = ArrivalQueue()
        /// Whether the loop calls `continueWork()` after the socket events of this turn.
        var isContinued = false
        /// The origins whose queues exchanges have entered during `continueWork()`; `nil` at other times.
        var enteredOrigins: [OriginPool]?
        /// The idle connections of all origins.
        var idle = IdleList<PoolOrder>()
        var isShutDown = false
        /// When there are this many origins, the next new origin removes those without connections and exchanges.
        var originLimit = leastOriginLimit
    }

    // SAFETY: as for the books of an `OriginPool`: the loop's thread alone uses them, and nothing is called while a
    // part of them changes.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    private var books = Books()

    var isShutDown: Bool { books.isShutDown }

    private static let leastOriginLimit = 256
    private static let recentLimit = 4

    /// The origin of a URL, for messages that need no proxy, no connection credentials and no client certificate.
    private final class RecentOrigin {
        let url: String
        let target: RequestTarget
        let origin: OriginPool

        init(url: String, target: RequestTarget, origin: OriginPool) {
            (self.url, self.target, self.origin) = (url, target, origin)
        }
    }

    init(settings: PoolSettings, context: LoopContext, parts: EngineParts, counters: PoolCounters) {
        self.settings = settings
        self.counters = counters
        connectionObserver = settings.options.connectionObserver
        self.context = context
        self.parts = parts
        tls = TLSClient(settings)
        mayHaveProxy = settings.options.mayHaveProxy
        responseLimits = ResponseLimits(settings.options)
        contentLimits = ContentLimits(settings.options)
        wireObserver = settings.options.wireObserver
        idleTime = settings.options.maximumConnectionIdleTime.nanoseconds
        maximumIdleConnections = settings.options.maximumIdleConnections
        readByteCount = settings.options.receiveBufferByteCount.map { min(max($0, 1024), 512 * 1024) }
        maximumConnectionWait = settings.options.maximumConnectionWait
        maximumWaitingRequests = settings.options.maximumWaitingRequests
        deadlineField = settings.options.deadlineField
        writer = HTTP1RequestWriter(
            writing: settings.options.fieldWriting, acceptedCodings: ContentDecoder.acceptedCodings)
        http2Writer = HTTP2RequestWriter(
            writing: settings.options.fieldWriting, acceptedCodings: ContentDecoder.acceptedCodings)
        context.add(self)
        AddressWatch.add(context)
        Descriptors.addHolder(on: context.loop)
    }

    // MARK: Exchanges

    /// Begins an exchange.
    func start(_ exchange: Exchange) {
        guard exchange.begin(in: self) else { return }
        guard !isShutDown else { return exchange.end(.cancelled) }
        exchange.entry.slot = books.active.count
        books.active.append(exchange)
        do {
            let origin = try origin(of: exchange)
            origin.exchangeCount += 1
            exchange.origin = origin
        } catch {
            return exchange.end(error)
        }
        exchange.setTimer()
        if exchange.flow.level != .suspended { arrive(exchange) }
    }

    /// Lets an exchange enter its origin's queue after the socket events of this turn: by then, connections closed by
    /// their peers are known, and connections that became free in this turn can be used.
    func arrive(_ exchange: Exchange) {
        guard !exchange.entry.isArriving, exchange.hasTicket, !exchange.isOpeningFile else { return }
        exchange.entry.isArriving = true
        books.arrivals.append(exchange)
        continueLater()
    }

    private func continueLater() {
        guard !books.isContinued else { return }
        books.isContinued = true
        context.continueAfterSockets(self)
    }

    /// Removes an exchange that has ended.
    func forget(_ exchange: Exchange) {
        context.deadlines.remove(exchange)
        guard let slot = exchange.entry.slot else { return }
        exchange.entry.slot = nil
        let last = books.active.removeLast()
        guard last !== exchange else { return }
        books.active[slot] = last
        last.entry.slot = slot
    }

    private func origin(of exchange: Exchange) throws(TransferFailure) -> OriginPool {
        guard exchange.message.method != "CONNECT" else { throw .tunnelMethod }
        let user = RequestMessage.connectionCredentials(exchange.message.fields, exchange.message.credentials)
        let isPlain = !mayHaveProxy && user == nil && exchange.message.clientCertificate == nil
        if isPlain, let known = books.recent.first(where: { $0.url == exchange.message.url }) {
            exchange.target = known.target
            return known.origin
        }
        let target = try RequestTarget(exchange.message.url)
        exchange.target = target
        let proxy = mayHaveProxy ? try ProxyChoice().proxy(for: target, settings.options) : nil
        var key =
            proxy != nil && (target.isSecure || proxy?.alwaysTunnels == true)
            ? try OriginKey(target, tunnelledBy: proxy, for: exchange.message) : OriginKey(target, proxy: proxy)
        key.user = user
        key.clientCertificate = exchange.message.clientCertificate
        let origin = books.origins[key] ?? makeOrigin(key)
        if isPlain {
            if books.recent.count == Self.recentLimit { books.recent.removeFirst() }
            books.recent.append(RecentOrigin(url: exchange.message.url, target: target, origin: origin))
        }
        return origin
    }

    private func makeOrigin(_ key: OriginKey) -> OriginPool {
        if books.origins.count >= books.originLimit {
            for origin in books.origins.values where origin.isEmpty { counters.remove(origin.counters) }
            books.origins = books.origins.filter { !$0.value.isEmpty }
            books.recent = []
            // A sweep visits all origins: the limit is at least doubled, so that sweeps stay cheap on average.
            books.originLimit = max(Self.leastOriginLimit, 2 * books.origins.count)
        }
        let made = OriginPool(key: key, pool: self)
        books.origins[key] = made
        counters.add(made.counters)
        return made
    }

    // MARK: Connections

    /// Closes all idle connections.
    func closeIdleConnections() {
        for origin in books.origins.values { origin.closeIdle() }
    }

    /// Adds a connection that became idle.
    func addIdle(_ connection: Connection) {
        if books.idle.append(connection) { Descriptors.idleCountChanged(by: 1) }
    }

    /// Removes a connection that is no longer idle, or is closed.
    func removeIdle(_ connection: Connection) {
        if books.idle.remove(connection) { Descriptors.idleCountChanged(by: -1) }
    }

    /// Closes the connection that has been idle longest; false if no connection is idle.
    private func closeOldestIdle() -> Bool {
        guard let oldest = books.idle.oldest else { return false }
        oldest.close()
        return true
    }

    /// Releases a descriptor at once, if necessary by closing an idle connection; false if no connection is idle.
    func freeDescriptor() -> Bool {
        if context.finishClosing() { return true }
        guard closeOldestIdle() else { return false }
        _ = context.finishClosing()
        return true
    }

    /// Keeps the number of idle connections within the limits of the pool and of the process.
    func limitIdle() {
        closeIdle(keeping: min(maximumIdleConnections, Descriptors.idleLimit(for: books.idle.count)))
    }

    /// Cancels all exchanges and closes all connections; later exchanges end as cancelled.
    func shutDown() {
        guard !isShutDown else { return }
        books.isShutDown = true
        for exchange in books.active { exchange.end(.cancelled) }
        for origin in books.origins.values {
            origin.shutDown()
            counters.remove(origin.counters)
        }
        (books.origins, books.recent) = ([:], [])
        books.arrivals = ArrivalQueue()
        Descriptors.removeHolder()
        context.remove(self)
    }
}

extension ConnectionPool: NextIteration {
    /// Lets the exchanges of this turn enter the queues of their origins.
    func continueWork() {
        // After a poll, idle connections can be checked without a system call. A turn that began without a poll is
        // short, so the exchanges wait for the next turn.
        guard books.idle.count == 0 || context.hasPolled else { return context.continueAfterSockets(self) }
        books.isContinued = false
        books.enteredOrigins = []
        defer { assignEntered() }
        // Exchanges that are appended during this loop, or for which this turn has no time, wait for the next turn.
        let dueCount = books.arrivals.count
        for index in 0..<dueCount {
            if index > 0, context.turn.isOver { break }
            guard let exchange = books.arrivals.next() else { break }
            context.turn.noteCost(TurnBudget.callCost)
            exchange.entry.isArriving = false
            guard exchange.stage == .waiting, exchange.entry.place == nil else { continue }
            // A suspended exchange enters the queue when it is resumed, and blocks no other exchange until then.
            if exchange.flow.level == .suspended {
                exchange.origin?.leave(exchange)
            } else {
                exchange.origin?.enter(exchange)
            }
        }
        if books.arrivals.count > 0 { continueLater() }
    }
}

extension ConnectionPool {
    /// Returns true while exchanges enter their queues, and schedules the origin: it assigns connections after all
    /// exchanges have entered, so that heads for one connection are sent together.
    func defersAssignment(of origin: OriginPool) -> Bool {
        guard books.enteredOrigins != nil else { return false }
        if !origin.isEntered { books.enteredOrigins?.append(origin) }
        origin.isEntered = true
        return true
    }

    private func assignEntered() {
        for origin in books.enteredOrigins.take() ?? [] {
            origin.isEntered = false
            origin.assignConnections()
        }
    }
}

extension ConnectionPool: IdleConnectionHolder {
    func closeIdle(keeping count: Int) {
        while books.idle.count > count, closeOldestIdle() {}
    }
}
