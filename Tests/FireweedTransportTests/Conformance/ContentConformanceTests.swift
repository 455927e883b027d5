import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports: heads and contents", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ContentConformanceTests {
    @Test(
        "content is offered once and whole", arguments: ConformanceSubjects.all,
        [
            (Scenario.small, ScenarioContent.small), (.medium, ScenarioContent.medium), (.large, ScenarioContent.large),
            (.slow, ScenarioContent.slow),
        ])
    func whole(subject: any ConformanceSubject, row: (scenario: Scenario, content: Data)) async throws {
        try await ConformanceStage.play(subject, row.scenario) { stage in
            let transfer = try stage.transfer(of: row.scenario)
            transfer.start()
            #expect(try await transfer.end().failure == nil)
            #expect(transfer.record.content == row.content)
        }
    }

    @Test("many transfers at once keep their contents apart", arguments: ConformanceSubjects.all)
    func many(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let transfers = try (0..<40).map { try stage.transfer(of: $0 % 2 == 0 ? .medium : .small) }
            for transfer in transfers { transfer.start() }
            for (index, transfer) in transfers.enumerated() {
                #expect(try await transfer.end().failure == nil)
                let expected = index % 2 == 0 ? ScenarioContent.medium : ScenarioContent.small
                #expect(transfer.record.content == expected)
            }
        }
    }

    @Test("204, and an answer to HEAD, have no content (RFC 9110 §6.4.1)", arguments: ConformanceSubjects.all)
    func without(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .noContent) { stage in
            for (scenario, method, status) in [(Scenario.noContent, "GET", 204), (.small, "HEAD", 200)] {
                let transfer = try stage.transfer(of: scenario) { $0.method = method }
                transfer.start()
                #expect(try await transfer.end().failure == nil)
                #expect(transfer.recorder.calls.events == [.head, .end])
                #expect(transfer.record.head?.status == status)
            }
        }
    }

    @Test("a challenge and a redirect are heads like any other", arguments: ConformanceSubjects.all)
    func heads(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .unauthorized, .redirect) { stage in
            let challenge = try stage.transfer(of: .unauthorized)
            challenge.start()
            #expect(try await challenge.end().failure == nil)
            #expect(challenge.record.head?.status == 401 && challenge.record.challenges.isEmpty)
            #expect(challenge.record.head?.value(of: "WWW-Authenticate")?.hasPrefix("Basic") == true)
            let redirect = try stage.transfer(of: .redirect)
            redirect.start()
            #expect(try await redirect.end().failure == nil)
            #expect(redirect.record.head?.status == 302 && redirect.record.content == ScenarioContent.small)
            #expect(redirect.record.head?.value(of: "Location")?.hasSuffix("/get") == true)
        }
    }

    @Test(
        "a transport with a wire answers a challenge with the message's credentials", arguments: ConformanceSubjects.all
    )
    func credentials(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .unauthorized) { stage in
            let transfer = try stage.transfer(of: .unauthorized) { message in
                message.credentials = .init(user: "user", password: "secret", schemes: [.basic, .digest])
            }
            transfer.start()
            #expect(try await transfer.end().failure == nil)
            let isAble = subject.answersChallenges
            #expect(transfer.record.challenges.map(\.status) == (isAble ? [401] : []))
            #expect(transfer.record.head?.status == (isAble ? 200 : 401))
        }
    }

    @Test("a content coding is taken off, and the head stays as it came", arguments: ConformanceSubjects.all)
    func coding(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .gzip) { stage in
            let transfer = try stage.transfer(of: .gzip)
            transfer.start()
            let end = try await transfer.end()
            #expect(end.failure == nil && transfer.record.content == ScenarioContent.medium)
            let head = try #require(transfer.record.head)
            #expect(head.value(of: "Content-Encoding") == "gzip")
            let coded = Int64(CodingEndpoints.gzip(ScenarioContent.medium)?.count ?? 0)
            #expect(head.contentLength == coded && end.report.responseBodyByteCount == coded)
            #expect(end.report.responseDecodedByteCount == ScenarioContent.medium.count)
        }
    }

    @Test("trailers come with the end (RFC 9110 §6.5)", arguments: ConformanceSubjects.all)
    func trailers(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .trailers) { stage in
            let transfer = try stage.transfer(of: .trailers)
            transfer.start()
            let end = try await transfer.end()
            #expect(end.failure == nil && transfer.record.content == ScenarioContent.small)
            let trailers = try #require(end.trailers)
            #expect(trailers.fields.map { "\($0.name.lowercased()): \($0.value)" } == ["checksum: 42"])
            #expect(transfer.record.head?.contains("Checksum") == false)
            let without = try stage.transfer(of: .small)
            without.start()
            #expect(try await without.end().trailers == nil)
        }
    }

    @Test("the transport frames the message", arguments: ConformanceSubjects.all)
    func framing(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .fields) { stage in
            func send(length: String) async throws -> (failure: TransferFailure?, content: Data) {
                let transfer = try stage.transfer(of: .fields) { message in
                    message.method = "POST"
                    message.body = .data(ScenarioContent.small)
                    message.fields = FieldBlock([
                        Field(name: "Content-Length", value: length), Field(name: "X-Own", value: "kept"),
                    ])
                }
                transfer.start()
                return (try await transfer.end().failure, transfer.record.content)
            }
            // A length that is wrong is corrected, or refused with its name; it never goes out.
            let wrong = try await send(length: "99")
            if let failure = wrong.failure {
                #expect("\(failure)".contains("Content-Length"))
            } else {
                #expect(String(decoding: wrong.content, as: UTF8.self).contains("content-length: 5"))
            }
            let sent = try await send(length: "5")
            #expect(sent.failure == nil)
            let lines = String(decoding: sent.content, as: UTF8.self).split(separator: "\n")
            #expect(lines.filter { $0.hasPrefix("content-length:") } == ["content-length: 5"])
            #expect(lines.count { $0.hasPrefix("host:") } == 1 && lines.contains("x-own: kept"))
        }
    }

    @Test("a report says when the transfer began, and what came", arguments: ConformanceSubjects.all)
    func report(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .silent, .refused) { stage in
            let before = Int64(Date().timeIntervalSince1970 * 1e9)
            let transfer = try stage.transfer(of: .medium)
            transfer.start()
            let report = try await transfer.end().report
            #expect(report.responseDecodedByteCount == ScenarioContent.medium.count)
            #expect(report.responseStart > 0 && report.total >= report.responseStart)
            let silent = try stage.transfer(of: .silent)
            silent.start()
            try await stage.otherWork()
            silent.cancel()
            let never = try stage.transfer(of: .silent)
            never.cancel()
            let refused = try stage.transfer(of: .refused)
            refused.start()
            for transfer in [transfer, silent, never, refused] {
                let report = try await transfer.end().report
                // Clocks may be coarse, and may be set; none of that is a minute.
                #expect(abs(report.startNanoseconds - before) < Int64(TestTimeouts.seconds) * 1_000_000_000)
                #expect(report.total >= 0 && (transfer === never || report.total > 0))
            }
        }
    }
}
