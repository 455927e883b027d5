// Guards under three times a server's load, in virtual time.

import FireweedTesting
import FireweedTransport
import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import Fireweed

@Suite("Guards under overload, simulated", .timeLimit(.minutes(TestTimeouts.minutes)))
struct OverloadSimulationTests {
    /// Requests at three times the capacity, each with half a second; every fifth one is important.
    private final class Load: Sendable {
        struct Results {
            var sent = 0
            var answered = 0
            var important = 0
            var answeredImportant = 0
        }

        private final class Client: TransferConsumer {
            let load: Load
            let isImportant: Bool
            private let hasHead = Atomic(false)

            init(_ load: Load, isImportant: Bool) {
                self.load = load
                self.isImportant = isImportant
            }

            func transferDidReceive(_ head: ResponseHead) -> Flow {
                hasHead.store(true, ordering: .relaxed)
                return .undecided
            }

            func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { .undecided }

            func transferDidFinish(_ end: consuming TransferEnd) {
                guard end.failure == nil, hasHead.load(ordering: .relaxed) else { return }
                load.results.withLock { results in
                    results.answered += 1
                    if isImportant { results.answeredImportant += 1 }
                }
            }
        }

        /// 600 ticks make a second, and 24 of them the time of a message.
        static let tick = Duration.nanoseconds(1_666_667)

        let clock = TestClock()
        let server: SimulatedServer
        private let transport: any Transport
        private let results = Mutex(Results())

        init(_ guards: [any TransportGuard]) {
            server = SimulatedServer(clock: clock)
            server.setServiceTime(Self.tick * 24)
            transport = guards.reversed().reduce(server) { $1.guarding($0) }
        }

        /// Sends for so many seconds, and returns what came of it in that time.
        func run(seconds: Int) -> Results {
            results.withLock { $0 = Results() }
            for number in 0..<600 * seconds {
                clock.advance(by: Self.tick)
                server.queue.sync {}
                send(isImportant: number % 5 == 0)
                server.queue.sync {}
            }
            return results.withLock { $0 }
        }

        private func send(isImportant: Bool) {
            results.withLock { results in
                results.sent += 1
                if isImportant { results.important += 1 }
            }
            var message = RequestMessage(url: "http://server.test/")
            message.deadlineNanoseconds = clock.monotonicNanoseconds + 500_000_000
            message.priority = isImportant ? .important : .normal
            transport.makeTransfer(of: message, for: Client(self, isImportant: isImportant)).start(.undecided)
        }
    }

    private static let capacity = 200

    @Test("without a guard nothing is answered in time")
    func without() {
        let load = Load([])
        _ = load.run(seconds: 2)
        #expect(load.run(seconds: 5).answered < Self.capacity * 5 / 10)
    }

    @Test(
        "an adaptive and a fixed limit give 90 % of the capacity, and 98 % of the important ones",
        arguments: [ConcurrencyLimit.Policy.adaptive(), .fixed(12)])
    func goodput(policy: ConcurrencyLimit.Policy) {
        let limit = ConcurrencyLimit(policy)
        let load = Load([limit])
        let results = load.run(seconds: 10)
        #expect(results.answered >= Self.capacity * 10 * 9 / 10)
        #expect(results.answeredImportant * 100 >= results.important * 98)
        #expect(limit.usage.values.allSatisfy { $0.inFlight <= $0.limit + 1 })
    }

    @Test("after the server was twenty times slower for ten seconds, five seconds bring 90 % back")
    func recovery() {
        let load = Load([.circuitBreaker(), .concurrencyLimit()])
        _ = load.run(seconds: 5)
        load.server.setServiceTime(Load.tick * 480)
        let during = load.run(seconds: 10)
        #expect(during.answered < Self.capacity * 5)
        load.server.setServiceTime(Load.tick * 24)
        _ = load.run(seconds: 5)
        let after = load.run(seconds: 5)
        #expect(after.answered >= Self.capacity * 5 * 9 / 10)
    }

    @Test("when all is over, no permit is left")
    func permits() {
        let limit = ConcurrencyLimit()
        let load = Load([.circuitBreaker(), limit])
        _ = load.run(seconds: 3)
        for _ in 0..<600 {
            load.clock.advance(by: Load.tick)
            load.server.queue.sync {}
        }
        #expect(limit.usage.values.allSatisfy { $0.inFlight == 0 })
    }
}
