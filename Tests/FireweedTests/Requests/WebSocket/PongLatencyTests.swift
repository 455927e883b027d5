import FireweedTesting
import FixtureServer
import Foundation
import Testing

@Suite("Latencies of pongs", .timeLimit(.minutes(TestTimeouts.minutes)))
struct PongLatencyTests {
    @Test("a latency is that of the monotonic clock, whoever sets the date meanwhile")
    func latency() async throws {
        let session = Session.stubbed(clock: SteppingClock()) {
            Stub.webSocket("/chat") { socket in
                for try await _ in socket.messages {}
            }
        }
        let task = session.webSocketRequest(to: "https://service.example/chat").webSocketTask()
        var pong: WebSocketRequest.PingResponse.Pong?
        for await event in task.streamingMessageEvents() {
            guard case .connected = event.kind else { continue }
            if case .pong(let found) = await task.sendPing() { pong = found }
            event.close(sending: .normalClosure)
        }
        let found = try #require(pong)
        #expect(found.latency >= 1 && abs(found.end.timeIntervalSince(found.start) - found.latency) < 0.001)
    }
}
