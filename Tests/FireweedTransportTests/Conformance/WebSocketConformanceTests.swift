import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports: WebSockets", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WebSocketConformanceTests {
    /// Closes a WebSocket as soon as it is open.
    private final class Listener: WebSocketListener {
        let events = EventLog<String>()

        func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?) {
            events.note("open")
            channel.close(code: 1000, reason: Data())
        }

        func webSocketDidReceive(_ message: WebSocketMessage) -> Flow { .undecided }

        func webSocketDidClose(code: UInt16, reason: Data) { events.note("closed \(code)") }
    }

    @Test(
        "an offer opens a WebSocket with the ability, and fails clearly without it", arguments: ConformanceSubjects.all)
    func offer(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .webSocket) { stage in
            let listener = Listener()
            let transfer = try stage.transfer(of: .webSocket) { message in
                message.webSocket = WebSocketOffer(listener: listener)
            }
            transfer.start()
            let end = try await transfer.end()
            if stage.transport.abilities.contains(.webSockets) {
                #expect(end.failure == nil && transfer.record.head?.status == 101)
                #expect(listener.events.events == ["open", "closed 1000"])
            } else {
                #expect(end.code == .unsupportedURL && transfer.record.head == nil)
                #expect(listener.events.events.isEmpty)
            }
        }
    }

    @Test("an offer is cancelled like any other message", arguments: ConformanceSubjects.all)
    func cancel(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .webSocket, .silent) { stage in
            guard stage.transport.abilities.contains(.webSockets) else { return }
            for isStarted in [true, false] {
                let transfer = try stage.transfer(of: .silent) { $0.webSocket = WebSocketOffer(listener: Listener()) }
                if isStarted { transfer.start() }
                transfer.cancel()
                transfer.cancel()
                if !isStarted { transfer.start() }
                #expect(try await transfer.end().isCancelled)
            }
            try await stage.otherWork()
        }
    }
}
