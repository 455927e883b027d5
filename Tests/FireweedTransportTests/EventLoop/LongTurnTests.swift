import FireweedTesting
import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("A turn whose time is over", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LongTurnTests {
    /// Ends the time of a turn at one call, and counts the calls until the next turn.
    private final class CallCount: Sendable {
        private let loop: EventLoop
        private let first: Int
        // SAFETY: these three variables are used on the loop's thread alone.
        nonisolated(unsafe) private var context: LoopContext?
        nonisolated(unsafe) private var count = 0
        nonisolated(unsafe) private var lastTurn: UInt64?
        /// The number of calls until the end of the turn whose time is over.
        let ends = EventLog<Int>()

        init(on loop: EventLoop, from first: Int) {
            (self.loop, self.first) = (loop, first)
            loop.post { [self] in context = $0 }
        }

        func note() {
            // Work of other tests may delay what is posted below by further turns.
            guard lastTurn == nil || lastTurn == context?.turnNumber else { return }
            count += 1
            guard count == first else { return }
            lastTurn = context?.turnNumber
            context?.turn.noteDecoded(TurnBudget.decodedByteCount)
            loop.post { [self] _ in ends.note(count) }
        }
    }

    private func start(_ message: RequestMessage, on transport: EngineTransport) -> RecordedTransfer {
        let recorder = TransferRecorder(
            wantsReadComplete: false, afterHead: { _, _ in .undecided }, afterContent: { _, _ in .undecided },
            whenReleased: {})
        let transfer = RecordedTransfer(control: transport.makeTransfer(of: message, for: recorder), recorder: recorder)
        transfer.start()
        return transfer
    }

    @Test("begins a few connections, however many exchanges wait for one")
    func connections() async throws {
        let server = try MockServer.start(certificate: .trusted) { Stub.any().reply(.text("hello")) }
        let loop = try #require(EventLoopGroup.loops(1).first)
        var settings = PoolSettings(options: server.transportOptions, maximumConnectionsPerHost: 400)
        settings.options.ipVersion = .v4
        // The protocol of the server is known after the first connection. The others are begun then, all at once.
        let dials = CallCount(on: loop, from: 2)
        var parts = EngineParts()
        parts.openSocket = {
            dials.note()
            return socket($0, $1, 0)
        }
        let transport = EngineTransport(settings: settings, parts: parts) { [loop] }
        defer { transport.shutDown() }
        let message = RequestMessage(url: server.url().absoluteString, idleTimeout: 0)
        let transfers = (0..<400).map { _ in start(message, on: transport) }
        for transfer in transfers { #expect(try await transfer.end().failure == nil) }
        let count = try await dials.ends.first { _ in true }
        #expect(count <= 1 + TurnBudget.eventCount, "in the turn that was over after one of them")
    }

    private final class ReadySocket: SocketWatcher, Sendable {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        private let calls: CallCount
        private let ready: EventLog<Int32>

        init(_ calls: CallCount, _ ready: EventLog<Int32>) {
            (self.calls, self.ready) = (calls, ready)
        }

        deinit { close(descriptor) }

        func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
            calls.note()
            ready.note(descriptor)
        }
        func socket(_ descriptor: Int32, lostAddress address: IPAddress) {}
    }

    @Test("leaves sockets that are ready to the next turns, and forgets none")
    func sockets() async throws {
        let loop = try #require(EventLoopGroup.loops(1).first)
        let calls = CallCount(on: loop, from: 1)
        let ready = EventLog<Int32>()
        let sockets = (0..<200).map { _ in ReadySocket(calls, ready) }
        // A socket of UDP is ready to send as soon as it is watched: all are in one poll.
        loop.post { context in
            for socket in sockets { context.sockets.watchEdges(of: socket.descriptor, for: socket) }
        }
        let count = try await calls.ends.first { _ in true }
        #expect(count == 1)
        for socket in sockets { _ = try await ready.first { $0 == socket.descriptor } }
        loop.post { context in
            for socket in sockets { context.sockets.willClose(socket.descriptor) }
        }
    }

    @Test("takes a few frames of a WebSocket, however many came in one piece")
    func frames() async throws {
        let frame = WebSocketPeer.Frame(1, Array("x".utf8))
        let peer = try WebSocketPeer { connection in
            try connection.send(bytes: Array((0..<2000).flatMap { _ in frame.bytes }) + WebSocketPeer.Frame(8).bytes)
            connection.waitForEnd()
        }
        let loop = try #require(EventLoopGroup.loops(1).first)
        let listener = Listener(CallCount(on: loop, from: 1))
        let transport = EngineTransport(settings: PoolSettings(), parts: EngineParts()) { [loop] }
        defer { transport.shutDown() }
        let offer = WebSocketOffer(listener: listener)
        let message = RequestMessage(url: "http://127.0.0.1:\(peer.port)/", idleTimeout: 0, webSocket: offer)
        #expect(try await start(message, on: transport).end().failure == nil)
        #expect(listener.count.load(ordering: .relaxed) == 2000)
        #expect(try await listener.calls.ends.first { _ in true } == 1)
    }

    private final class Listener: WebSocketListener {
        let calls: CallCount
        let count = Atomic(0)

        init(_ calls: CallCount) {
            self.calls = calls
        }

        func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?) {}
        func webSocketDidReceive(_ message: WebSocketMessage) -> Flow {
            count.add(1, ordering: .relaxed)
            calls.note()
            return .undecided
        }
        func webSocketDidClose(code: UInt16, reason: Data) {}
    }
}
