import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports: calls come in order and end once", .timeLimit(.minutes(TestTimeouts.minutes)))
struct OrderConformanceTests {
    @Test("head, content, end", arguments: ConformanceSubjects.all)
    func order(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let transfer = try stage.transfer(of: .small)
            transfer.start()
            let end = try await transfer.end()
            #expect(end.failure == nil)
            #expect(transfer.recorder.calls.events.filter { $0 != .sent } == [.head, .content(5), .end])
            #expect(transfer.record.head?.status == 200 && transfer.record.content == ScenarioContent.small)
        }
    }

    @Test("interim responses come before the head (RFC 9110 §15.2)", arguments: ConformanceSubjects.all)
    func interim(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .interim) { stage in
            let transfer = try stage.transfer(of: .interim)
            transfer.start()
            #expect(try await transfer.end().failure == nil)
            #expect(transfer.record.interimHeads.map(\.status) == [103, 103])
            #expect(transfer.recorder.calls.events.prefix(3) == [.interim, .interim, .head])
        }
    }

    @Test("a second start does nothing", arguments: ConformanceSubjects.all)
    func startTwice(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let transfer = try stage.transfer(of: .small)
            transfer.start()
            transfer.start()
            try await transfer.end()
            transfer.start()
            try await stage.otherWork()
            #expect(transfer.record.content == ScenarioContent.small)
        }
    }

    /// What can be done to a transfer.
    enum Act: CaseIterable, Sendable {
        case start, startSuspended, cancel, discard, suspend

        func perform(on transfer: RecordedTransfer, _ revision: Int) {
            switch self {
            case .start: transfer.start()
            case .startSuspended: transfer.start(Flow(.suspended, revision: UInt64(revision)))
            case .cancel: transfer.cancel()
            case .discard: transfer.discard()
            case .suspend: transfer.setFlow(.suspended, revision: UInt64(revision))
            }
        }
    }

    @Test(
        "a cancel, and a discard before the head, end a transfer as cancelled, whatever else is called",
        arguments: ConformanceSubjects.all)
    func cancels(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .silent) { stage in
            let words = Act.allCases.flatMap { first in
                Act.allCases.flatMap { second in Act.allCases.map { [first, second, $0] } }
            }
            for word in words where word.contains(.cancel) || word.contains(.discard) {
                let transfer = try stage.transfer(of: .silent)
                for (index, act) in word.enumerated() { act.perform(on: transfer, index + 1) }
                let end = try await transfer.end()
                #expect(end.isCancelled && transfer.recorder.calls.events == [.end], "\(word)")
            }
            try await stage.otherWork()
        }
    }

    @Test("a cancel between head and end ends a transfer as cancelled", arguments: ConformanceSubjects.all)
    func cancelAfterHead(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .headOnly, .stalled, .large) { stage in
            for scenario in [Scenario.headOnly, .stalled, .large] {
                let transfer = try stage.transfer(
                    of: scenario, afterHead: { _, _ in Flow(.receivingPaused, revision: 1) })
                transfer.start()
                try await transfer.head()
                transfer.cancel()
                #expect(try await transfer.end().isCancelled, "\(scenario)")
            }
            try await stage.otherWork()
        }
    }

    @Test("nothing that is called after the end has an effect", arguments: ConformanceSubjects.all)
    func afterEnd(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let transfer = try stage.transfer(of: .small)
            transfer.start()
            try await transfer.end()
            transfer.cancel()
            transfer.discard()
            transfer.setFlow(.suspended, revision: 9)
            transfer.start()
            try await stage.otherWork()
            #expect(transfer.record.end?.failure == nil)
        }
    }

    @Test("after a cancel from inside a call, nothing but the end comes", arguments: ConformanceSubjects.all)
    func cancelInside(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let atHead = try stage.transfer(
                of: .large,
                afterHead: { transfer, _ in
                    transfer.cancel()
                    return .undecided
                })
            atHead.start()
            #expect(try await atHead.end().isCancelled)
            #expect(atHead.recorder.calls.events == [.head, .end])
            let atContent = try stage.transfer(
                of: .large,
                afterContent: { transfer, _ in
                    transfer.cancel()
                    return .undecided
                })
            atContent.start()
            #expect(try await atContent.end().isCancelled)
            #expect(atContent.recorder.calls.events.count == 3)
        }
    }

    @Test("a control that is dropped before it is started tells nothing", arguments: ConformanceSubjects.all)
    func dropped(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            func drop() throws -> EventLog<TransferRecorder.Call> {
                let transfer = try stage.transfer(of: .small)
                transfer.setFlow(.suspended, revision: 1)
                stage.forgetTransfers()
                return transfer.recorder.calls
            }
            let calls = try drop()
            try await stage.recorderReleases.next(1)
            #expect(calls.events.isEmpty)
        }
    }

    @Test("a transport lets go of a consumer that has been told of the end", arguments: ConformanceSubjects.all)
    func released(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            func play() async throws {
                let whole = try stage.transfer(of: .small)
                whole.start()
                try await whole.end()
                let cancelled = try stage.transfer(of: .large, afterHead: { _, _ in Flow(.suspended, revision: 1) })
                cancelled.start()
                try await cancelled.head()
                cancelled.cancel()
                try await cancelled.end()
                stage.forgetTransfers()
            }
            try await play()
            try await stage.recorderReleases.next(2)
        }
    }

    @Test("calls from many threads at once make one end", arguments: ConformanceSubjects.all)
    func crowd(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            for _ in 0..<20 {
                let transfer = try stage.transfer(of: .medium)
                await withTaskGroup { group in
                    for act in Act.allCases + Act.allCases {
                        group.addTask { act.perform(on: transfer, .random(in: 1...9)) }
                    }
                }
                try await transfer.end()
            }
            try await stage.otherWork()
        }
    }

    @Test("a message that asks for it is told when no more content is at hand", arguments: ConformanceSubjects.all)
    func readCompletes(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .stalled) { stage in
            let transfer = try stage.transfer(of: .stalled) { $0.wantsReadComplete = true }
            transfer.start()
            try await transfer.content()
            let readComplete = try await transfer.recorder.calls.first { $0 == .readComplete || $0 == .end }
            #expect(readComplete == .readComplete)
            transfer.cancel()
        }
    }
}
