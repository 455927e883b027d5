import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Server-sent events", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ServerSentEventsTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    private static let stop: [ScriptedServer.Action] = [.receiveHead, .send("HTTP/1.1 204 No Content\r\n\r\n"), .close]

    private func heads(_ server: ScriptedServer) -> [String] {
        server.events.events.compactMap { if case .head(_, let text) = $0 { text.lowercased() } else { nil } }
    }

    private func gather(
        _ sequence: DataStreamRequest.Elements<ServerSentEvent>
    ) async -> (events: [ServerSentEvent], error: AFError?) {
        var events: [ServerSentEvent] = []
        do throws(AFError) {
            for try await event in sequence { events.append(event) }
            return (events, nil)
        } catch {
            return (events, error)
        }
    }

    @Test("a source connects again with the last event ID, until the server says 204")
    func reconnects() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.head + "retry: 0\nid: é1\ndata: a\n\n"), .close],
            [.receiveHead, .send(Self.head + "data: b\n\nid: 2\ndata: half"), .reset],
            [.receiveHead, .send(Self.head + "event: last\nid\ndata: c\n\n"), .close], Self.stop)
        let session = Session.isolated()
        let request = session.streamRequest(server.url("/events"))
        let outcome = await gather(request.serverSentEvents())
        #expect(
            outcome.events == [
                .init(data: "a", id: "é1", retry: .zero), .init(data: "b", id: "é1"), .init(event: "last", data: "c"),
            ])
        #expect(outcome.error == nil)
        let heads = heads(server)
        #expect(heads.count == 4 && heads.allSatisfy { $0.contains("accept: text/event-stream\r\n") })
        #expect(heads.allSatisfy { $0.contains("cache-control: no-cache\r\n") })
        #expect(heads.map { $0.contains("last-event-id: é1\r\n") } == [false, true, true, false])
        #expect(request.retryCount == 3 && request.tasks.count == 4)
    }

    @Test("the server's time is waited for")
    func waits() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.head + "retry: 250\n\n"), .close], Self.stop)
        let start = ContinuousClock.now
        let session = Session.isolated()
        #expect(await gather(session.streamRequest(server.url()).serverSentEvents()).error == nil)
        #expect(start.duration(to: .now) >= .milliseconds(250))
    }

    @Test("a first connection that fails is made again too, as often as one likes")
    func firstFailure() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .close], [.receiveHead, .send(Self.head + "data: a\n\n"), .close], Self.stop)
        let rule = ServerSentEvent.Reconnection(delay: .zero)
        let session = Session.isolated()
        #expect(
            await gather(session.streamRequest(server.url()).serverSentEvents(reconnection: rule)).events.count == 1)
        let refused = try ScriptedServer.start([.receiveHead, .reset])
        let once = ServerSentEvent.Reconnection(delay: .zero, maximumFailureCount: 2)
        let outcome = await gather(session.streamRequest(refused.url()).serverSentEvents(reconnection: once))
        #expect(outcome.error?.urlErrorCode == .networkConnectionLost)
        #expect(refused.events.events.count { if case .accepted = $0 { true } else { false } } == 2)
    }

    @Test(
        "another status or type ends the sequence with an error, and no event is read, though the content does not end",
        arguments: [
            ("404 Not Found", "text/event-stream"), ("500 Oops", "text/event-stream"), ("200 OK", "text/html"),
            ("205 Reset", "text/event-stream"),
        ])
    func refused(status: String, type: String) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\n\r\ndata: a\n\n"), .hold])
        let session = Session.isolated()
        let request = session.streamRequest(server.url())
        let outcome = await gather(request.serverSentEvents())
        #expect(outcome.events.isEmpty && outcome.error?.isResponseValidationError == true)
        if status.hasPrefix("200") {
            #expect(outcome.error?.responseContentType == type)
        } else {
            #expect(outcome.error?.responseCode == Int(status.prefix(3)))
        }
        #expect(request.response != nil && request.retryCount == 0)
    }

    @Test("a retrier may answer a refusal, and an adapter sees every connection")
    func interceptor() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), .close],
            [.receiveHead, .send(Self.head + "retry: 0\nid: 1\ndata: a\n\n"), .close], Self.stop)
        let adapter = Adapter { request, _, done in
            var request = request
            request.headers.update(name: "X-Seen", value: request.headers["Last-Event-ID"] ?? "none")
            done(.success(request))
        }
        let session = Session.isolated(
            interceptor: Interceptor(adapters: [adapter], retriers: [RetryPolicy(exponentialBackoffScale: 0)]))
        let outcome = await gather(session.streamRequest(server.url()).serverSentEvents())
        #expect(outcome.events.count == 1 && outcome.error == nil)
        #expect(heads(server).map { $0.contains("x-seen: 1\r\n") } == [false, false, true])
    }

    @Test("fields of the caller's own stay as they are")
    func ownFields() async throws {
        let server = try ScriptedServer.start(Self.stop)
        let session = Session.isolated()
        let request = session.streamRequest(
            server.url(), headers: ["Accept": "text/event-stream, */*", "Last-Event-ID": "mine"])
        #expect(await gather(request.serverSentEvents()).error == nil)
        #expect(heads(server)[0].contains("accept: text/event-stream, */*\r\n"))
        #expect(heads(server)[0].contains("last-event-id: mine\r\n"))
    }

    @Test("cancelling while it waits to connect again ends it at once")
    func cancelledInBetween() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.head + "retry: 3600000\n\n"), .close])
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
        monitor.requestIsRetrying = { $0.cancel() }
        let session = Session.isolated(eventMonitors: [monitor])
        let outcome = await gather(session.streamRequest(server.url()).serverSentEvents())
        #expect(outcome.error?.isExplicitlyCancelledError == true)
    }

    @Test("the session's end while it waits to connect again ends it at once")
    func sessionGone() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.head + "retry: 3600000\ndata: a\n\n"), .close])
        let (retries, continuation) = AsyncStream<Void>.makeStream()
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
        monitor.requestIsRetrying = { _ in continuation.yield() }
        var session: Session? = Session.isolated(eventMonitors: [monitor])
        let request = try #require(session).streamRequest(server.url())
        var iterator = request.serverSentEvents().makeAsyncIterator()
        #expect(try await iterator.next()?.data == "a")
        for await _ in retries { break }
        session = nil
        let error = await #expect(throws: AFError.self) { try await iterator.next() }
        #expect(error?.isSessionDeinitializedError == true)
    }

    @Test("an iterator that goes ends the connection, and makes no other")
    func dropped() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.head + "retry: 0\ndata: a\n\n"), .hold])
        let session = Session.isolated()
        let request = session.streamRequest(server.url())
        for try await event in request.serverSentEvents() {
            #expect(event.data == "a")
            break
        }
        try await server.events.next(.closedByPeer(0))
        // Another connection for the events would be made at once, and so before this one.
        session.request(server.url("/other")).resume()
        try await server.events.first { if case .head(_, let head) = $0 { head.contains("/other") } else { false } }
        #expect(request.isCancelled && heads(server).count == 2)
    }

    @Test("an event that is too long ends it with an error that says so")
    func tooLong() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.head), .sendRepeatedly("data: 0123456789\n", count: 1 << 30)])
        let session = Session.isolated()
        let outcome = await gather(session.streamRequest(server.url()).serverSentEvents(maximumEventByteCount: 50_000))
        #expect(outcome.error?.underlyingError as? StreamedContentError == .eventTooLong(limit: 50_000))
        try await server.events.next(.closedByPeer(0))
    }

    @Test("a source that reconnects for ever keeps few of its attempts")
    func manyReconnections() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.head + "data: a\n\n"), .close])
        let session = Session.isolated()
        let request = session.streamRequest(server.url())
        var count = 0
        for try await _ in request.serverSentEvents(reconnection: .init(delay: .zero)) {
            count += 1
            if count == 100 { break }
        }
        #expect(request.tasks.count <= 33 && request.requests.count <= 65)
        #expect(request.retryCount >= 99 && request.firstTask?.taskIdentifier == 1)
    }
}
