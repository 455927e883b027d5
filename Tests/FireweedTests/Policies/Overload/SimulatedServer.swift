// A server in virtual time.

import Dispatch
import FireweedTesting
import FireweedTransport
import Foundation
import Synchronization

/// A server behind a transport, first come, first served; it never notices that a client is gone.
///
/// A test advances the time, and lets the queue run empty after each step: everything then happens in one order.
final class SimulatedServer: Transport, @unchecked Sendable {
    let testClock: TestClock
    let queue = DispatchQueue(label: "simulated server")
    /// How long a worker takes for one message.
    typealias ServiceTime = @Sendable (inout SeededGenerator) -> Duration

    let clock: any SessionClock
    // SAFETY: touched on the serial queue alone.
    private var waiting: [SimulatedTransfer] = []
    private var idleWorkerCount: Int
    private var random = SeededGenerator(seed: 33)
    private let serviceTime: Mutex<ServiceTime>
    private let arrivals = Atomic(0)

    /// How many messages have come.
    var arrivalCount: Int { arrivals.load(ordering: .relaxed) }

    init(clock: TestClock, workers: Int, serviceTime: @escaping ServiceTime) {
        testClock = clock
        self.clock = QueueClock(clock: clock, queue: queue)
        idleWorkerCount = workers
        self.serviceTime = Mutex(serviceTime)
    }

    /// Advances the time, and waits until everything that is due has happened.
    func advance(by duration: Duration) {
        testClock.advance(by: duration)
        settle()
    }

    /// Waits until everything that was begun has happened.
    func settle() { queue.sync {} }

    var executor: (any TaskExecutor)? { nil }

    /// How long a worker takes for one message from now on.
    func setServiceTime(_ time: @escaping ServiceTime) { serviceTime.withLock { $0 = time } }

    func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer) -> any TransferControl {
        SimulatedTransfer(message, consumer, self)
    }

    func shutDown() {}

    fileprivate func noteArrival() { arrivals.add(1, ordering: .relaxed) }

    fileprivate func enqueue(_ transfer: SimulatedTransfer) {
        waiting.append(transfer)
        work()
    }

    private func work() {
        while idleWorkerCount > 0, !waiting.isEmpty {
            idleWorkerCount -= 1
            let transfer = waiting.removeFirst()
            let duration = serviceTime.withLock { $0 }(&random)
            testClock.schedule(.limit, after: duration, on: queue) { [self] in
                transfer.answer()
                idleWorkerCount += 1
                work()
            }
        }
    }
}

/// A clock of tests that makes every call on one queue.
private struct QueueClock: SessionClock {
    let clock: TestClock
    let queue: DispatchQueue

    var now: Date { clock.now }
    var monotonicNanoseconds: UInt64 { clock.monotonicNanoseconds }

    func schedule(
        _ purpose: SchedulingPurpose, after duration: Duration, on _: DispatchQueue,
        _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledCall {
        clock.schedule(purpose, after: duration, on: queue, work)
    }
}

private final class SimulatedTransfer: TransferControl, @unchecked Sendable {
    private let message: RequestMessage
    private let server: SimulatedServer
    // SAFETY: touched on the server's serial queue alone.
    private var consumer: (any TransferConsumer)?
    private var timeout: (any ScheduledCall)?

    init(_ message: RequestMessage, _ consumer: any TransferConsumer, _ server: SimulatedServer) {
        self.message = message
        self.consumer = consumer
        self.server = server
    }

    func start(_ flow: Flow) {
        server.noteArrival()
        server.queue.async { [self] in
            let now = server.testClock.monotonicNanoseconds
            let rest = (message.deadlineNanoseconds ?? .max) - now
            timeout = server.testClock.schedule(
                .limit, after: .nanoseconds(Int64(clamping: rest)), on: server.queue
            ) { [self] in
                end(.exchange(.timedOut, detail: "", engineCode: 0))
            }
            server.enqueue(self)
        }
    }

    func setFlow(_ flow: Flow) {}
    func discard() { cancel() }
    func cancel() { server.queue.async { [self] in end(.cancelled) } }

    func answer() {
        _ = consumer?.transferDidReceive(ResponseHead(status: 200, fields: []))
        end(nil)
    }

    private func end(_ failure: TransferFailure?) {
        timeout?.cancel()
        consumer.take()?.transferDidFinish(TransferEnd(failure, report: TransferReport()))
    }
}
