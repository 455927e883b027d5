import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("A transport that was made when the process was out of descriptors")
struct LateLoopTests {
    private final class Consumer: TransferConsumer, Sendable {
        let end = AsyncStream<TransferFailure?>.makeStream()

        func transferDidReceive(_ head: ResponseHead) -> Flow { .undecided }
        func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { .undecided }
        func transferDidFinish(_ end: consuming TransferEnd) {
            self.end.continuation.yield(end.failure)
            self.end.continuation.finish()
        }
    }

    @Test("makes its loops later outside its lock: a thread that shuts it down meanwhile does not wait")
    func makesLoopsOutsideLock() async throws {
        let server = try FixtureServer.start()
        let count = Atomic(0)
        let shutDown = Mutex<(@Sendable () -> Void)?>(nil)
        let transport = CurlTransport(settings: PoolSettings()) {
            if count.add(1, ordering: .relaxed).newValue == 1 { return [] }
            shutDown.withLock { $0.take() }?()
            return EventLoopGroup.loops(1)
        }
        shutDown.withLock { $0 = { transport.shutDown() } }
        let consumer = Consumer()
        let message = RequestMessage(url: server.url("/get").absoluteString)
        transport.makeTransfer(of: message, for: consumer).start(.undecided)
        for await failure in consumer.end.stream {
            guard case .cancelled = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
        }
    }
}
