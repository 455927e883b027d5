import FixtureServer
import Foundation
import Glibc
import Testing

@testable import FireweedTransport

@Suite("Origin pool: waiting exchanges", .timeLimit(.minutes(TestTimeouts.minutes)))
struct OriginPoolTests {
    private func paths(_ server: ScriptedServer) -> [String] {
        server.events.events.compactMap { event in
            guard case .head(_, let head) = event else { return nil }
            return head.split(separator: " ").dropFirst().first.map(String.init)
        }
    }

    @Test("exchanges get the connection in the order in which they came; one that was cancelled is passed over")
    func order() async throws {
        let exchange: [ScriptedServer.Action] = [.receiveHead, .wait(for: "go"), .send(Answer.small)]
        let server = try ScriptedServer.start(exchange + exchange.map { $0.isWait ? .send("") : $0 } * 6 + [.hold])
        try await EngineStage.play(limit: 1) { stage in
            let transfers = (0..<6).map { stage.transfer(server.url("/\($0)")) }
            for transfer in transfers { transfer.start() }
            _ = try await server.events.first { if case .head = $0 { true } else { false } }
            transfers[3].cancel()
            #expect(try await transfers[3].end().isCancelled)
            server.signal("go")
            for (index, transfer) in transfers.enumerated() where index != 3 {
                #expect(try await transfer.end().failure == nil)
            }
            #expect(paths(server) == ["/0", "/1", "/2", "/4", "/5"])
            #expect(server.events.events.count { if case .accepted = $0 { true } else { false } } == 1)
        }
    }

    @Test("one that is suspended in the line lets the next one go first")
    func suspended() async throws {
        let exchange: [ScriptedServer.Action] = [.receiveHead, .wait(for: "go"), .send(Answer.small)]
        let server = try ScriptedServer.start(exchange + exchange.map { $0.isWait ? .send("") : $0 } * 3 + [.hold])
        try await EngineStage.play(limit: 1) { stage in
            let transfers = (0..<4).map { stage.transfer(server.url("/\($0)")) }
            for transfer in transfers { transfer.start() }
            _ = try await server.events.first { if case .head = $0 { true } else { false } }
            transfers[1].setFlow(.suspended, revision: 1)
            // Calls reach the loop in their order: once this one has ended, the other is suspended.
            transfers[3].cancel()
            #expect(try await transfers[3].end().isCancelled)
            server.signal("go")
            for index in [0, 2] { #expect(try await transfers[index].end().failure == nil) }
            #expect(transfers[1].recorder.calls.events.isEmpty)
            transfers[1].setFlow(.running, revision: 2)
            #expect(try await transfers[1].end().failure == nil)
            #expect(paths(server) == ["/0", "/2", "/1"])
        }
    }

    @Test("no more connections are opened than the limit allows")
    func limit() async throws {
        let server = try ScriptedServer.start([.receiveHead, .wait(for: "go"), .send(Answer.small), .hold])
        try await EngineStage.play(limit: 2) { stage in
            let transfers = (0..<10).map { stage.transfer(server.url("/\($0)")) }
            for transfer in transfers { transfer.start() }
            for number in 0..<2 {
                _ = try await server.events.first { if case .head(number, _) = $0 { true } else { false } }
            }
            // An exchange that ends without its connection makes room for the next.
            transfers[0].cancel()
            _ = try await server.events.first { if case .head(2, _) = $0 { true } else { false } }
            #expect(paths(server).count == 3)
        }
    }

    @Test("10,000 exchanges that wait cost an object each, and no connection, thread or buffer")
    func tenThousand() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        try await EngineStage.play(limit: 1) { stage in
            let transfers = (0..<10_000).map { stage.transfer(server.url("/\($0)")) }
            for transfer in transfers { transfer.start() }
            _ = try await server.events.first { if case .head = $0 { true } else { false } }
            #expect(server.events.events.count { if case .accepted = $0 { true } else { false } } == 1)
            // The one that has the connection goes last: an end before would give its place to the next in line.
            for transfer in transfers.reversed() { transfer.cancel() }
            for transfer in transfers { #expect(try await transfer.end().isCancelled) }
            #expect(paths(server) == ["/0"])
        }
    }

    @Test("an exchange is a single object of bounded size")
    func size() {
        let consumer = TransferRecorder(
            wantsReadComplete: false, afterHead: { _, _ in .undecided }, afterContent: { _, _ in .undecided },
            whenReleased: {}
        )
        let transport = EngineTransport(settings: PoolSettings())
        let control = transport.makeTransfer(of: RequestMessage(url: "http://a.test/"), for: consumer)
        let byteCount = usableSize(Unmanaged.passUnretained(control as AnyObject).toOpaque())
        #expect(byteCount <= 1024)
    }
}

/// The size of a heap block; <malloc.h> is in no module.
@_silgen_name("malloc_usable_size")
private func usableSize(_ block: UnsafeMutableRawPointer) -> Int

extension ScriptedServer.Action {
    fileprivate var isWait: Bool { if case .wait = self { true } else { false } }
}

/// The steps again and again.
private func * (steps: [ScriptedServer.Action], count: Int) -> [ScriptedServer.Action] {
    (0..<count).flatMap { _ in steps }
}
