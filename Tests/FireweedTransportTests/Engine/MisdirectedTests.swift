import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("421 Misdirected Request (RFC 9110 §15.5.20)", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MisdirectedTests {
    private static let wrong = "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 5\r\n\r\nwrong"

    /// Contents, and whether they can be sent twice.
    enum Content: CaseIterable, Sendable {
        case none, data, reader, stream

        var body: BodySource {
            switch self {
            case .none: .none
            case .data: .data(Data("hello".utf8))
            case .reader: .reader { CountingReader(byteCount: 5, announces: true) }
            case .stream: .once(CountingReader(byteCount: 5, announces: true))
            }
        }

        var byteCount: Int { self == .none ? 0 : 5 }
        var isRepeatable: Bool { self != .stream }
    }

    private func change(_ method: String, _ content: Content) -> (inout RequestMessage) -> Void {
        { message in
            message.method = method
            message.body = content.body
        }
    }

    @Test(
        "on a reused connection it sends the message once more on a new one, by any method",
        arguments: ["GET", "POST", "DELETE"], Content.allCases)
    func again(method: String, content: Content) async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .send(Answer.small), .receiveHead, .receive(byteCount: content.byteCount),
                .send(Self.wrong), .hold,
            ], [.receiveHead, .receive(byteCount: content.byteCount), .send(Answer.small), .hold])
        try await EngineStage.play { stage in
            _ = try await stage.end(server.url())
            let transfer = try await stage.end(server.url(), change(method, content))
            try expect(transfer, isRepeated: content.isRepeatable)
            let heads = server.events.events.count { if case .head = $0 { true } else { false } }
            #expect(heads == (content.isRepeatable ? 3 : 2))
        }
    }

    @Test("over HTTP/2 as well", arguments: ["GET", "POST", "DELETE"], Content.allCases)
    func againOverHTTP2(method: String, content: Content) async throws {
        let peer = try SecurePeer(plainHTTP2: "misdirected but for the first, answer")
        try await EngineStage.play({ $0.httpVersion = .http2 }) { stage in
            _ = try await stage.end(peer.url())
            let transfer = try await stage.end(peer.url(), change(method, content))
            try expect(transfer, isRepeated: content.isRepeatable)
            try await peer.waits(for: content.isRepeatable ? 3 : 2, of: "request")
            #expect(peer.count("request 0") == 2)
        }
    }

    private func expect(_ transfer: RecordedTransfer, isRepeated: Bool) throws {
        let end = try #require(transfer.record.end)
        #expect(end.failure == nil && end.report.isReusedConnection == !isRepeated, "\(transfer.failureText)")
        #expect(end.earlierReports.map(\.isReusedConnection) == (isRepeated ? [true] : []))
        #expect(transfer.record.head?.status == (isRepeated ? 200 : 421))
        #expect(transfer.record.content == Data((isRepeated ? "hello" : "wrong").utf8))
    }

    @Test("on a new connection it is the response, and so is the second one")
    func second() async throws {
        let first: [ScriptedServer.Action] = [.receiveHead, .send(Self.wrong), .receiveHead, .send(Self.wrong), .hold]
        let server = try ScriptedServer.start(first, [.receiveHead, .send(Self.wrong), .hold])
        try await EngineStage.play { stage in try await expectResponses(stage, server.url()) }
    }

    @Test("over HTTP/2 too, on a new connection it is the response, and so is the second one")
    func secondOverHTTP2() async throws {
        let peer = try SecurePeer(plainHTTP2: "misdirected, answer")
        try await EngineStage.play({ $0.httpVersion = .http2 }) { stage in
            try await expectResponses(stage, peer.url())
        }
    }

    private func expectResponses(_ stage: EngineStage, _ url: URL) async throws {
        for earlierCount in [0, 1] {
            let transfer = try await stage.end(url) { $0.method = "POST" }
            #expect(transfer.code == nil && transfer.record.head?.status == 421, "\(transfer.failureText)")
            #expect(transfer.record.end?.earlierReports.count == earlierCount)
            #expect(transfer.record.end?.report.isReusedConnection == false)
        }
    }

    @Test("messages on the same connection of HTTP/2 are not disturbed")
    func others() async throws {
        let peer = try SecurePeer(plainHTTP2: "misdirected but for the first, answer")
        try await EngineStage.play({ $0.httpVersion = .http2 }) { stage in
            let transfers = (0..<20).map { _ in stage.transfer(peer.url()) }
            for transfer in transfers { transfer.start() }
            var statuses: [Int] = []
            for transfer in transfers {
                let end = try await transfer.end()
                #expect(end.failure == nil)
                statuses.append(transfer.record.head?.status ?? 0)
            }
            // Those that share the second connection are misdirected again.
            #expect(Set(statuses).isSubset(of: [200, 421]) && statuses.filter { $0 == 200 }.count >= 2)
        }
    }
}
