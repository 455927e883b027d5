import Dispatch
import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

// Each piece of content that a consumer is told of costs much more than its bytes: a server that sends content byte by
// byte could keep a loop, which all sessions share, busy with little.
@Suite("Content in pieces of one byte", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SmallPiecesTests {
    private static let content = Data((0..<65536).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    /// A server that sends the content in chunks, or in DATA frames, of one byte.
    private static func serve(http2: Bool) throws -> (url: URL, server: AnyObject) {
        if http2 {
            let peer = try SecurePeer(plainHTTP2: "one byte a frame, answer")
            return (peer.url(), peer)
        }
        var message = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        for byte in content { message += Data("1\r\n".utf8) + [byte] + Data("\r\n".utf8) }
        message += Data("0\r\n\r\n".utf8)
        let server = try ScriptedServer.start([.receiveHead, .sendData(message), .hold])
        return (server.url(), server)
    }

    private static func pieceCount(_ transfer: RecordedTransfer) -> Int {
        transfer.recorder.calls.events.count { if case .content = $0 { true } else { false } }
    }

    private static func play(http2: Bool, _ body: (EngineStage) async throws -> Void) async throws {
        try await EngineStage.play({ if http2 { $0.httpVersion = .http2 } }, body)
    }

    @Test("is told in few pieces", arguments: [false, true])
    func joined(http2: Bool) async throws {
        let (url, server) = try Self.serve(http2: http2)
        try await Self.play(http2: http2) { stage in
            let transfer = try await stage.end(url)
            #expect(transfer.code == nil && transfer.record.content == Self.content, "\(transfer.failureText)")
            #expect(Self.pieceCount(transfer) < Self.content.count / 16)
            #expect(transfer.record.end?.report.responseBodyByteCount == 65536)
        }
        withExtendedLifetime(server) {}
    }

    @Test("comes whole and in few pieces to a consumer that pauses after each piece", arguments: [false, true])
    func paused(http2: Bool) async throws {
        let (url, server) = try Self.serve(http2: http2)
        try await Self.play(http2: http2) { stage in
            let transfer = stage.transfer(
                url,
                afterContent: { transfer, record in
                    let revision = 2 * UInt64(record.content.count)
                    DispatchQueue.global().async { transfer.setFlow(.running, revision: revision + 1) }
                    return Flow(.receivingPaused, revision: revision)
                })
            transfer.start()
            let end = try await transfer.end()
            #expect(end.failure == nil)
            #expect(transfer.record.content == Self.content)
            #expect(Self.pieceCount(transfer) < Self.content.count / 16)
        }
        withExtendedLifetime(server) {}
    }

    @Test("comes whole on several streams, and on a connection that the peer closes behind it")
    func streams() async throws {
        for act in ["one byte a frame, answer", "one byte a frame, close"] {
            let peer = try SecurePeer(plainHTTP2: act)
            try await Self.play(http2: true) { stage in
                let transfers = (0..<(act.hasSuffix("close") ? 1 : 5)).map { _ in stage.transfer(peer.url()) }
                for transfer in transfers { transfer.start() }
                for transfer in transfers {
                    let end = try await transfer.end()
                    #expect(end.failure == nil)
                    #expect(transfer.record.content == Self.content)
                    #expect(Self.pieceCount(transfer) < Self.content.count / 16)
                }
            }
        }
    }
}
