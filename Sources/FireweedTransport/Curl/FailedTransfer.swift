// A transfer that cannot begin.

import Dispatch
import Synchronization

/// Ends with a failure as soon as it is started.
final class FailedTransfer: TransferControl {
    private let failure: TransferFailure
    private let consumer: Mutex<(any TransferConsumer)?>

    init(_ failure: TransferFailure, consumer: any TransferConsumer) {
        self.failure = failure
        self.consumer = Mutex(consumer)
    }

    func start() { finish(failure) }

    func cancel() { finish(.cancelled) }

    func suspend() {}

    func resume() {}

    func resumeIntake() {}

    /// Reports from another thread, since there is no loop: whoever starts a transfer may hold what the report needs.
    private func finish(_ failure: TransferFailure) {
        guard let consumer = consumer.withLock({ $0.take() }) else { return }
        DispatchQueue.global().async { consumer.transferDidFinish(failure, report: TransferReport()) }
    }
}
