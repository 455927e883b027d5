import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Transfer-Encoding of the caller", .timeLimit(.minutes(TestTimeouts.minutes)))
struct OwnChunkingTests {
    @Test("content in memory is sent in chunks, and nothing of it is another message", arguments: [0, 5, 300_000])
    func chunked(byteCount: Int) async throws {
        let server = try FixtureServer.start()
        // Sent as it is, it would be the end of the content, and a request of its own.
        let content = Data("0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n".utf8) + Data(count: byteCount)
        try await EngineStage.play { stage in
            for _ in 0..<2 {
                let transfer = try await stage.end(server.url("/anything")) {
                    $0.method = "POST"
                    $0.fields = FieldBlock([Field(name: "Transfer-Encoding", value: "chunked")])
                    $0.body = .data(content)
                }
                #expect(transfer.code == nil && transfer.record.head?.status == 200, "\(transfer.failureText)")
                #expect(transfer.record.end?.report.requestBodyByteCount == Int64(content.count))
            }
        }
        #expect(server.requests.map(\.path) == ["/anything", "/anything"])
        #expect(server.requests.allSatisfy { $0.body == content && $0.field("Content-Length") == nil })
    }
}
