import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@Suite("WebSockets, against the Python package websockets", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WebSocketTests {
    private let session = Session.isolated()

    private func code(_ code: URLError.Code) -> String { "\(code.rawValue)" }

    @Test("messages of every length class come back as they were", arguments: [0, 125, 126, 65535, 65536, 16 << 20])
    func echo(count: Int) async throws {
        let server = try WebSocketServer.shared
        let task = session.webSocketRequest(
            to: server.url("/echo"), configuration: .maximumMessageSize(17 << 20)
        ).webSocketTask()
        let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let text = String(repeating: "κ", count: count / 2) + (count % 2 == 0 ? "" : "x")
        var left: [URLSessionWebSocketTask.Message] = [.string(text)]
        let sights = try await task.sights { event in
            switch event.kind {
            case .connected: try await task.send(.data(data))
            case .receivedMessage:
                if let next = left.popLast() { try await task.send(next) } else { event.close(sending: .normalClosure) }
            default: break
            }
        }
        #expect(sights.count == 5)
        #expect(sights == [.connected(nil), .data(data), .text(text), .disconnected(1000, nil), .completed(nil)])
    }

    @Test("closures hear the events in order, on their queue")
    func closures() async throws {
        let server = try WebSocketServer(subprotocols: ["chat"])
        let queue = DispatchQueue(label: "events")
        let seen = ProtectedList<WebSocketSight>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let request = session.webSocketRequest(to: server.url("/echo"), configuration: .protocol("chat"))
            request.streamMessageEvents(on: queue) { event in
                dispatchPrecondition(condition: .onQueue(queue))
                seen.append(WebSocketSight(event))
                if event.message != nil { event.close(sendingCode: 4321, reason: Data("bye".utf8)) }
                if case .completed = event.kind { continuation.resume() }
            }
            // Before the connection is open: it waits for it.
            request.send(.string("early"), queue: queue) { result in
                #expect(throws: Never.self) { try result.get() }
            }
        }
        #expect(
            seen.all == [.connected("chat"), .text("early"), .disconnected(4321, "bye"), .completed(nil)])
    }

    @Test("handlers are called in order, one call at a time, on concurrent queues too", arguments: [false, true])
    func concurrentQueues(isDecoded: Bool) async throws {
        let server = try WebSocketServer.shared
        let session = Session(
            configuration: .af.ephemeral,
            serializationQueue: DispatchQueue(label: "concurrent", attributes: .concurrent))
        let request = session.webSocketRequest(to: server.url("/echo"))
        let seen = ProtectedList<Int>()
        let callCount = Atomic(0)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let take: @Sendable (Int) -> Void = { number in
                #expect(callCount.add(1, ordering: .relaxed).newValue == 1)
                seen.append(number)
                callCount.subtract(1, ordering: .relaxed)
                if number == 999 { continuation.resume() }
            }
            if isDecoded {
                request.streamDecodable(Int.self, on: .global()) { take($0) }
            } else {
                request.streamMessages(on: .global()) { message in
                    if case .string(let text) = message { take(Int(text) ?? -1) }
                }
            }
            for number in 0..<1_000 { request.send(.string("\(number)")) { _ in } }
        }
        request.cancel()
        #expect(seen.all == Array(0..<1_000))
    }

    @Test("values are decoded, and what cannot be decoded is an event of its own")
    func decodable() async throws {
        let server = try WebSocketServer.shared
        let task = session.webSocketRequest(to: server.url("/echo")).webSocketTask()
        var values: [Int] = []
        var failures = 0
        for await event in task.streamingDecodableEvents([Int].self) {
            switch event.kind {
            case .connected:
                for text in ["[1]", "nonsense", "[2,3]"] { try await task.send(.string(text)) }
            case .receivedMessage(let value): values += value
            case .serializerFailed(let error):
                #expect(error is DecodableWebSocketMessageDecoder<[Int]>.Error)
                failures += 1
            case .disconnected, .completed: break
            }
            if values == [1, 2, 3] { event.close(sending: .normalClosure) }
        }
        #expect(values == [1, 2, 3] && failures == 1)
    }

    @Test(
        "the server's close code and reason arrive, and a closed WebSocket is no error",
        arguments: [
            (1000, "fine"), (1001, ""), (1011, "broken"), (1012, "again"), (1013, ""),
            (1014, "gateway"), (3000, "x"), (4999, String(repeating: "é", count: 61)),
        ])
    func serverCloses(code: Int, reason: String) async throws {
        let server = try WebSocketServer.shared
        let encoded = reason.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let request = session.webSocketRequest(to: server.url("/close?code=\(code)&reason=\(encoded)"))
        let sights = await request.webSocketTask().sights()
        let shown = reason.isEmpty ? nil : reason
        #expect(sights == [.connected(nil), .disconnected(code, shown), .completed(nil)])
        #expect(request.closeCode?.rawValue == code)
        #expect(request.socket?.closeCode.rawValue == (code < 1012 ? code : 0))
        #expect(request.isFinished)
    }

    @Test("fragments are one message")
    func fragments() async throws {
        let server = try WebSocketServer.shared
        let sights = await session.webSocketRequest(to: server.url("/fragments")).webSocketTask().sights { event in
            if event.message != nil { event.close(sending: .goingAway) }
        }
        #expect(sights == [.connected(nil), .text("one, two, three"), .disconnected(1001, nil), .completed(nil)])
    }

    @Test("a task that is cancelled does not await its message or its pong any longer")
    func cancelledTasks() async throws {
        let (pings, ping) = AsyncStream<Void>.makeStream()
        let gate = DispatchGroup()
        gate.enter()
        defer { gate.leave() }
        // Takes the ping, and nothing after it.
        let peer = try WebSocketPeer { connection in
            if try connection.receive().opcode == 9 { ping.yield() }
            gate.wait()
        }
        let request = session.webSocketRequest(to: peer.url)
        let task = request.webSocketTask()
        var events = task.streamingMessageEvents().makeAsyncIterator()
        _ = await events.next()
        let pong = Task { await task.sendPing() }
        for await _ in pings { break }
        pong.cancel()
        guard case .error(let error) = await pong.value, error is CancellationError else {
            Issue.record("\(await pong.value)")
            return
        }
        let sending = Task { try await task.send(.data(Data(count: 1 << 26))) }
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(request.error == nil && !request.isCancelled)
    }

    @Test("a ping has its pong and a latency; pings of the server are answered; none goes out before or after")
    func pings() async throws {
        let server = try WebSocketServer.shared
        let request = session.webSocketRequest(to: server.url("/ping"))
        let task = request.webSocketTask()
        guard case .unsent = await task.sendPing() else {
            Issue.record("a ping went out before the connection")
            return
        }
        var pong: WebSocketRequest.PingResponse.Pong?
        let sights = await task.sights { event in
            guard event.message != nil else { return }
            if case .pong(let answer) = await task.sendPing() { pong = answer }
        }
        #expect(sights.prefix(2) == [.connected(nil), .text("pong")])
        _ = pong  // the server may have closed before ours
        guard case .unsent = await task.sendPing() else {
            Issue.record("a ping went out after the end")
            return
        }
        let second = session.webSocketRequest(to: server.url("/echo")).webSocketTask()
        _ = await second.sights { event in
            guard case .connected = event.kind else { return }
            if case .pong(let answer) = await second.sendPing() {
                #expect(answer.latency >= 0 && answer.end >= answer.start)
            } else {
                Issue.record("no pong")
            }
            event.close(sending: .normalClosure)
        }
    }

    @Test("automatic pings keep a live connection, and end one that does not answer where pongs are required")
    func automaticPings() async throws {
        let server = try WebSocketServer.shared
        let strict = WebSocketRequest.Configuration(pingInterval: 0.2, requiresPongs: true)
        let deaf = session.webSocketRequest(to: server.url("/deaf"), configuration: strict)
        #expect(await deaf.webSocketTask().sights() == [.connected(nil), .completed(code(.timedOut))])
        let peer = try WebSocketPeer { connection in
            for _ in 0..<3 {
                let ping = try connection.receive()
                guard ping.opcode == 9 else { return }
                try connection.send(.init(10, ping.payload))
            }
            try connection.send(.init(8, [0x03, 0xE8]))
            _ = connection.receiveAll()
        }
        let live = session.webSocketRequest(to: peer.url, configuration: .pingInterval(5))
        #expect(await live.webSocketTask().sights() == [.connected(nil), .disconnected(1000, nil), .completed(nil)])
    }

    @Test("a pong that comes many intervals late is no failure, and the next ping waits for it")
    func slowPong() async throws {
        let peer = try WebSocketPeer { connection in
            let ping = try connection.receive()
            guard ping.opcode == 9 else { return }
            for _ in 0..<300 {
                try connection.send(.init(1, [0x61]))
                guard try connection.receive().opcode == 1 else { return }
            }
            try connection.send(.init(10, ping.payload))
            guard try connection.receive().opcode == 9 else { return }
            try connection.send(.init(8, [0x03, 0xE8]))
            _ = connection.receiveAll()
        }
        let request = session.webSocketRequest(to: peer.url, configuration: .pingInterval(0.001))
        let sights = await request.webSocketTask().echo()
        #expect(sights.count == 303 && sights.suffix(2) == [.disconnected(1000, nil), .completed(nil)])
    }

    @Test("a message that is longer than allowed ends the request, and the server is told with 1009")
    func maximumMessageSize() async throws {
        let told = EventLog<[WebSocketPeer.Frame]>()
        let peer = try WebSocketPeer { connection in
            try connection.send(.init(2, [UInt8](repeating: 0, count: 1000)))
            try connection.send(.init(2, [UInt8](repeating: 0, count: 600), isFinal: false))
            try connection.send(.init(0, [UInt8](repeating: 0, count: 401)))
            told.note(connection.receiveAll())
            connection.waitForEnd()
        }
        let request = session.webSocketRequest(to: peer.url, configuration: .maximumMessageSize(1000))
        let sights = await request.webSocketTask().sights()
        #expect(
            sights == [.connected(nil), .data(Data(count: 1000)), .completed(code(.dataLengthExceedsMaximum))])
        try await told.next([.init(8, [0x03, 0xF1])])
    }

    @Test("cancel ends it with explicitlyCancelled at every stage, and says 1001 on an open connection")
    func cancel() async throws {
        let told = EventLog<WebSocketPeer.Frame>()
        let peer = try WebSocketPeer { connection in
            for frame in connection.receiveAll() { told.note(frame) }
        }
        let request = session.webSocketRequest(to: peer.url)
        let sights = await request.webSocketTask().sights { event in
            if case .connected = event.kind { request.cancel() }
        }
        #expect(sights == [.connected(nil), .completed("cancelled")])
        #expect(request.error?.isExplicitlyCancelledError == true)
        let early = session.webSocketRequest(to: peer.url)
        early.close(sending: .normalClosure)
        #expect(await early.webSocketTask().sights() == [.completed("cancelled")])
        let silent = try ScriptedServer.start([.receiveHead, .hold])
        let shaking = session.webSocketRequest(to: silent.url())
        async let outcome = shaking.webSocketTask().sights()
        try await silent.events.first { if case .head = $0 { true } else { false } }
        shaking.cancel()
        #expect(await outcome == [.completed("cancelled")])
        #expect(try await told.first { _ in true } == .init(8, [0x03, 0xE9]))
    }

    @Test("a close after the server's goodbye changes nothing, while the end of the connection is awaited")
    func lateClose() async throws {
        let peer = try WebSocketPeer { connection in
            try connection.send(.init(8, [0x03, 0xE8]))
            connection.waitForEnd()
        }
        let request = session.webSocketRequest(to: peer.url)
        let sights = await request.webSocketTask().sights { event in
            if case .disconnected = event.kind { request.close(sending: .goingAway) }
        }
        #expect(sights == [.connected(nil), .disconnected(1000, nil), .completed(nil)])
    }

    @Test("an abrupt end is a lost connection, and what waited to be sent fails")
    func abruptEnd() async throws {
        for isReset in [true, false] {
            let peer = try WebSocketPeer { connection in
                _ = try connection.receive()
                if isReset { connection.resetAtEnd() }
            }
            let request = session.webSocketRequest(to: peer.url)
            let task = request.webSocketTask()
            let sights = await task.sights { event in
                if case .connected = event.kind { try? await task.send(.string("x")) }
            }
            #expect(sights == [.connected(nil), .completed(code(.networkConnectionLost))])
            await #expect(throws: AFError.self) { try await task.send(.string("late")) }
        }
    }

    @Test("a peer that does not answer our close frame is not waited for for ever")
    func unansweredClose() async throws {
        let peer = try WebSocketPeer { $0.waitForEnd() }
        let start = ContinuousClock.now
        let sights = await session.webSocketRequest(to: peer.url).webSocketTask().sights { event in
            event.close(sending: .normalClosure)
        }
        #expect(sights == [.connected(nil), .completed(code(.timedOut))])
        #expect(ContinuousClock.now - start >= .seconds(9))
    }

    @Test("a flood of 250 MB arrives whole through an async sequence, and ends with the server's close")
    func flood() async throws {
        let server = try WebSocketServer.shared
        let request = session.webSocketRequest(to: server.url("/flood?count=4000&size=65536"))
        var count = 0
        for await event in request.webSocketTask().streamingMessageEvents() {
            if case .data(let data)? = event.message { count += data.count }
        }
        #expect(count == 4000 * 65536)
        #expect(request.error == nil)
    }

    @Test("a suspended request reads nothing until it is resumed")
    func suspension() async throws {
        let server = try WebSocketServer.shared
        let request = session.webSocketRequest(to: server.url("/echo"))
        let task = request.webSocketTask()
        let sights = try await task.sights { event in
            if case .connected = event.kind {
                request.suspend()
                try await task.send(.string("x"))
                guard case .unsent = await task.sendPing() else {
                    Issue.record("a suspended request sent a ping")
                    return
                }
                request.resume()
            }
            if event.message != nil { event.close(sending: .normalClosure) }
        }
        #expect(sights == [.connected(nil), .text("x"), .disconnected(1000, nil), .completed(nil)])
    }

    @Test("metrics count the handshake and what went over the WebSocket")
    func metrics() async throws {
        let server = try WebSocketServer.shared
        let request = session.webSocketRequest(to: server.url("/echo"))
        let task = request.webSocketTask()
        _ = try await task.sights { event in
            if case .connected = event.kind { try await task.send(.data(Data(count: 1000))) }
            if event.message != nil { event.close(sending: .normalClosure) }
        }
        let metrics = try #require(request.metrics?.transactionMetrics.first)
        #expect(metrics.countOfRequestHeaderBytesSent > 100 && metrics.countOfResponseHeaderBytesReceived > 100)
        #expect(metrics.countOfRequestBodyBytesSent == 1000)
        #expect(metrics.countOfResponseBodyBytesAfterDecoding == 1000)
        #expect(metrics.countOfResponseBodyBytesReceived > 1000)
        #expect(metrics.networkProtocolName == "http/1.1" && metrics.remotePort == Int(server.port))
        #expect(metrics.responseStartDate != nil && metrics.connectEndDate != nil && !metrics.isReusedConnection)
        #expect(request.response?.statusCode == 101)
        #expect(request.task is URLSessionWebSocketTask)
    }

    @Test("1,000 messages in flight come back in their order; send reports each")
    func order() async throws {
        let server = try WebSocketServer.shared
        let task = session.webSocketRequest(to: server.url("/echo")).webSocketTask()
        var texts: [String] = []
        var sending: Task<Void, any Error>?
        for await event in task.streamingMessageEvents() {
            if case .connected = event.kind {
                sending = Task {
                    for index in 0..<1000 { try await task.send(.string("\(index)")) }
                }
            }
            if case .string(let text)? = event.message { texts.append(text) }
            if texts.count == 1000 { event.close(sending: .normalClosure) }
        }
        #expect(texts == (0..<1000).map(String.init))
        try await sending?.value
    }
}
