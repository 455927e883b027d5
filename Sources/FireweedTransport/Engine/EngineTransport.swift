// The transport with HTTP engines of its own.

import Foundation
import Glibc
import Synchronization

/// Moves exchanges over HTTP/1.1 and HTTP/2, in clear text and over TLS, on connections of its own for each of its
/// event loops; WebSockets have connections of their own.
public final class EngineTransport: Transport {
    /// What the transport was made with.
    public let options: TransportOptions
    private let settings: PoolSettings
    private let parts: EngineParts
    private let makeLoops: @Sendable () -> [EventLoop]
    /// Empty when the process was out of descriptors when the transport was made.
    private let lanes: [EngineLane]
    /// What is used instead of `lanes` where they are empty.
    private let late = Mutex(Late())
    private let next = Atomic<Int>(0)

    private struct Late {
        var lanes: [EngineLane] = []
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
        // Before anything else calls OpenSSL, which would otherwise register its exit handler.
        OpenSSLLibrary.initialise()
        options = settings.options
        self.parts = parts
        self.makeLoops = makeLoops
        var settings = settings
        settings.trustDecisions = TrustDecisions()
        self.settings = settings
        lanes = Self.makeLanes(on: makeLoops(), settings: settings, parts: parts)
    }

    /// One lane on each loop; the lanes share the limit of connections to a host, since each has a pool.
    private static func makeLanes(on loops: [EventLoop], settings: PoolSettings, parts: EngineParts) -> [EngineLane] {
        var settings = settings
        if loops.count > 1, settings.maximumConnectionsPerHost > 0 {
            settings.maximumConnectionsPerHost = max(1, settings.maximumConnectionsPerHost / loops.count)
        }
        return loops.map { [settings] in EngineLane(loop: $0, settings: settings, parts: parts) }
    }

    deinit {
        shutDown()
    }

    /// WebSockets, the session's rules of trust, and challenges for the credentials of messages.
    public var abilities: TransportAbilities { [.webSockets, .serverTrust, .answersConnectionChallenges] }

    /// Judges the servers of connections by these rules, as long as no transfer was made before.
    public func judgeServers(by rules: ServerTrustRules) {
        late.withLock { $0.trustRules = rules }
        for lane in lanes { lane.judgeServers(by: rules) }
    }

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
        return Exchange(message: message, consumer: consumer, lane: lane)
    }

    /// The lanes of a transport that was made without one, if there can be any now.
    private func lateLanes() -> [EngineLane] {
        let (present, rules) = late.withLock { ($0.lanes, $0.trustRules) }
        guard present.isEmpty else { return present }
        var settings = settings
        settings.trustRules = rules ?? settings.trustRules
        // Made outside the lock. Of several threads the first one counts: a lane without exchanges is nothing yet.
        let made = Self.makeLanes(on: makeLoops(), settings: settings, parts: parts)
        let (lanes, isShutDown) = late.withLock { late in
            if late.lanes.isEmpty { late.lanes = made }
            return (late.lanes, late.isShutDown)
        }
        if isShutDown { for lane in lanes { lane.shutDown() } }
        return lanes
    }

    private func laneOfCaller(among lanes: [EngineLane]) -> EngineLane? {
        guard !lanes.isEmpty else { return nil }
        if let own = lanes.first(where: { $0.loop.isCurrent }) { return own }
        let turn = next.wrappingAdd(1, ordering: .relaxed).newValue
        return lanes[Int(turn.magnitude % UInt(lanes.count))]
    }

    /// Closes the connections that no exchange uses.
    public func closeIdleConnections() {
        for lane in lanes + late.withLock({ $0.lanes }) { lane.closeIdleConnections() }
    }

    /// Ends every exchange as cancelled and closes all connections.
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

    /// The versions of the loaded libraries for TLS, HTTP/2 and content codings, as `OpenSSL/3.0.17 nghttp2/…`.
    public static var engineVersion: String {
        let libraries = [
            "OpenSSL/\(OpenSSLLibrary.version)", "nghttp2/\(HTTP2Session.libraryVersion)",
            ContentDecoder.libraryVersions,
        ]
        return libraries.joined(separator: " ")
    }
}
