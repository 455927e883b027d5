// A transfer that fails at its start.

import Dispatch
import Synchronization

/// A transfer that ends with a given failure when it is started, or as cancelled before that.
package final class FailedTransfer: TransferControl {
    private let failure: TransferFailure
    private let consumer: Mutex<(any TransferConsumer)?>

    package init(_ failure: TransferFailure, consumer: any TransferConsumer) {
        self.failure = failure
        self.consumer = Mutex(consumer)
    }

    package func start(_ flow: Flow) { finish(failure) }

    package func setFlow(_ flow: Flow) {}

    package func discard() { finish(.cancelled) }

    package func cancel() { finish(.cancelled) }

    /// Reports the end on another thread, because the caller may hold a lock that the consumer needs.
    private func finish(_ failure: TransferFailure) {
        guard let consumer = consumer.withLock({ $0.take() }) else { return }
        var report = TransferReport()
        report.startNanoseconds = WallClock.nanoseconds
        DispatchQueue.global().async { [report] in consumer.transferDidFinish(TransferEnd(failure, report: report)) }
    }
}
