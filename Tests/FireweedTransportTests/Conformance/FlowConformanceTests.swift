import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports: flow", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FlowConformanceTests {
    @Test(
        "a transfer that is suspended from the start tells nothing until it runs", arguments: ConformanceSubjects.all,
        [Scenario.small, .noContent, .interim])
    func suspendedStart(subject: any ConformanceSubject, scenario: Scenario) async throws {
        try await ConformanceStage.play(subject, scenario) { stage in
            let transfer = try stage.transfer(of: scenario)
            transfer.start(Flow(.suspended, revision: 1))
            try await stage.otherWork()
            #expect(transfer.recorder.calls.events.isEmpty)
            transfer.setFlow(.running, revision: 2)
            #expect(try await transfer.end().failure == nil)
            #expect(transfer.record.content == (scenario == .noContent ? Data() : ScenarioContent.small))
            #expect(transfer.record.interimHeads.count == (scenario == .interim ? 2 : 0))
        }
    }

    @Test("an answer to HEAD waits while the transfer is suspended", arguments: ConformanceSubjects.all)
    func suspendedHead(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            // A HEAD may have content, as any other method (RFC 9110 §9.3.2).
            for body in [BodySource.none, .data(ScenarioContent.small)] {
                let transfer = try stage.transfer(of: .small) { message in
                    message.method = "HEAD"
                    message.body = body
                }
                transfer.start(Flow(.suspended, revision: 1))
                try await stage.otherWork()
                #expect(transfer.recorder.calls.events.isEmpty)
                transfer.setFlow(.running, revision: 2)
                #expect(try await transfer.end().failure == nil)
                #expect(transfer.recorder.calls.events.filter { $0 != .sent } == [.head, .end])
            }
        }
    }

    @Test("a suspended transfer that is cancelled tells the end alone", arguments: ConformanceSubjects.all)
    func suspendedAndCancelled(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .interim) { stage in
            for scenario in [Scenario.small, .large, .noContent, .interim] {
                let transfer = try stage.transfer(of: scenario)
                transfer.start(Flow(.suspended, revision: 1))
                try await stage.otherWork()
                transfer.cancel()
                #expect(try await transfer.end().isCancelled)
                #expect(transfer.recorder.calls.events == [.end])
            }
        }
    }

    @Test("a transfer that is suspended before its start is so after it", arguments: ConformanceSubjects.all)
    func suspendedBeforeStart(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let transfer = try stage.transfer(of: .small)
            transfer.setFlow(.suspended, revision: 7)
            transfer.start(Flow(.running, revision: 1))
            transfer.setFlow(.running, revision: 6)
            try await stage.otherWork()
            #expect(transfer.recorder.calls.events.isEmpty)
            transfer.setFlow(.running, revision: 8)
            #expect(try await transfer.end().failure == nil)
        }
    }

    @Test("a transfer whose receiving is paused gets a head, and no content", arguments: ConformanceSubjects.all)
    func pausedStart(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let transfer = try stage.transfer(of: .medium)
            transfer.start(Flow(.receivingPaused, revision: 1))
            try await transfer.head()
            try await stage.otherWork()
            #expect(transfer.recorder.calls.events == [.head])
            transfer.setFlow(.running, revision: 2)
            #expect(try await transfer.end().failure == nil)
            #expect(transfer.record.content == ScenarioContent.medium)
        }
    }

    @Test(
        "no content follows a head that pauses or suspends, until content may come in",
        arguments: ConformanceSubjects.all, [Flow.Level.receivingPaused, .suspended])
    func pausedAtHead(subject: any ConformanceSubject, level: Flow.Level) async throws {
        try await ConformanceStage.play(subject) { stage in
            for scenario in [Scenario.small, .large] {
                let transfer = try stage.transfer(of: scenario, afterHead: { _, _ in Flow(level, revision: 1) })
                transfer.start()
                try await transfer.head()
                try await stage.otherWork()
                #expect(transfer.recorder.calls.events == [.head])
                transfer.setFlow(.running, revision: 2)
                #expect(try await transfer.end().failure == nil)
                let content = scenario == .small ? ScenarioContent.small : ScenarioContent.large
                #expect(transfer.record.content == content)
            }
        }
    }

    @Test("a head that pauses a response without content does not keep its end", arguments: ConformanceSubjects.all)
    func pausedWithoutContent(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .noContent) { stage in
            let transfer = try stage.transfer(
                of: .noContent, afterHead: { _, _ in Flow(.receivingPaused, revision: 1) })
            transfer.start()
            try await transfer.head()
            transfer.setFlow(.running, revision: 2)
            #expect(try await transfer.end().failure == nil)
        }
    }

    @Test(
        "content stops when the consumer pauses it, and continues where it stopped", arguments: ConformanceSubjects.all,
        [Flow.Level.receivingPaused, .suspended])
    func pausedAtContent(subject: any ConformanceSubject, level: Flow.Level) async throws {
        try await ConformanceStage.play(subject) { stage in
            let transfer = try stage.transfer(
                of: .large,
                afterContent: { _, record in
                    // Each piece is the last one for now. Revisions count up with the content.
                    Flow(level, revision: UInt64(record.content.count) * 2)
                })
            transfer.start()
            for round in 0..<3 {
                let piece = round + 1
                try await transfer.recorder.calls.nth(piece) { if case .content = $0 { true } else { false } }
                try await stage.otherWork()
                #expect(transfer.recorder.calls.events.count == 1 + piece)
                if round < 2 { transfer.setFlow(.running, revision: UInt64(transfer.record.content.count) * 2 + 1) }
            }
            transfer.setFlow(.running, revision: .max)
            #expect(try await transfer.end().failure == nil)
            // A difference of large contents takes hours to print.
            let isWhole = transfer.record.content == ScenarioContent.large
            #expect(isWhole)
        }
    }

    @Test("what a call sets while it runs holds when it has returned", arguments: ConformanceSubjects.all)
    func setInside(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let transfer = try stage.transfer(
                of: .large,
                afterHead: { transfer, _ in
                    transfer.setFlow(.receivingPaused, revision: 2)
                    return Flow(.running, revision: 1)
                })
            transfer.start()
            try await transfer.head()
            try await stage.otherWork()
            #expect(transfer.recorder.calls.events == [.head])
            transfer.setFlow(.running, revision: 3)
            #expect(try await transfer.end().failure == nil)
            #expect(transfer.record.content == ScenarioContent.large)
        }
    }

    @Test("a flow of a lower revision has no effect", arguments: ConformanceSubjects.all)
    func stale(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let running = try stage.transfer(
                of: .medium, afterHead: { _, _ in Flow(.suspended, revision: 4) },
                afterContent: { _, _ in Flow(.receivingPaused, revision: 3) })
            running.setFlow(.running, revision: 5)
            running.start(Flow(.suspended, revision: 1))
            running.setFlow(.suspended, revision: 2)
            #expect(try await running.end().failure == nil)
            let paused = try stage.transfer(of: .medium, afterHead: { _, _ in Flow(.receivingPaused, revision: 8) })
            paused.start()
            try await paused.head()
            paused.setFlow(.running, revision: 7)
            try await stage.otherWork()
            #expect(paused.recorder.calls.events == [.head])
        }
    }

    @Test("suspending stops an upload, and running continues it", arguments: ConformanceSubjects.all)
    func upload(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .upload) { stage in
            let transfer = try stage.transfer(of: .upload) { message in
                message.method = "PUT"
                message.body = .reader { CountingReader(byteCount: 8 << 20, announces: true) }
            }
            transfer.start()
            try await transfer.recorder.calls.next(.sent)
            transfer.setFlow(.suspended, revision: 1)
            try await stage.otherWork()
            let count = transfer.recorder.calls.events.count
            try await stage.otherWork()
            #expect(transfer.recorder.calls.events.count == count)
            transfer.setFlow(.running, revision: 2)
            #expect(try await transfer.end().failure == nil)
            #expect(String(decoding: transfer.record.content, as: UTF8.self) == "\(8 << 20)")
        }
    }
}
