import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Expect: 100-continue (RFC 9110 §10.1.1)", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ExpectContinueTests {
    private func upload(_ stage: EngineStage, _ server: ScriptedServer) async throws -> RecordedTransfer {
        try await stage.end(server.url()) { message in
            message.method = "PUT"
            message.body = .data(Data("hello".utf8))
            message.fields = FieldBlock([Field(name: "Expect", value: "100-continue")])
        }
    }

    @Test("the content leaves after a 100")
    func continues() async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .send("HTTP/1.1 100 Continue\r\n\r\n"), .receive(byteCount: 5), .send(Answer.empty),
                .receiveHead, .send("HTTP/1.1 100 Continue\r\n\r\n"), .receive(byteCount: 5), .send(Answer.empty),
                .hold,
            ])
        try await EngineStage.play { stage in
            for isReused in [false, true] {
                let transfer = try await upload(stage, server)
                let end = try #require(transfer.record.end)
                #expect(end.failure == nil && end.requestContent == .whole)
                #expect(end.report.isReusedConnection == isReused)
                #expect(transfer.record.interimHeads.map(\.status) == [100])
            }
        }
    }

    @Test("without a 100 the content leaves after a second")
    func impatient() async throws {
        let server = try ScriptedServer.start([.receiveHead, .receive(byteCount: 5), .send(Answer.empty), .hold])
        try await EngineStage.play { stage in
            let transfer = try await upload(stage, server)
            #expect(transfer.code == nil && transfer.record.end?.requestContent == .whole)
        }
    }

    @Test("after an answer the content does not leave, and the connection is closed")
    func refused() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), .hold])
        var parts = EngineParts()
        parts.continueTime = 3_600_000_000_000
        try await EngineStage.play(parts: parts) { stage in
            let transfer = try await upload(stage, server)
            #expect(transfer.code == nil && transfer.record.head?.status == 403)
            #expect(transfer.record.end?.requestContent == .untouched && transfer.record.sent.isEmpty)
            try await server.events.next(.closedByPeer(0))
        }
    }

    @Test("a 417 sends the message again without the expectation")
    func unmet() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"), .hold],
            [.receiveHead, .receive(byteCount: 5), .send(Answer.empty), .hold])
        try await EngineStage.play { stage in
            let transfer = try await upload(stage, server)
            #expect(transfer.code == nil && transfer.record.head?.status == 200)
            #expect(transfer.record.end?.earlierReports.count == 1)
            let expectations = server.events.events.compactMap { event -> Bool? in
                guard case .head(_, let head) = event else { return nil }
                return head.contains("Expect:")
            }
            #expect(expectations == [true, false])
        }
    }
}
