import Dispatch
import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports: time-outs", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TimeConformanceTests {
    private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

    @Test("the deadline ends a transfer, whatever stands still", arguments: ConformanceSubjects.all)
    func deadline(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .silent, .headOnly) { stage in
            let deadline = Self.now + 50_000_000
            let starts: [(Scenario, Flow)] = [
                (.silent, .undecided), (.headOnly, .undecided), (.small, Flow(.suspended, revision: 1)),
                (.medium, Flow(.receivingPaused, revision: 1)),
            ]
            let transfers = try starts.map { row in
                let transfer = try stage.transfer(of: row.0) { $0.deadlineNanoseconds = deadline }
                transfer.start(row.1)
                return transfer
            }
            for transfer in transfers {
                #expect(try await transfer.end().isTimedOut)
                #expect(transfer.record.endNanoseconds >= deadline)
            }
        }
    }

    @Test("a deadline that is over when the transfer starts ends it", arguments: ConformanceSubjects.all)
    func overdue(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .silent) { stage in
            let transfer = try stage.transfer(of: .silent) { $0.deadlineNanoseconds = 1 }
            transfer.start()
            #expect(try await transfer.end().isTimedOut)
        }
    }

    @Test("the idle time-out ends a transfer of which no byte moves", arguments: ConformanceSubjects.all)
    func idle(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .silent, .stalled) { stage in
            for scenario in [Scenario.silent, .stalled] {
                let transfer = try stage.transfer(of: scenario) { $0.idleTimeout = 0.05 }
                transfer.start()
                #expect(try await transfer.end().isTimedOut)
            }
        }
    }

    @Test(
        "the idle time-out stands still while nothing may come in; the deadline does not",
        arguments: ConformanceSubjects.all, [Flow.Level.receivingPaused, .suspended])
    func standingStill(subject: any ConformanceSubject, level: Flow.Level) async throws {
        try await ConformanceStage.play(subject) { stage in
            // A machine that is too busy for the head gets more time.
            for doubling in 0..<10 {
                let idle = 0.05 * Double(1 << doubling)
                let deadline = Self.now + UInt64(idle * 4e9)
                let transfer = try stage.transfer(
                    of: .medium,
                    { message in
                        message.idleTimeout = idle
                        message.deadlineNanoseconds = deadline
                    }, afterHead: { _, _ in Flow(level, revision: 1) })
                transfer.start()
                let end = try await transfer.end()
                #expect(end.isTimedOut)
                guard transfer.record.head != nil else { continue }
                #expect(transfer.record.endNanoseconds >= deadline)
                return
            }
            Issue.record("no head came within 25 seconds")
        }
    }

    @Test("the idle time-out counts again when content may come in again", arguments: ConformanceSubjects.all)
    func again(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .stalled) { stage in
            let transfer = try stage.transfer(of: .stalled) { $0.idleTimeout = 0.05 }
            transfer.start(Flow(.suspended, revision: 1))
            try await stage.otherWork()
            #expect(transfer.recorder.calls.events.isEmpty)
            transfer.setFlow(.running, revision: 2)
            #expect(try await transfer.end().isTimedOut)
        }
    }
}

extension TransferEnd {
    /// The code of the failure as users see it; `nil` without a failure.
    var code: URLError.Code? { failure.map { $0.urlError(failingURL: "").code } }

    var isTimedOut: Bool { code == .timedOut }
}
