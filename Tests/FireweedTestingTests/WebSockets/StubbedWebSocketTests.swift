import FireweedTesting
import Foundation
import Testing

@Suite("Stubbed WebSockets", .timeLimit(.minutes(patience)))
struct StubbedWebSocketTests {
    @Test("a script talks to the client")
    func conversation() async throws {
        let session = Session.stubbed {
            Stub.webSocket("wss://chat.example.com/room/{name}", subprotocol: "v1") { socket in
                socket.send("welcome to \(socket.request.parameters["name"] ?? "")")
                let message = try await socket.receive()
                socket.send(message)
                socket.close(4001, reason: "enough")
            }
        }
        let request = session.webSocketRequest(to: "wss://chat.example.com/room/tea")
        var texts: [String] = []
        let task = request.webSocketTask()
        for await message in task.streamingMessages() {
            guard case .string(let text) = message else { continue }
            texts.append(text)
            if texts.count == 1 { try await task.send(.string("hello")) }
        }
        #expect(texts == ["welcome to tea", "hello"])
        try session.stubs.expectAllCalled()
    }
}
