import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("408 at the end of the idle time (RFC 9110 §15.5.9)", .timeLimit(.minutes(TestTimeouts.minutes)))
struct UnaskedTimeoutTests {
    /// What a server sends before it closes an idle connection, and how it is answered.
    private static let closing = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    @Test(
        "on a reused connection it is a close without a word: idempotent messages go out on another one",
        arguments: [
            ("GET", closing, true), ("HEAD", closing, true), ("PUT", closing, true), ("POST", closing, false),
            ("DELETE", closing, false),
            ("GET", "HTTP/1.0 408 Request Time-out\r\nContent-Type: text/html\r\n\r\n", true),
            // The connection stays: the server means the message.
            ("GET", "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", false),
            ("GET", closing.replacing("408", with: "503"), false),
        ])
    func reused(method: String, answer: String, isRepeated: Bool) async throws {
        let content = method == "PUT" ? 5 : 0
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Answer.small), .receiveHead, .receive(byteCount: content), .send(answer), .close],
            [.receiveHead, .receive(byteCount: content), .send(Answer.small), .hold])
        try await EngineStage.play { stage in
            _ = try await stage.end(server.url())
            let transfer = try await stage.end(server.url()) { message in
                message.method = method
                if content > 0 { message.body = .data(Data("hello".utf8)) }
            }
            let end = try #require(transfer.record.end)
            #expect(end.failure == nil && end.earlierReports.count == (isRepeated ? 1 : 0), "\(transfer.failureText)")
            #expect((transfer.record.head?.status == 200) == isRepeated)
        }
    }

    @Test("on a new connection it is the response, and so is the second one")
    func second() async throws {
        let first: [ScriptedServer.Action] = [.receiveHead, .send(Self.closing), .close]
        let server = try ScriptedServer.start(
            first, [.receiveHead, .send(Answer.small), .receiveHead, .send(Self.closing), .close], first)
        try await EngineStage.play { stage in
            var statuses: [Int?] = []
            for _ in 0..<3 { statuses.append(try await stage.end(server.url()).record.head?.status) }
            #expect(statuses == [408, 200, 408])
        }
    }
}
