// A server in virtual time.

import Dispatch
import FireweedTesting
import FireweedTransport
import Foundation
import Synchronization

/// A server of eight workers behind a transport, first come, first served; it never notices that a client is gone.
///
/// Each message takes 40 ms of a worker, which makes 200 a second, unless the test makes it slower. Time is the test's.
final class SimulatedServer: Transport, @unchecked Sendable {
    let testClock: TestClock
    let queue = DispatchQueue(label: "simulated server")
    // SAFETY: touched on the serial queue alone.
    private var waiting: [SimulatedTransfer] = []
    private var idleWorkerCount = 8
    private let serviceTime = Mutex(Duration.milliseconds(40))

    init(clock: TestClock) {
        testClock = clock
    }

    var clock: any SessionClock { testClock }
    var executor: (any TaskExecutor)? { nil }

    /// How long a worker takes for one message from now on.
    func setServiceTime(_ duration: Duration) { serviceTime.withLock { $0 = duration } }

    func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer) -> any TransferControl {
        SimulatedTransfer(message, consumer, self)
    }

    func shutDown() {}

    fileprivate func enqueue(_ transfer: SimulatedTransfer) {
        waiting.append(transfer)
        work()
    }

    private func work() {
        while idleWorkerCount > 0, !waiting.isEmpty {
            idleWorkerCount -= 1
            let transfer = waiting.removeFirst()
            testClock.schedule(.limit, after: serviceTime.withLock { $0 }, on: queue) { [self] in
                transfer.answer()
                idleWorkerCount += 1
                work()
            }
        }
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
