// A transfer of the conformance suite.

import FireweedTransport
import FixtureServer
import Synchronization
import Testing

/// A control, and the recorder that is told of its transfer.
final class RecordedTransfer: Sendable {
    let recorder: TransferRecorder
    let control: any TransferControl
    private let isOwed = Atomic(false)

    init(control: any TransferControl, recorder: TransferRecorder) {
        self.control = control
        self.recorder = recorder
        recorder.attach(self)
    }

    /// Whether the transfer was started or cancelled, so that its end has to come.
    var isOwedAnEnd: Bool { isOwed.load(ordering: .acquiring) }

    func start(_ flow: Flow = .undecided) {
        isOwed.store(true, ordering: .releasing)
        recorder.during { control.start(flow) }
    }

    func setFlow(_ level: Flow.Level, revision: UInt64) {
        recorder.during { control.setFlow(Flow(level, revision: revision)) }
    }

    func discard() {
        isOwed.store(true, ordering: .releasing)
        recorder.during { control.discard() }
    }

    func cancel() {
        isOwed.store(true, ordering: .releasing)
        recorder.during { control.cancel() }
    }

    var record: TransferRecorder.Record { recorder.record }

    /// Waits until the transfer's consumer has been told of its end.
    @discardableResult
    func end() async throws -> TransferEnd {
        try await recorder.calls.next(.end)
        return try #require(record.end)
    }

    /// Waits until the head has come.
    func head() async throws {
        try await recorder.calls.next(.head)
    }

    /// Waits until content has come.
    func content() async throws {
        try await recorder.calls.first { if case .content = $0 { true } else { false } }
    }
}

extension TransferEnd {
    /// Whether the transfer ended as cancelled.
    var isCancelled: Bool { if case .cancelled = failure { true } else { false } }
}
