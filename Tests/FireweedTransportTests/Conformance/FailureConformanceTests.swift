import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports: failures, and what became of the request's content", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FailureConformanceTests {
    @Test(
        "a connection that fails is the end's failure", arguments: ConformanceSubjects.all,
        [(Scenario.refused, URLError.Code.cannotConnectToHost), (.cutHead, .networkConnectionLost)])
    func withoutHead(subject: any ConformanceSubject, row: (scenario: Scenario, code: URLError.Code)) async throws {
        try await ConformanceStage.play(subject, row.scenario) { stage in
            let transfer = try stage.transfer(of: row.scenario)
            transfer.start()
            #expect(try await transfer.end().code == row.code)
            #expect(transfer.recorder.calls.events == [.end])
        }
    }

    @Test("content that breaks off is told as far as it came", arguments: ConformanceSubjects.all)
    func cut(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .cut) { stage in
            let transfer = try stage.transfer(of: .cut)
            transfer.start()
            #expect(try await transfer.end().code == .networkConnectionLost)
            #expect(transfer.record.head?.status == 200 && transfer.record.content == ScenarioContent.small)
        }
    }

    @Test("a message goes out again only by a method that may (RFC 9110 §9.2.2)", arguments: ConformanceSubjects.all)
    func again(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .closesOnReuse) { stage in
            for (method, isRepeated) in [("GET", true), ("POST", false), ("PUT", true)] {
                let first = try stage.transfer(of: .closesOnReuse)
                first.start()
                #expect(try await first.end().failure == nil)
                let second = try stage.transfer(of: .closesOnReuse) { message in
                    message.method = method
                }
                second.start()
                let end = try await second.end()
                #expect((end.failure == nil) == isRepeated, "\(method)")
                #expect(isRepeated || end.code == .networkConnectionLost)
            }
        }
    }

    /// Contents of requests, by what they are.
    enum Content: CaseIterable, Sendable {
        case none, empty, small, large, announced, unannounced

        var body: BodySource {
            switch self {
            case .none: .none
            case .empty: .data(Data())
            case .small: .data(ScenarioContent.small)
            case .large: .data(ScenarioContent.large)
            case .announced: .reader { CountingReader(byteCount: 300_000, announces: true) }
            case .unannounced: .reader { CountingReader(byteCount: 300_000, announces: false) }
            }
        }

        var byteCount: Int {
            switch self {
            case .none, .empty: 0
            case .small: ScenarioContent.small.count
            case .large: ScenarioContent.large.count
            case .announced, .unannounced: 300_000
            }
        }
    }

    @Test("content is sent whole, and counted", arguments: ConformanceSubjects.all, Content.allCases)
    func sent(subject: any ConformanceSubject, content: Content) async throws {
        try await ConformanceStage.play(subject, .upload) { stage in
            let transfer = try stage.transfer(of: .upload) { message in
                message.method = "PUT"
                message.body = content.body
            }
            transfer.start()
            let end = try await transfer.end()
            #expect(end.failure == nil && end.requestContent == (content.byteCount == 0 ? .untouched : .whole))
            #expect(String(decoding: transfer.record.content, as: UTF8.self) == "\(content.byteCount)")
            let sent = transfer.record.sent
            #expect(sent.reduce(0) { $0 + $1.byteCount } == content.byteCount)
            #expect(sent.last?.total ?? 0 == content.byteCount)
            let expected = content == .unannounced ? nil : Int64(content.byteCount)
            #expect(sent.allSatisfy { $0.expected == expected })
        }
    }

    @Test("content that goes out again comes from a new reader", arguments: ConformanceSubjects.all)
    func newReader(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .closesOnReuse) { stage in
            let first = try stage.transfer(of: .closesOnReuse)
            first.start()
            try await first.end()
            let readers = EventLog<String>()
            let second = try stage.transfer(of: .closesOnReuse) { message in
                message.method = "PUT"
                message.body = .reader {
                    readers.note("made")
                    return SmallReader()
                }
            }
            second.start()
            let end = try await second.end()
            #expect(end.failure == nil && end.requestContent == .whole)
            #expect(readers.events.count == 2)
        }
    }

    @Test("content that no connection took is untouched", arguments: ConformanceSubjects.all)
    func untouched(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .refused) { stage in
            for content in Content.allCases {
                let transfer = try stage.transfer(of: .refused) { message in
                    message.method = "PUT"
                    message.body = content.body
                }
                transfer.start()
                #expect(try await transfer.end().requestContent == .untouched, "\(content)")
                #expect(transfer.record.sent.isEmpty)
            }
        }
    }

    @Test("content that was sent without an answer is not untouched", arguments: ConformanceSubjects.all)
    func unanswered(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .cutAnswer) { stage in
            for body in [BodySource.data(ScenarioContent.small), .reader { SmallReader() }] {
                let transfer = try stage.transfer(of: .cutAnswer) { message in
                    message.method = "POST"
                    message.body = body
                }
                transfer.start()
                let end = try await transfer.end()
                #expect(end.code == .networkConnectionLost && end.requestContent == .whole)
            }
        }
    }

    @Test("content that was cut short is begun", arguments: ConformanceSubjects.all)
    func begun(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .upload) { stage in
            let transfer = try stage.transfer(of: .upload) { message in
                message.method = "PUT"
                message.body = .reader { StuckReader() }
            }
            transfer.start()
            try await transfer.recorder.calls.next(.sent)
            transfer.cancel()
            let end = try await transfer.end()
            #expect(end.isCancelled && end.requestContent == .begun)
        }
    }

    @Test("an answer that comes before the content is sent is an answer", arguments: ConformanceSubjects.all)
    func early(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .earlyAnswer) { stage in
            // The content is larger than the buffers, or never continues.
            for reader in [CountingReader(byteCount: 1 << 30, announces: true), StuckReader()] as [any BodyReader] {
                let transfer = try stage.transfer(of: .earlyAnswer) { message in
                    message.method = "POST"
                    message.body = .reader { reader }
                }
                transfer.start()
                let end = try await transfer.end()
                #expect(end.failure == nil && end.requestContent != .whole)
                #expect(transfer.record.content == ScenarioContent.small)
            }
        }
    }

    @Test("content that is longer than announced is the end's failure", arguments: ConformanceSubjects.all)
    func tooLong(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .upload) { stage in
            let transfer = try stage.transfer(of: .upload) { message in
                message.method = "PUT"
                message.body = .reader { CountingReader(byteCount: 300_000, announces: true, missing: 1) }
            }
            transfer.start()
            let end = try await transfer.end()
            guard case .unreadableBody(let error) = end.failure else {
                Issue.record("\(String(describing: end.failure))")
                return
            }
            #expect((error as? BodyLengthError)?.missingByteCount == 0 && end.requestContent == .begun)
        }
    }

    @Test("content that cannot be read is the end's failure", arguments: ConformanceSubjects.all)
    func unreadable(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .upload) { stage in
            let transfer = try stage.transfer(of: .upload) { message in
                message.method = "PUT"
                message.body = .reader { throw CocoaError(.fileReadNoSuchFile) }
            }
            transfer.start()
            let end = try await transfer.end()
            guard case .unreadableBody = end.failure else {
                Issue.record("\(String(describing: end.failure))")
                return
            }
            #expect(end.requestContent == .untouched)
        }
    }
}
