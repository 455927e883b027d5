import FireweedTesting
import Foundation
import Testing

@Suite("Stubbed WebSockets", .timeLimit(.minutes(testTimeoutMinutes)))
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

    /// A session whose WebSocket a script plays, without a wire or with one, and the WebSocket's URL.
    private func session(
        onWire: Bool, http2: Bool = false, _ script: @escaping @Sendable (MockWebSocket) async throws -> Void
    ) throws -> (Session, URL, MockServer?) {
        guard onWire else {
            let url = try #require(URL(string: "\(api)/chat"))
            return (Session.stubbed { Stub.webSocket("/chat", script: script) }, url, nil)
        }
        let server = try MockServer.start(certificate: .trusted, http2: http2) {
            Stub.webSocket("/chat", script: script)
        }
        return (server.session(), server.url("/chat"), server)
    }

    @Test(
        "a message that is longer than the client accepts ends the request, and the script hears 1009", .serialized,
        arguments: [false, true])
    func tooLong(onWire: Bool) async throws {
        let (codes, continuation) = AsyncStream<WebSocketCloseCode?>.makeStream()
        let (session, url, server) = try session(onWire: onWire) { socket in
            socket.send(Data(count: 1000))
            socket.send(Data(count: 1001))
            do {
                _ = try await socket.receive()
            } catch let closed as MockWebSocketClosed {
                continuation.yield(closed.code)
            }
        }
        let request = session.webSocketRequest(to: url, configuration: .maximumMessageSize(1000))
        var sizes: [Int] = []
        var error: AFError?
        for await event in request.webSocketTask().streamingMessageEvents() {
            switch event.kind {
            case .receivedMessage(.data(let data)): sizes.append(data.count)
            case .completed(let completion): error = completion.error
            default: break
            }
        }
        #expect(sizes == [1000])
        #expect((error?.underlyingError as? URLError)?.code == .dataLengthExceedsMaximum)
        var found = codes.makeAsyncIterator()
        #expect(await found.next() == WebSocketCloseCode(rawValue: 1009))
        withExtendedLifetime(server) {}
    }

    @Test("a task that sends before it listens resumes the request, and no event is lost", arguments: [false, true])
    func sendsFirst(onWire: Bool) async throws {
        let (session, url, server) = try session(onWire: onWire) { socket in
            socket.send(try await socket.receive())
            socket.send("bye")
        }
        let (ends, continuation) = AsyncStream<Void>.makeStream()
        let monitor = ClosureEventMonitor()
        monitor.requestDidFinish = { _ in continuation.finish() }
        let task = session.webSocketRequest(to: url).eventMonitor(monitor).webSocketTask()
        try await task.send(.string("hello"))
        // The WebSocket is over when the sequence is made.
        for await _ in ends {}
        var kinds: [String] = []
        for await event in task.streamingMessageEvents() {
            switch event.kind {
            case .connected: kinds.append("connected")
            case .receivedMessage(.string(let text)): kinds.append(text)
            case .disconnected(let code, _): kinds.append("disconnected \(code.rawValue)")
            case .completed: kinds.append("completed")
            default: kinds.append("\(event.kind)")
            }
        }
        #expect(kinds == ["connected", "hello", "bye", "disconnected 1000", "completed"])
        withExtendedLifetime(server) {}
    }

    @Test("messages that came before the first sequence wait for it, however many they are", arguments: [false, true])
    func sendsFirstAndGetsMuch(onWire: Bool) async throws {
        let (session, url, server) = try session(onWire: onWire) { socket in
            _ = try await socket.receive()
            for number in 0..<64 { socket.send(Data(repeating: UInt8(number), count: 100_000)) }
        }
        let task = session.webSocketRequest(to: url).webSocketTask()
        try await task.send(.string("hello"))
        var firstBytes: [UInt8] = []
        for await message in task.streamingMessages() {
            if case .data(let data) = message, let first = data.first { firstBytes.append(first) }
        }
        #expect(firstBytes == Array(0..<64))
        withExtendedLifetime(server) {}
    }

    @Test("a stub refuses a WebSocket, or fails before its head, and then opens one", arguments: [false, true])
    func refusals(onWire: Bool) async throws {
        let stub = Stub.get("/chat").reply(
            .status(503), .webSocket { _ in }.fault(.closeBeforeHead),
            .webSocket { _ in }.fault(.closeInHead(after: 9)),
            .webSocket { $0.send("welcome") })
        let server = try MockServer.start { stub }
        let session = onWire ? server.session() : Session.stubbed { stub }
        let url = onWire ? server.url("/chat").absoluteString : "\(api)/chat"
        var texts: [[String]] = []
        var failures: [Bool] = []
        for _ in 0..<4 {
            let request = session.webSocketRequest(to: url)
            var found: [String] = []
            for await message in request.webSocketTask().streamingMessages() {
                if case .string(let text) = message { found.append(text) }
            }
            texts.append(found)
            failures.append(request.error != nil)
        }
        #expect(texts == [[], [], [], ["welcome"]])
        #expect(failures == [true, true, true, false])
    }

    @Test("several readers of a script get a message each", arguments: [false, true])
    func readers(onWire: Bool) async throws {
        let (session, url, server) = try session(onWire: onWire) { socket in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { socket.send(try await socket.receive()) } }
                try await group.waitForAll()
            }
        }
        let task = session.webSocketRequest(to: url).webSocketTask()
        var texts: Set<String> = []
        for await event in task.streamingMessageEvents() {
            switch event.kind {
            case .connected: for number in 0..<3 { try await task.send(.string("\(number)")) }
            case .receivedMessage(.string(let text)): texts.insert(text)
            default: break
            }
        }
        #expect(texts == ["0", "1", "2"])
        withExtendedLifetime(server) {}
    }

    @Test("a reason is cut at the end of a character (RFC 6455 §5.5)", arguments: [false, true])
    func longReason(onWire: Bool) async throws {
        let (session, url, server) = try session(onWire: onWire) { socket in
            socket.close(.goingAway, reason: String(repeating: "é", count: 100))
        }
        var reason: Data?
        for await event in session.webSocketRequest(to: url).webSocketTask().streamingMessageEvents() {
            if case .disconnected(_, let data) = event.kind { reason = data }
        }
        #expect(reason == Data(String(repeating: "é", count: 61).utf8))
        withExtendedLifetime(server) {}
    }

    @Test("a server with HTTP/2 opens a WebSocket by HTTP/1.1")
    func besideHTTP2() async throws {
        let (session, url, server) = try session(onWire: true, http2: true) { $0.send("welcome") }
        var texts: [String] = []
        for await message in session.webSocketRequest(to: url).webSocketTask().streamingMessages() {
            if case .string(let text) = message { texts.append(text) }
        }
        #expect(texts == ["welcome"])
        withExtendedLifetime(server) {}
    }
}
