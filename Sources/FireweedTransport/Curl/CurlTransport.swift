// The transport that speaks HTTP through libcurl.

import Foundation
import Glibc
import Synchronization

/// Moves exchanges with libcurl, on one connection pool for each of its event loops.
public final class CurlTransport: Transport {
    /// What the transport was made with.
    public let options: TransportOptions
    private let settings: PoolSettings
    private let makeLoops: @Sendable () -> [EventLoop]
    /// Empty when the process was out of descriptors when the transport was made.
    private let lanes: [Lane]
    /// What takes the place of `lanes` where they are empty.
    private let late = Mutex(Late())
    private let next = Atomic<Int>(0)

    private struct Late {
        var lanes: [Lane] = []
        var isShutDown = false
        var trustRules: ServerTrustRules?
    }

    /// Makes a transport; its pools are made on their loops, and no connection is opened yet.
    public convenience init(settings: PoolSettings = PoolSettings()) {
        self.init(settings: settings) { EventLoopGroup.loops(settings.options.eventLoops) }
    }

    init(settings: PoolSettings, makeLoops: @escaping @Sendable () -> [EventLoop]) {
        let isReady = CurlLibrary.isInitialised
        precondition(isReady, "libcurl cannot be initialised")
        self.makeLoops = makeLoops
        options = settings.options
        var settings = settings
        settings.trustDecisions = TrustDecisions()
        self.settings = settings
        lanes = makeLoops().map { Lane(loop: $0, settings: settings) }
    }

    deinit {
        shutDown()
    }

    /// WebSockets, the session's rules of trust, and the schemes that libcurl answers challenges for.
    public var abilities: TransportAbilities { [.webSockets, .serverTrust, .answersConnectionChallenges] }

    /// Makes a transfer on the caller's own loop, if it is one of ours, else on each loop in turn.
    ///
    /// The transfer fails where the process has no descriptor left for an event loop.
    public func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        guard let lane = lanes.count == 1 ? lanes[0] : laneOfCaller(among: lanes.isEmpty ? lateLanes() : lanes) else {
            return FailedTransfer(
                .exchange(
                    .cannotLoadFromNetwork, detail: "the process has no descriptor left for an event loop",
                    engineCode: Int(EMFILE)), consumer: consumer)
        }
        if let offer = message.webSocket {
            return WebSocketTransfer(message: message, offer: offer, consumer: consumer, lane: lane)
        }
        return Transfer(message: message, consumer: consumer, lane: lane)
    }

    /// The lanes of a transport that was made without one, if there can be any now.
    private func lateLanes() -> [Lane] {
        let (present, rules) = late.withLock { ($0.lanes, $0.trustRules) }
        guard present.isEmpty else { return present }
        var settings = settings
        settings.trustRules = rules ?? settings.trustRules
        // Made outside the lock. Of several threads the first one counts: a lane without transfers is nothing yet.
        let made = makeLoops().map { [settings] in Lane(loop: $0, settings: settings) }
        let (lanes, isShutDown) = late.withLock { late in
            if late.lanes.isEmpty { late.lanes = made }
            return (late.lanes, late.isShutDown)
        }
        if isShutDown { for lane in lanes { lane.shutDown() } }
        return lanes
    }

    /// Judges the servers of connections by these rules, as long as no transfer was made before.
    public func judgeServers(by rules: ServerTrustRules) {
        late.withLock { $0.trustRules = rules }
        for lane in lanes { lane.judgeServers(by: rules) }
    }

    /// Closes the connections that no transfer uses; through a Unix-domain socket, only while no transfer runs.
    public func closeIdleConnections() {
        for lane in lanes + late.withLock({ $0.lanes }) { lane.closeIdleConnections() }
    }

    /// Ends every transfer as cancelled and closes all connections.
    public func shutDown() {
        for lane in lanes { lane.shutDown() }
        let late = late.withLock { late in
            late.isShutDown = true
            return late.lanes
        }
        for lane in late { lane.shutDown() }
    }

    /// The first event loop; `nil` when the process was out of descriptors when the transport was made.
    public var executor: (any TaskExecutor)? {
        lanes.first?.loop
    }

    /// The version of the libcurl in use, with its libraries, as `curl_version(3)` gives it.
    public static var engineVersion: String {
        CurlLibrary.version
    }

    /// The lane of the loop that the caller runs on, if any, else each in turn; `nil` when there is none.
    private func laneOfCaller(among lanes: [Lane]) -> Lane? {
        guard !lanes.isEmpty else { return nil }
        if let own = lanes.first(where: { $0.loop.isCurrent }) { return own }
        let turn = next.wrappingAdd(1, ordering: .relaxed).newValue
        return lanes[Int(turn.magnitude % UInt(lanes.count))]
    }
}

/// One loop and the connection pool that lives on it.
final class Lane: WebSocketLane, @unchecked Sendable {
    let loop: EventLoop
    // SAFETY: read and written only by work that the loop runs, which is what `withPool` posts.
    private var settings: PoolSettings
    private var pool: ConnectionPool?
    private var webSockets: WebSocketPool?
    private var isShutDown = false

    init(loop: EventLoop, settings: PoolSettings) {
        self.loop = loop
        self.settings = settings
    }

    /// Runs `body` with the pool on the loop's thread, soon; the first call makes the pool.
    func withPool(_ body: @escaping @Sendable (ConnectionPool) -> Void) {
        loop.post { [self] context in body(pool(in: context)) }
    }

    /// The pool, for work that is on the loop's thread already; the first call makes it.
    func pool(in context: LoopContext) -> ConnectionPool {
        if let pool { return pool }
        let made = ConnectionPool(settings: settings, context: context)
        pool = made
        return made
    }

    /// The WebSockets of this lane, for work that is on the loop's thread already; the first call makes their pool.
    func webSockets(in context: LoopContext) -> WebSocketPool {
        if let webSockets { return webSockets }
        let (settings, timers) = (settings, DeadlineHeap())
        let made = WebSocketPool(settings: settings, context: context, timers: timers) { message, owner in
            SocketDialer(
                url: message.url, fields: message.fields, settings: settings, context: context, timers: timers,
                owner: owner)
        }
        webSockets = made
        if isShutDown { made.shutDown() }
        return made
    }

    /// Gives rules to the pools, which are made with the first transfer.
    func judgeServers(by rules: ServerTrustRules) {
        loop.post { [self] _ in settings.trustRules = rules }
    }

    /// Closes the connections of the pool, soon, unless transfers run.
    func closeIdleConnections() {
        loop.post { [self] _ in pool?.closeIdleConnections() }
    }

    /// Ends every transfer of this lane, soon.
    func shutDown() {
        loop.post { [self] context in
            isShutDown = true
            pool(in: context).shutDown()
            webSockets?.shutDown()
        }
    }
}
