// The servers and sessions of the conformance suite.

import FireweedTransport
import FixtureServer
import Synchronization
import Testing

/// A transport of its own for one test, and the transfers that the test makes on it.
final class ConformanceStage: Sendable {
    let subject: any ConformanceSubject
    let transport: any Transport
    /// The recorders that have gone, counted from 1.
    let recorderReleases = EventLog<Int>()
    private let releaseCount = Counter()
    private let transfers = Mutex<[RecordedTransfer]>([])

    private init(_ subject: any ConformanceSubject) throws {
        self.subject = subject
        transport = try subject.makeTransport()
    }

    /// Runs a test, then shuts the transport down, waits for the end of each transfer, and reports what the recorders
    /// found.
    static func play(
        _ subject: any ConformanceSubject, _ scenarios: Scenario...,
        sourceLocation: SourceLocation = #_sourceLocation, _ body: (ConformanceStage) async throws -> Void
    ) async throws {
        for scenario in scenarios { try subject.requires(scenario) }
        let stage = try ConformanceStage(subject)
        do {
            try await body(stage)
        } catch {
            stage.transport.shutDown()
            throw error
        }
        stage.transport.shutDown()
        for transfer in stage.transfers.withLock({ $0 }) {
            if transfer.isOwedAnEnd { try await transfer.end() }
            let (record, calls) = (transfer.record, transfer.recorder.calls.events)
            #expect(record.violations.isEmpty, "calls: \(calls)", sourceLocation: sourceLocation)
            let ends = calls.count { $0 == .end }
            #expect(ends == (transfer.isOwedAnEnd ? 1 : 0), "calls: \(calls)", sourceLocation: sourceLocation)
        }
    }

    /// Makes a transfer of a scenario, which is not started yet.
    ///
    /// `change` changes the message. `afterHead` and `afterContent` say what may move after a head and after content.
    func transfer(
        of scenario: Scenario, _ change: (inout RequestMessage) -> Void = { _ in },
        afterHead: @escaping TransferRecorder.Answer = { _, _ in .undecided },
        afterContent: @escaping TransferRecorder.Answer = { _, _ in .undecided }
    ) throws -> RecordedTransfer {
        // How long the tests wait is theirs to say.
        var message = RequestMessage(url: try subject.url(of: scenario), idleTimeout: 0)
        change(&message)
        let recorder = TransferRecorder(
            wantsReadComplete: message.wantsReadComplete, afterHead: afterHead, afterContent: afterContent,
            whenReleased: { [recorderReleases, releaseCount] in
                recorderReleases.note(releaseCount.next())
            })
        let transfer = RecordedTransfer(control: transport.makeTransfer(of: message, for: recorder), recorder: recorder)
        transfers.withLock { $0.append(transfer) }
        return transfer
    }

    /// Forgets the transfers that were made until now, so that nothing holds them.
    func forgetTransfers() {
        transfers.withLock { $0 = [] }
    }

    /// Moves some small responses whole: time in which the transport does whatever else it has to do.
    ///
    /// What must not happen has not happened after that, without a pause of some length.
    func otherWork() async throws {
        for _ in 0..<5 {
            let transfer = try transfer(of: .small)
            transfer.start()
            #expect(try await transfer.end().failure == nil)
        }
    }
}

/// Counts from 1.
private final class Counter: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}
