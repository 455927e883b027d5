import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports: discarded responses", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DiscardConformanceTests {
    private static let paused: TransferRecorder.Answer = { _, _ in Flow(.receivingPaused, revision: 1) }
    private static let suspended: TransferRecorder.Answer = { _, _ in Flow(.suspended, revision: 1) }

    @Test("after a small rest the connection is used again", arguments: ConformanceSubjects.all)
    func small(subject: any ConformanceSubject) async throws {
        var isReused = false
        // The rest may be too slow for a transport where the machine is: a few rests are not.
        for _ in 0..<20 where !isReused {
            try await ConformanceStage.play(subject, .reuse) { stage in
                let transfer = try stage.transfer(of: .medium, afterHead: Self.paused)
                transfer.start()
                try await transfer.head()
                transfer.discard()
                #expect(try await transfer.end().failure == nil)
                #expect(transfer.record.content.isEmpty)
                let next = try stage.transfer(of: .reuse)
                next.start()
                isReused = try await next.end().report.isReusedConnection
                #expect(next.record.content == ScenarioContent.small)
            }
        }
        #expect(isReused)
    }

    @Test(
        "a rest that is too long, or does not come, does not keep the end", arguments: ConformanceSubjects.all,
        [Scenario.endless, .headOnly, .stalled])
    func long(subject: any ConformanceSubject, scenario: Scenario) async throws {
        try await ConformanceStage.play(subject, scenario) { stage in
            for answer in [Self.paused, Self.suspended] {
                let transfer = try stage.transfer(of: scenario, afterHead: answer)
                transfer.start()
                try await transfer.head()
                transfer.discard()
                transfer.discard()
                #expect(try await transfer.end().failure == nil)
                #expect(transfer.record.content.isEmpty)
                try await stage.otherWork()
            }
        }
    }

    @Test("after a discard from inside a call, nothing but the end comes", arguments: ConformanceSubjects.all)
    func inside(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .endless) { stage in
            for scenario in [Scenario.small, .endless] {
                let transfer = try stage.transfer(
                    of: scenario,
                    afterHead: { transfer, _ in
                        transfer.discard()
                        return .undecided
                    })
                transfer.start()
                #expect(try await transfer.end().failure == nil)
                #expect(transfer.recorder.calls.events == [.head, .end])
            }
            let amid = try stage.transfer(
                of: .endless,
                afterContent: { transfer, _ in
                    transfer.discard()
                    return .undecided
                })
            amid.start()
            #expect(try await amid.end().failure == nil)
            #expect(amid.recorder.calls.events.count == 3)
        }
    }

    @Test("a cancel after a discard ends the transfer", arguments: ConformanceSubjects.all)
    func cancelled(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .headOnly) { stage in
            let transfer = try stage.transfer(of: .headOnly)
            transfer.start()
            try await transfer.head()
            transfer.discard()
            transfer.cancel()
            let end = try await transfer.end()
            #expect(end.failure == nil || end.isCancelled)
        }
    }

    @Test("no flow after a discard keeps the end", arguments: ConformanceSubjects.all)
    func flow(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .endless) { stage in
            let transfer = try stage.transfer(of: .endless, afterHead: Self.paused)
            transfer.start()
            try await transfer.head()
            transfer.discard()
            transfer.setFlow(.suspended, revision: 2)
            #expect(try await transfer.end().failure == nil)
            #expect(transfer.record.content.isEmpty)
        }
    }
}
