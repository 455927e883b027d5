// The transport with the library's own HTTP engines.

import Foundation
import Glibc
import Synchronization

/// Sends messages over HTTP/1.1 and HTTP/2, in clear text and over TLS, and opens WebSockets.
///
/// Each of the transport's event loops has separate connections, and each WebSocket has its own connection.
public final class EngineTransport: Transport {
    /// The options that the transport was made with.
    public let options: TransportOptions
    private let settings: PoolSettings
    private let parts: EngineParts
    private let makeLoops: @Sendable () -> [EventLoop]
    /// Empty if the process was out of descriptors when the transport was made.
    private let pools: [LoopPool]
    /// The pools that are made later, if `pools` is empty.
    private let late = Mutex(DeferredPools())
    private let next = Atomic<Int>(0)

    private struct DeferredPools {
        var pools: [LoopPool] = []
        var isShutDown = false
        var trustRules: ServerTrustRules?
    }

    /// Makes a transport; no connection is opened yet.
    public convenience init(settings: PoolSettings = PoolSettings()) {
        self.init(settings: settings, parts: EngineParts())
    }

    convenience init(settings: PoolSettings, parts: EngineParts) {
        self.init(settings: settings, parts: parts) { EventLoopGroup.loops(settings.options.eventLoops) }
    }

    init(settings: PoolSettings, parts: EngineParts, makeLoops: @escaping @Sendable () -> [EventLoop]) {
        options = settings.options
        self.parts = parts
        self.makeLoops = makeLoops
        var settings = settings
        settings.trustDecisions = TrustDecisions()
        settings.statuses = StatusFetch(settings.options)
        self.settings = settings
        pools = Self.makePools(on: makeLoops(), settings: settings, parts: parts)
    }

    /// Makes one pool for each loop, and divides the limit of connections to a host among them; each pool gets at least
    /// one.
    private static func makePools(on loops: [EventLoop], settings: PoolSettings, parts: EngineParts) -> [LoopPool] {
        var settings = settings
        if loops.count > 1, settings.maximumConnectionsPerHost > 0 {
            settings.maximumConnectionsPerHost = max(1, settings.maximumConnectionsPerHost / loops.count)
        }
        return loops.map { [settings] in LoopPool(loop: $0, settings: settings, parts: parts) }
    }

    deinit {
        shutDown()
    }

    /// The session's trust rules and, unless the package's trait `WebSocket` is off, WebSockets.
    public var abilities: TransportAbilities {
        #if WebSocket
        [.webSockets, .serverTrust]
        #else
        [.serverTrust]
        #endif
    }

    /// Uses these rules to decide whether servers are trusted; call this method before the first transfer is made.
    public func evaluateServers(with rules: ServerTrustRules) {
        late.withLock { $0.trustRules = rules }
        for pool in pools { pool.evaluateServers(with: rules) }
    }

    /// Makes a transfer on the caller's event loop if that loop belongs to this transport; otherwise on the next loop,
    /// round robin.
    ///
    /// The transfer fails if the process has no descriptor left for an event loop.
    public func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        guard let pool = pools.count == 1 ? pools[0] : poolOfCaller(among: pools.isEmpty ? latePools() : pools) else {
            return FailedTransfer(
                .exchange(
                    .cannotLoadFromNetwork, detail: "the process has no descriptor left for an event loop",
                    engineCode: Int(EMFILE)), consumer: consumer)
        }
        #if WebSocket
        if let offer = message.webSocket {
            return WebSocketTransfer(message: message, offer: offer, consumer: consumer, pools: pool)
        }
        #else
        if message.webSocket != nil { return FailedTransfer(.noWebSockets, consumer: consumer) }
        #endif
        return Exchange(message: message, consumer: consumer, loopPool: pool)
    }

    /// The pools of a transport that was made without pools; empty if the process is still out of descriptors.
    private func latePools() -> [LoopPool] {
        let (present, rules) = late.withLock { ($0.pools, $0.trustRules) }
        guard present.isEmpty else { return present }
        var settings = settings
        settings.trustRules = rules ?? settings.trustRules
        // The pools are made outside the lock, perhaps by several threads: the pools of the first thread are kept, and
        // unused pools of other threads cost nothing.
        let made = Self.makePools(on: makeLoops(), settings: settings, parts: parts)
        let (pools, isShutDown) = late.withLock { late in
            if late.pools.isEmpty { late.pools = made }
            return (late.pools, late.isShutDown)
        }
        if isShutDown { for pool in pools { pool.shutDown() } }
        return pools
    }

    private func poolOfCaller(among pools: [LoopPool]) -> LoopPool? {
        guard !pools.isEmpty else { return nil }
        if let own = pools.first(where: { $0.loop.isCurrent }) { return own }
        let turn = next.wrappingAdd(1, ordering: .relaxed).newValue
        return pools[Int(turn.magnitude % UInt(pools.count))]
    }

    /// The numbers of connections, and of messages that wait for one, for each origin over all event loops.
    public var statistics: [OriginStatistics] {
        PoolCounters.statistics(of: (pools + late.withLock { $0.pools }).map(\.counters))
    }

    /// Closes the connections that no exchange uses.
    public func closeIdleConnections() {
        for pool in pools + late.withLock({ $0.pools }) { pool.closeIdleConnections() }
    }

    /// Ends every exchange as cancelled and closes all connections.
    public func shutDown() {
        for pool in pools { pool.shutDown() }
        let late = late.withLock { late in
            late.isShutDown = true
            return late.pools
        }
        for pool in late { pool.shutDown() }
    }

    /// The first event loop; `nil` if the process was out of descriptors when the transport was made.
    public var executor: (any TaskExecutor)? {
        pools.first?.loop
    }

    /// The versions of the loaded libraries for TLS, HTTP/2 and content codings, as `OpenSSL/3.0.17 nghttp2/…`.
    public static var engineVersion: String {
        let libraries = [
            "OpenSSL/\(OpenSSLLibrary.version)", "nghttp2/\(HTTP2Session.libraryVersion)",
            ContentDecoder.libraryVersions,
        ]
        return libraries.joined(separator: " ")
    }
}
