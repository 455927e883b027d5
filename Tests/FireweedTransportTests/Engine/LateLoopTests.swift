import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("An engine that was made when the process was out of descriptors", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LateLoopTests {
    private func transfer(_ transport: EngineTransport, _ url: URL) -> RecordedTransfer {
        let recorder = TransferRecorder(
            wantsReadComplete: false, afterHead: { _, _ in .undecided }, afterContent: { _, _ in .undecided },
            whenReleased: {}
        )
        let message = RequestMessage(url: url.absoluteString, idleTimeout: 0)
        return RecordedTransfer(control: transport.makeTransfer(of: message, for: recorder), recorder: recorder)
    }

    @Test("makes its loops later outside its lock: a thread that shuts it down meanwhile does not wait")
    func makesLoopsOutsideLock() async throws {
        let server = try ScriptedServer.start([.hold])
        let count = Atomic(0)
        let shutDown = Mutex<(@Sendable () -> Void)?>(nil)
        let transport = EngineTransport(settings: PoolSettings(), parts: EngineParts()) {
            if count.add(1, ordering: .relaxed).newValue == 1 { return [] }
            shutDown.withLock { $0.take() }?()
            return EventLoopGroup.loops(1)
        }
        shutDown.withLock { $0 = { transport.shutDown() } }
        let transfer = transfer(transport, server.url())
        transfer.start()
        #expect(try await transfer.end().isCancelled)
    }

    @Test("shares the limit of connections among the loops that were made later")
    func sharesLimit() async throws {
        let answer: [ScriptedServer.Action] = [.receiveHead, .wait(for: "go"), .send(Answer.small)]
        let server = try ScriptedServer.start(answer + answer + answer + answer + [.hold])
        let count = Atomic(0)
        let transport = EngineTransport(settings: PoolSettings(maximumConnectionsPerHost: 2), parts: EngineParts()) {
            count.add(1, ordering: .relaxed).newValue == 1 ? [] : EventLoopGroup.loops(2)
        }
        let transfers = (0..<4).map { _ in transfer(transport, server.url()) }
        for transfer in transfers { transfer.start() }
        try await server.events.nth(2) { if case .head = $0 { true } else { false } }
        server.signal("go")
        for transfer in transfers { #expect(try await transfer.end().code == nil) }
        #expect(server.events.events.count { if case .accepted = $0 { true } else { false } } == 2)
        transport.shutDown()
    }
}
