// A transfer that cannot begin.

import Dispatch
import Synchronization

/// A transfer that ends with a failure as soon as it is started.
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

    /// Reports on another thread, since the caller may hold a lock that the consumer needs.
    private func finish(_ failure: TransferFailure) {
        guard let consumer = consumer.withLock({ $0.take() }) else { return }
        var report = TransferReport()
        report.startNanoseconds = WallClock.nanoseconds
        DispatchQueue.global().async { [report] in consumer.transferDidFinish(TransferEnd(failure, report: report)) }
    }
}
