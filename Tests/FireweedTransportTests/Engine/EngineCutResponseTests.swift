import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Responses that are cut, on the engine", .timeLimit(.minutes(TestTimeouts.minutes)))
struct EngineCutResponseTests {
    private static let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Field: value\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nChecksum: 42\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello",
    ]

    @Test("a response that is cut at any byte is a lost connection, never a success", arguments: responses)
    func cut(response: String) async throws {
        let bytes = Array(response.utf8)
        let server = try ScriptedServer.start(
            scripts: bytes.indices.map { [.receiveHead, .sendData(Data(bytes[..<$0])), .close] })
        try await EngineStage.play { stage in
            for count in bytes.indices {
                let transfer = try await stage.end(server.url())
                #expect(transfer.code == .networkConnectionLost, "\(count) bytes")
                #expect(Data("hello".utf8).starts(with: transfer.record.content), "\(count) bytes")
                #expect(transfer.record.end?.earlierReports.isEmpty == true)
            }
        }
    }

    @Test("a response that comes byte by byte is the same response", arguments: responses)
    func trickle(response: String) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead] + response.utf8.map { .sendData(Data([$0])) } + [.receiveHead, .send(response), .hold])
        try await EngineStage.play { stage in
            for _ in 0..<2 {
                let transfer = try await stage.end(server.url())
                #expect(transfer.code == nil && transfer.record.content == Data("hello".utf8))
                let report = try #require(transfer.record.end?.report)
                #expect(report.responseBodyByteCount == 5 && report.responseDecodedByteCount == 5)
                let chunks = "3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n"
                let contentCount = response.contains(chunks) ? chunks.utf8.count : 5
                #expect(report.responseHeaderByteCount == response.utf8.count - contentCount)
            }
        }
    }

    @Test("content without a length ends with the connection (RFC 9112 §6.3)")
    func untilClose() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send("HTTP/1.1 200 OK\r\n\r\nhello"), .close])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url())
            #expect(transfer.code == nil && transfer.record.content == Data("hello".utf8))
        }
    }

    @Test("a response that is suspended at its last byte ends when it runs again")
    func suspendedAtEnd() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play { stage in
            let transfer = stage.transfer(server.url(), afterContent: { _, _ in Flow(.suspended, revision: 1) })
            transfer.start()
            try await transfer.content()
            transfer.setFlow(.running, revision: 2)
            #expect(try await transfer.end().failure == nil)
        }
    }

    /// What came instead of a response, and the failure.
    private static let faults: [(bytes: String, code: URLError.Code)] = [
        ("SSH-2.0-OpenSSH_9.2\r\n", .badServerResponse), ("HTTP/1.1 20 OK\r\n\r\n", .badServerResponse),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", .badServerResponse),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", .badServerResponse),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", .badServerResponse),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", .cannotParseResponse),
    ]

    @Test("what is not a response fails, and its connection is closed", arguments: faults)
    func faulty(row: (bytes: String, code: URLError.Code)) async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(row.bytes), .hold])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url())
            #expect(transfer.code == row.code)
            try await server.events.next(.closedByPeer(0))
        }
    }
}
