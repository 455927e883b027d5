// Guards under three times a server's load, in virtual time.

import Dispatch
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
            // The thread that advances the time waits here, so that a refusal has ended before the next message.
            private let ended = DispatchSemaphore(value: 0)

            init(_ load: Load, isImportant: Bool) {
                self.load = load
                self.isImportant = isImportant
            }

            func transferDidReceive(_ head: ResponseHead) -> Flow {
                hasHead.store(true, ordering: .relaxed)
                return .undecided
            }

            func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { .undecided }

            func waitForEnd() { ended.wait() }

            func transferDidFinish(_ end: consuming TransferEnd) {
                defer { ended.signal() }
                guard end.failure == nil, hasHead.load(ordering: .relaxed) else { return }
                load.results.withLock { results in
                    results.answered += 1
                    if isImportant { results.answeredImportant += 1 }
                }
            }
        }

        /// 600 ticks make a second; a message takes 16 to 32 of them, 24 on average.
        static let tick = Duration.nanoseconds(1_666_667)

        static func serviceTime(slower factor: Int = 1) -> SimulatedServer.ServiceTime {
            { random in tick * (Int.random(in: 16...32, using: &random) * factor) }
        }

        let clock = TestClock()
        let server: SimulatedServer
        private let transport: any Transport
        private let results = Mutex(Results())

        init(_ guards: [any TransportGuard]) {
            // 200 messages a second.
            server = SimulatedServer(clock: clock, workers: 8, serviceTime: Self.serviceTime())
            transport = guards.reversed().reduce(server) { $1.guarding($0) }
        }

        /// Sends for so many seconds, and returns what came of the messages.
        func run(seconds: Int) -> Results {
            results.withLock { $0 = Results() }
            for number in 0..<600 * seconds {
                server.advance(by: Self.tick)
                send(isImportant: number % 5 == 0)
                server.settle()
            }
            drain()
            return results.withLock { $0 }
        }

        /// Lets the time pass in which the last messages are answered.
        func drain() { for _ in 0..<300 { server.advance(by: Self.tick) } }

        private func send(isImportant: Bool) {
            results.withLock { results in
                results.sent += 1
                if isImportant { results.important += 1 }
            }
            var message = RequestMessage(url: "http://server.test/")
            message.deadlineNanoseconds = clock.monotonicNanoseconds + 500_000_000
            message.priority = isImportant ? .important : .normal
            let client = Client(self, isImportant: isImportant)
            let arrivalCount = server.arrivalCount
            transport.makeTransfer(of: message, for: client).start(.undecided)
            if server.arrivalCount == arrivalCount { client.waitForEnd() }
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
        load.server.setServiceTime(Load.serviceTime(slower: 20))
        let during = load.run(seconds: 10)
        #expect(during.answered < Self.capacity * 5)
        load.server.setServiceTime(Load.serviceTime())
        _ = load.run(seconds: 5)
        let after = load.run(seconds: 5)
        #expect(after.answered >= Self.capacity * 5 * 9 / 10)
    }

    @Test("when all is over, no permit is left")
    func permits() {
        let limit = ConcurrencyLimit()
        let load = Load([.circuitBreaker(), limit])
        _ = load.run(seconds: 3)
        #expect(limit.usage.values.allSatisfy { $0.inFlight == 0 })
    }
}
