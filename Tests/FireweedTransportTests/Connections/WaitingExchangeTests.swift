// Exchanges that are failed while they wait for a connection.

import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("Origin pool: exchanges that wait too long", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WaitingExchangeTests {
    private static let answered: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small)]
    private static let held: [ScriptedServer.Action] = [.receiveHead, .wait(for: "go"), .send(Answer.small)]

    private static func paths(_ server: ScriptedServer) -> [String] {
        server.events.events.compactMap { event in
            guard case .head(_, let head) = event else { return nil }
            return head.split(separator: " ").dropFirst().first.map(String.init)
        }
    }

    /// Waits until a server has so many heads.
    private static func heads(_ count: Int, at server: ScriptedServer) async throws {
        for number in 0..<count {
            _ = try await server.events.first { if case .head(number, _) = $0 { true } else { false } }
        }
    }

    private static func moment(in duration: Duration) -> UInt64 { LoopContext.monotonicNow() + duration.nanoseconds }

    /// Has an origin know fifty responses that took so long, and that are never too old.
    private static func noteResponses(of duration: Duration, at exchange: Exchange) {
        for _ in 0..<50 { exchange.origin?.noteResponse(after: duration.nanoseconds, at: .max) }
    }

    /// Writes down the paths that go out, in the order of the wire.
    private final class PathObserver: WireObserver {
        private let sent = Mutex<[String]>([])

        var paths: [String] { sent.withLock { $0 } }

        func didSend(head: [UInt8]) {
            let path = String(decoding: head, as: UTF8.self).split(separator: " ").dropFirst().first.map(String.init)
            sent.withLock { $0.append(path ?? "") }
        }

        func didReceive(headLines: [UInt8]) {}
        func didNote(_ text: String) {}
    }

    @Test("10,000 requests without a deadline are sent over six connections, in their order")
    func tenThousand() async throws {
        let server = try FixtureServer.start()
        server.answer { _ in FixtureResponse(status: 204) }
        let observer = PathObserver()
        try await EngineStage.play(limit: 6, { $0.wireObserver = observer }) { stage in
            let transfers = (0..<10_000).map { stage.transfer(server.url("/\($0)")) }
            for transfer in transfers { transfer.start() }
            for transfer in transfers {
                let end = try await transfer.end()
                #expect(end.failure == nil)
            }
        }
        #expect(observer.paths == (0..<10_000).map { "/\($0)" })
    }

    /// The number of a turn of an exchange's loop.
    private static func turn(of exchange: Exchange) async -> UInt64 {
        await withCheckedContinuation { continuation in
            exchange.loopPool.loop.post { continuation.resume(returning: $0.turnNumber) }
        }
    }

    @Test("after a wait, a request whose deadline is out of reach is failed, and the next one is sent")
    func outOfReach() async throws {
        let server = try ScriptedServer.start(Self.held + Self.answered + Self.answered + [.hold])
        try await EngineStage.play(limit: 1) { stage in
            let first = stage.transfer(server.url("/first"))
            first.start()
            try await Self.heads(1, at: server)
            // As if fifty responses had taken half an hour each: no wait of a slow machine comes near.
            let exchange = try #require(first.control as? Exchange)
            exchange.loopPool.loop.post { _ in
                Self.noteResponses(of: .seconds(2000), at: exchange)
            }
            let late = stage.transfer(server.url("/late")) {
                $0.requestDeadlineNanoseconds = Self.moment(in: .seconds(1000))
            }
            let early = stage.transfer(server.url("/early")) {
                $0.deadlineNanoseconds = Self.moment(in: .seconds(3500))
            }
            let free = stage.transfer(server.url("/free"))
            for transfer in [late, early, free] { transfer.start() }
            // Calls reach the loop in their order: once this one has ended, the others wait.
            let marker = stage.transfer(server.url("/marker"))
            marker.start()
            marker.cancel()
            #expect(try await marker.end().isCancelled)
            // An exchange that came in the turn of the response would not have waited.
            let entered = await Self.turn(of: exchange)
            while await Self.turn(of: exchange) <= entered {}
            server.signal("go")
            let refusal = try await late.end().failure?.overload
            guard case .deadlineOutOfReach(let origin, let remaining, let needed) = refusal else {
                Issue.record("\(late.failureText)")
                return
            }
            #expect(origin == "http://127.0.0.1:\(server.port)")
            #expect(remaining < .seconds(1000) && needed == .seconds(2000))
            for transfer in [first, early, free] { #expect(try await transfer.end().failure == nil) }
            #expect(Self.paths(server) == ["/first", "/early", "/free"])
        }
    }

    @Test("a request that gets a connection at once is sent, whatever its deadline")
    func unwaited() async throws {
        let server = try ScriptedServer.start(Self.answered + Self.answered + [.hold])
        try await EngineStage.play(limit: 1) { stage in
            let first = stage.transfer(server.url("/first")) { $0.wantsReadComplete = true }
            let exchange = try #require(first.control as? Exchange)
            first.start()
            exchange.loopPool.loop.post { _ in
                Self.noteResponses(of: .seconds(2000), at: exchange)
            }
            #expect(try await first.end().failure == nil)
            let second = stage.transfer(server.url("/second")) {
                $0.deadlineNanoseconds = Self.moment(in: .seconds(1000))
            }
            second.start()
            #expect(try await second.end().failure == nil)
        }
    }

    @Test("of more waiting requests than may wait, those that came last are failed")
    func tooMany() async throws {
        let server = try ScriptedServer.start(Self.held + Self.answered + Self.answered + [.hold])
        try await EngineStage.play(limit: 1, { $0.maximumWaitingRequests = 2 }) { stage in
            let transfers = (0..<6).map { stage.transfer(server.url("/\($0)")) }
            for transfer in transfers { transfer.start() }
            for transfer in transfers[3...] {
                let refusal = try await transfer.end().failure?.overload
                #expect(refusal == .tooManyWaiting(origin: "http://127.0.0.1:\(server.port)", limit: 2))
            }
            server.signal("go")
            for transfer in transfers[..<3] { #expect(try await transfer.end().failure == nil) }
            #expect(Self.paths(server) == ["/0", "/1", "/2"])
        }
    }

    @Test("newest first serves the last one first, and fails the oldest")
    func newestFirst() async throws {
        let server = try ScriptedServer.start(Self.held + Self.answered + Self.answered + [.hold])
        try await EngineStage.play(
            limit: 1,
            {
                $0.waitingOrder = .newestFirst
                $0.maximumWaitingRequests = 2
            }
        ) { stage in
            let first = stage.transfer(server.url("/first"))
            first.start()
            try await Self.heads(1, at: server)
            let transfers = (0..<4).map { stage.transfer(server.url("/\($0)")) }
            for transfer in transfers { transfer.start() }
            for transfer in transfers[..<2] {
                #expect(try await transfer.end().failure?.overload != nil)
            }
            server.signal("go")
            for transfer in transfers[2...] { #expect(try await transfer.end().failure == nil) }
            #expect(Self.paths(server) == ["/first", "/3", "/2"])
        }
    }

    @Test("a request waits for a connection no longer than the limit, and its connection's one is not touched")
    func waitedTooLong() async throws {
        let server = try ScriptedServer.start(Self.held + Self.answered + [.hold])
        try await EngineStage.play(limit: 1, { $0.maximumConnectionWait = .milliseconds(50) }) { stage in
            let first = stage.transfer(server.url("/first"))
            first.start()
            try await Self.heads(1, at: server)
            let second = stage.transfer(server.url("/second"))
            second.start()
            let refusal = try await second.end().failure?.overload
            #expect(
                refusal == .waitedTooLong(origin: "http://127.0.0.1:\(server.port)", limit: .milliseconds(50)))
            #expect(try await second.end().report.isUnassigned)
            server.signal("go")
            #expect(try await first.end().failure == nil)
            #expect(Self.paths(server) == ["/first"])
        }
    }

    @Test("the deadline field has the milliseconds left, and requests without a deadline have none")
    func deadlineField() async throws {
        let server = try FixtureServer.start()
        let seen = Mutex<[String: String?]>([:])
        server.answer { request in
            seen.withLock { $0[request.path] = .some(request.field("X-Request-Deadline-Ms")) }
            return FixtureResponse(status: 204)
        }
        try await EngineStage.play(limit: 1, { $0.deadlineField = "X-Request-Deadline-Ms" }) { stage in
            _ = try await stage.end(server.url("/request")) {
                $0.requestDeadlineNanoseconds = Self.moment(in: .seconds(30))
            }
            _ = try await stage.end(server.url("/attempt")) { $0.deadlineNanoseconds = Self.moment(in: .seconds(30)) }
            _ = try await stage.end(server.url("/none"))
        }
        let values = seen.withLock { $0 }
        for path in ["/request", "/attempt"] {
            let value = try #require(values[path]?.flatMap { Int($0) })
            #expect((1...30_000).contains(value))
        }
        #expect(values["/none"] == .some(nil))
    }

    @Test("a message that is sent again has one deadline field, with less time")
    func deadlineFieldAgain() throws {
        let consumer = TransferRecorder(
            wantsReadComplete: false, afterHead: { _, _ in .undecided }, afterContent: { _, _ in .undecided },
            whenReleased: {})
        let transport = EngineTransport(settings: PoolSettings())
        var message = RequestMessage(url: "http://a.test/", fields: FieldBlock([Field(name: "Accept", value: "*/*")]))
        message.requestDeadlineNanoseconds = 10_000_000
        let exchange = try #require(transport.makeTransfer(of: message, for: consumer) as? Exchange)
        exchange.writeRemainingTime(into: "Left", at: 2_000_000)
        exchange.writeRemainingTime(into: "Left", at: 7_500_000)
        #expect(
            exchange.message.fields.fields == [.init(name: "Accept", value: "*/*"), .init(name: "Left", value: "2")])
        exchange.writeRemainingTime(into: "Left", at: 70_000_000)
        #expect(exchange.message.fields.value(of: "Left") == "0")
    }
}
