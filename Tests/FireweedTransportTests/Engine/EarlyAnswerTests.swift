import Dispatch
import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Servers that answer before they are asked, and close", .timeLimit(.minutes(TestTimeouts.minutes)))
struct EarlyAnswerTests {
    private static let busy = "HTTP/1.1 503 Busy\r\n\r\nlater"

    /// Plays with a server that answers each connection at once; the loop sees the connection, the answer and the end
    /// in one event.
    private func play(
        _ answer: String, _ body: (EngineStage, ScriptedServer) async throws -> Void
    ) async throws {
        let held = HeldLoop()
        let server = try ScriptedServer.start(
            [.send(answer), .shutdownWrite, .perform { held.release() }, .hold])
        try await EngineStage.play({
            $0.eventLoops = 1
            $0.wireObserver = held
        }) { stage in
            try await body(stage, server)
        }
    }

    @Test("what is no response fails the request")
    func garbage() async throws {
        try await play("garbage\r\n") { stage, server in
            let transfer = try await stage.end(server.url())
            #expect(transfer.code == .badServerResponse)
        }
    }

    @Test("a response up to the end of the connection is whole")
    func response() async throws {
        try await play(Self.busy) { stage, server in
            let transfer = try await stage.end(server.url())
            #expect(transfer.code == nil, "\(transfer.failureText)")
            #expect(transfer.record.head?.status == 503)
            #expect(transfer.record.content == Data("later".utf8))
        }
    }

    @Test("a WebSocket is refused with the response's status")
    func webSocket() async throws {
        try await play(Self.busy) { stage, server in
            let transfer = try await stage.end(server.url()) {
                $0.webSocket = WebSocketOffer(listener: UnusedListener())
            }
            #expect(transfer.failureText.contains("503"), "\(transfer.failureText)")
        }
    }

    /// Lets a loop wait between the call of connect(2) and the look at the socket, until the server has answered.
    private final class HeldLoop: WireObserver {
        private let answered = DispatchSemaphore(value: 0)

        func release() { answered.signal() }

        func didSend(head: [UInt8]) {}

        func didReceive(headLines: [UInt8]) {}

        func didNote(_ text: String) {
            guard text.hasPrefix("Trying") else { return }
            EventLoopGroup.loops(1).first?.post { [answered] _ in
                _ = answered.wait(timeout: .now() + .seconds(TestTimeouts.seconds))
            }
        }
    }

    private final class UnusedListener: WebSocketListener {
        func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?) {}
        func webSocketDidReceive(_ message: WebSocketMessage) -> Flow { .undecided }
        func webSocketDidClose(code: UInt16, reason: Data) {}
    }
}
