import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Content codings on the engine", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CodingTests {
    private static let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })

    private func server(coding: String, _ body: Data, rest: [ScriptedServer.Step] = [.hold]) throws -> ScriptedServer {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
        return try ScriptedServer.start([.receiveHead, .send(head), .sendData(body)] + rest)
    }

    @Test(
        "a consumer that pauses at every piece gets the content whole",
        arguments: [Flow.Level.receivingPaused, .suspended])
    func paused(level: Flow.Level) async throws {
        let coded = try #require(CodingEndpoints.gzip(Self.content))
        let server = try server(
            coding: "gzip", coded, rest: [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .hold])
        try await EngineStage.play { stage in
            let transfer = stage.transfer(
                server.url(), afterContent: { _, record in Flow(level, revision: UInt64(record.content.count) * 2) })
            transfer.start()
            // Counted when it is let run: the next piece may be there at once.
            var count = 0
            while count < Self.content.count {
                _ = try await transfer.recorder.calls.first { [count] call in
                    if case .content(let sum) = call { sum > count } else { false }
                }
                count = transfer.record.content.count
                let pieces = transfer.recorder.calls.events.count { if case .content = $0 { true } else { false } }
                #expect(pieces == transfer.recorder.calls.events.count - 1)
                transfer.setFlow(.running, revision: UInt64(count) * 2 + 1)
            }
            #expect(try await transfer.end().failure == nil)
            #expect(transfer.record.content == Self.content)
            let next = try await stage.end(server.url())
            #expect(next.record.end?.report.isReusedConnection == true)
        }
    }

    @Test("a coding that ends in the middle is an error, and one that is not known reaches the user as it came")
    func faults() async throws {
        let coded = try #require(CodingEndpoints.gzip(Self.content))
        let cut = try server(coding: "gzip", coded.dropLast(20))
        let unknown = try server(coding: "exi", Data("<x/>".utf8))
        try await EngineStage.play { stage in
            let first = try await stage.end(cut.url())
            #expect(first.code == .cannotDecodeContentData)
            let second = try await stage.end(unknown.url())
            #expect(second.code == nil && second.record.content == Data("<x/>".utf8))
        }
    }

    @Test("the limits on content hold for what comes out of a coding")
    func limits() async throws {
        let server = try server(coding: "gzip", try #require(CodingEndpoints.gzip(Self.content)))
        try await EngineStage.play({ $0.maximumBodyByteCount = 100_000 }) { stage in
            let transfer = try await stage.end(server.url())
            #expect(transfer.code == .dataLengthExceedsMaximum && transfer.record.content.count <= 100_000)
        }
    }
}
