// Spans by the conventions of OpenTelemetry.

import Fireweed
import FireweedTesting
import FireweedTracing
import FixtureServer
import Foundation
import InMemoryTracing
import Testing
import Tracing

@Suite("Spans of messages", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MessageSpanTests {
    private let stage = TracedStage()

    // MARK: Attributes

    @Test("a span says what was sent, to whom, and what came back")
    func attributes() async throws {
        let server = try FixtureServer.start()
        let request = stage.session().request(server.url("/anything?page=2"), method: .put)
        _ = try await request.serializingData().value
        let span = try #require(stage.spans.first)
        #expect(stage.spans.count == 1 && span.kind == .client && span.operationName == "PUT")
        #expect(span.status == nil && span.errors.isEmpty && span.events.isEmpty)
        #expect(
            span.attributes
                == SpanAttributes([
                    "http.request.method": .string("PUT"), "url.full": .string("\(server.url)/anything?page=2"),
                    "server.address": .string("127.0.0.1"), "server.port": .int64(Int64(server.port)),
                    "http.response.status_code": .int64(200), "network.protocol.version": .string("1.1"),
                    "network.peer.address": .string("127.0.0.1"), "network.peer.port": .int64(Int64(server.port)),
                ]))
        #expect(span.endInstant.nanosecondsSinceEpoch >= span.startInstant.nanosecondsSinceEpoch)
    }

    @Test("with HTTP/2 the version is 2, and the default port is not left out")
    func http2() async throws {
        let server = try MockServer.start(certificate: .trusted, http2: true) { Stub.any().reply(.ok) }
        let transport = TracingTransport(
            EngineTransport(settings: PoolSettings(options: server.transportOptions)),
            options: TracingOptions(tracer: stage.tracer))
        let session = Session(transport: transport)
        _ = try await session.request(server.url()).serializingData(emptyResponseCodes: [200]).value
        #expect(stage.values(of: "network.protocol.version") == [.string("2")])
        let scripted = TracingTransport(
            ScriptedTransport { _ in [.head(ResponseHead(status: 204, fields: []))] },
            options: TracingOptions(tracer: stage.tracer))
        _ = await stage.keeping(Session(transport: scripted)).request("https://Example.com/").serializingData().response
        #expect(stage.values(of: "server.port").last == .int64(443))
        #expect(stage.values(of: "server.address").last == .string("example.com"))
    }

    @Test("a template names the span; a path never does")
    func template() async throws {
        let server = try FixtureServer.start()
        let request = stage.session().request(server.url("/anything/7")).urlTemplate("/anything/{id}")
        _ = try await request.serializingData().value
        #expect(stage.spans.map(\.operationName) == ["GET /anything/{id}"])
        #expect(stage.values(of: "url.template") == [.string("/anything/{id}")])
    }

    @Test(
        "a method that the conventions do not know is `_OTHER`",
        arguments: [("QUERY", "QUERY", "QUERY"), ("REPORT", "_OTHER", "HTTP"), ("get", "_OTHER", "HTTP")])
    func methods(sent: String, shown: String, name: String) async throws {
        let transport = TracingTransport(
            ScriptedTransport { _ in [.head(ResponseHead(status: 204, fields: []))] },
            options: TracingOptions(tracer: stage.tracer))
        let session = Session(transport: transport)
        _ = await session.request("https://a.test", method: HTTPMethod(rawValue: sent)).serializingData().response
        #expect(stage.spans.map(\.operationName) == [name])
        #expect(stage.values(of: "http.request.method") == [.string(shown)])
        #expect(stage.values(of: "http.request.method_original") == [shown == sent ? nil : .string(sent)])
    }

    /// The parameters that the conventions name, and our own secrets.
    @Test(
        "no secret of a URL is in a span",
        arguments: [
            "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "AWSAccessKeyId", "Signature", "sig",
            "X-Goog-Signature", "token", "api_key", "password",
        ])
    func secrets(name: String) async throws {
        let transport = TracingTransport(
            ScriptedTransport { _ in [.head(ResponseHead(status: 204, fields: []))] },
            options: TracingOptions(
                tracer: stage.tracer, requestHeaders: ["Authorization", "X-Note"], responseHeaders: ["Set-Cookie"]))
        let url = "https://user:hunter2@a.test/x?\(name)=hunter2&b=1"
        _ = await stage.keeping(Session(transport: transport))
            .request(url, headers: [.authorization(bearerToken: "hunter2"), HTTPHeader(name: "X-Note", value: "n")])
            .serializingData().response
        let span = try #require(stage.spans.first)
        #expect(!"\(span)".contains("hunter2"), "\(span)")
        #expect("\(span.attributes)".contains("b=1"))
        #expect(span.attributes.get("http.request.header.x-note") == .stringArray(["n"]))
        #expect(span.attributes.get("http.request.header.authorization") == .stringArray(["Bearer [redacted]"]))
        #expect(span.attributes.get("http.response.header.set-cookie") == nil)
    }

    @Test("a session's own fields of credentials are among the secrets")
    func ownCredentials() async throws {
        var options = TransportOptions()
        options.credentialFieldNames.append("X-Proof")
        let tracing = TracingOptions(tracer: stage.tracer, requestHeaders: ["X-Proof"])
        let session = Session(transportOptions: options, options: SessionOptions().traced(tracing))
        let port = try PortReservation()
        _ = await stage.keeping(session).request(
            "http://127.0.0.1:\(port.number)/", headers: [HTTPHeader(name: "X-Proof", value: "hunter2")]
        ).serializingData().response
        let span = try #require(stage.spans.first)
        #expect(span.attributes.get("http.request.header.x-proof") == .stringArray(["[redacted]"]))
    }

    @Test(
        "nothing that a server sends is in the text of a failure",
        arguments: ["HTTP/1.1 200 OK\r\nhunter2 is no field\r\n\r\n", "hunter2\r\n\r\n", "HTTP/1.1 hunter2 OK\r\n\r\n"])
    func foreignText(_ answer: String) async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(answer), .close])
        let response = await stage.session().request(server.url()).serializingData().response
        #expect(response.error != nil)
        let span = try #require(stage.spans.first)
        #expect(span.status?.code == .error && !"\(span)".contains("hunter2"), "\(span)")
    }

    @Test("a fields' values become attributes only where they are asked for")
    func headers() async throws {
        let server = try FixtureServer.start()
        server.route("/two") { _ in .text("", fields: [("X-Two", "1"), ("x-two", "2"), ("Set-Cookie", "a=hunter2")]) }
        let session = stage.session(responseHeaders: ["X-Two", "Set-Cookie"])
        _ = await session.request(server.url("/two")).serializingData(emptyResponseCodes: [200]).response
        #expect(stage.values(of: "http.response.header.x-two") == [.stringArray(["1", "2"])])
        #expect(stage.values(of: "http.response.header.set-cookie") == [.stringArray(["[redacted]"])])
    }

    // MARK: Outcomes

    @Test(
        "the status decides: an error from 400 on", arguments: [204, 304, 404, 429, 500, 503])
    func status(_ status: Int) async throws {
        let server = try FixtureServer.start()
        let code = status
        server.route("/answer") { _ in FixtureResponse(status: code) }
        _ = await stage.session().request(server.url("/answer")).serializingData().response
        let span = try #require(stage.spans.first)
        #expect(stage.statuses == [.int64(Int64(status))])
        #expect(span.status == (status < 400 ? nil : SpanStatus(code: .error)))
        #expect(stage.errorTypes == [status < 400 ? nil : .string("\(status)")])
    }

    @Test("a refused connection is an error without a status")
    func refused() async throws {
        let port = try PortReservation()
        _ = await stage.session().request("http://127.0.0.1:\(port.number)/").serializingData().response
        #expect(stage.errorTypes == [.string("cannot_connect_to_host")] && stage.statuses == [nil])
        let status = try #require(stage.spans.first?.status)
        #expect(status.code == .error && status.message == nil)
        #expect(stage.values(of: "server.port") == [.int64(Int64(port.number))])
    }

    @Test("a caller's cancellation is no error, before and after the head", arguments: [false, true])
    func cancelled(afterHead: Bool) async throws {
        let script: [ScriptedServer.Action] =
            afterHead
            ? [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"), .hold] : [.receiveHead, .hold]
        let server = try ScriptedServer.start(script)
        let session = stage.session()
        let heads = AsyncStream.makeStream(of: Void.self)
        let request = session.streamRequest(server.url())
        if afterHead { request.onHTTPResponse { _ in heads.continuation.yield() } }
        request.responseStream { _ in }
        try await server.events.first { if case .head = $0 { true } else { false } }
        if afterHead { for await _ in heads.stream { break } }
        request.cancel()
        await stage.ended(1)
        #expect(stage.spans.map(\.status) == [nil] && stage.errorTypes == [nil])
        #expect(stage.statuses == [afterHead ? .int64(200) : nil])
    }

    @Test("a deadline is a time-out, though it cancels the transfer")
    func deadline() async throws {
        let clock = TestClock()
        let stub = StubTransport(clock: clock) { Stub.any().reply(.neverAnswers) }
        let transport = TracingTransport(stub, options: TracingOptions(tracer: stage.tracer))
        let session = stage.keeping(Session(transport: transport))
        let task = session.request("https://a.test/").deadline(.seconds(5)).serializingData()
        while stage.tracer.activeSpans.isEmpty { await Task.yield() }
        clock.advance(by: .seconds(5))
        _ = await task.response
        await stage.ended(1)
        #expect(stage.errorTypes == [.string("timeout")])
        #expect(stage.spans.map(\.status?.code) == [.error])
    }

    @Test("a response that is cut is an error, with the status that came")
    func cut() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"), .close,
        ])
        _ = await stage.session().request(server.url()).serializingData().response
        #expect(stage.statuses == [.int64(200)] && stage.errorTypes == [.string("connection_lost")])
    }

    // MARK: Other forms of exchanges

    @Test("the span of a WebSocket ends with its handshake")
    func webSocket() async throws {
        let server = try MockServer.start {
            Stub.webSocket("/chat") { socket in for try await message in socket.messages { socket.send(message) } }
        }
        let task = stage.session().webSocketRequest(to: server.url("/chat")).webSocketTask()
        try await task.send(.string("hello"))
        for await message in task.streamingMessages() {
            guard case .string = message else { continue }
            // It is open still.
            #expect(stage.tracer.activeSpans.isEmpty && stage.statuses == [.int64(101)])
            task.close(sending: .normalClosure)
        }
        #expect(stage.spans.count == 1 && stage.spans.map(\.status) == [nil])
    }

    @Test("a message that the transport sends again on another connection has one span, which says so")
    func staleConnection() async throws {
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let server = try ScriptedServer.start(
            [.receiveHead, .send(ok), .receiveHead, .close], [.receiveHead, .send(ok), .hold])
        let session = stage.session()
        _ = try await session.request(server.url("/first")).serializingString().value
        _ = try await session.request(server.url("/second")).serializingString().value
        #expect(stage.resendCounts == [nil, .int64(1)] && stage.statuses == [.int64(200), .int64(200)])
        #expect(stage.spans.last?.events.map(\.name) == ["fireweed.connection_lost"])
        #expect(stage.tracer.performedContextInjections.count == 2)
    }

    @Test("a challenge that the transport answers is an event of the span")
    func challengeInside() async throws {
        let transport = TracingTransport(ChallengingTransport(), options: TracingOptions(tracer: stage.tracer))
        _ = await stage.keeping(Session(transport: transport)).request("https://a.test/").serializingData().response
        #expect(stage.spans.first?.events.map(\.name) == ["http.challenge"])
        #expect(stage.statuses == [.int64(204)])
    }

    @Test("what a cache answers has no span, and a validation has one")
    func cache() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        _ = try await session.request(server.url("/cache/3600")).serializingData().value
        await session.flushResponseStore()
        _ = try await session.request(server.url("/cache/3600")).serializingData().value
        #expect(stage.spans.count == 1)
        _ = try await session.request(server.url("/etag/one")).serializingData().value
        await session.flushResponseStore()
        _ = try await session.request(server.url("/etag/one"), headers: ["Cache-Control": "no-cache"])
            .serializingData().value
        #expect(stage.spans.count == 3)
    }

    @Test("requests that wait for another one's response have no span")
    func coalesced() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .wait(for: "go"),
            .send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok"), .close,
        ])
        let session = stage.session(options: SessionOptions(coalescesRequests: true))
        let tasks = (0..<10).map { _ in session.request(server.url()).serializingString() }
        try await server.events.first { if case .head = $0 { true } else { false } }
        server.signal("go")
        for task in tasks { #expect(await task.response.value == "ok") }
        #expect(stage.spans.count == 1)
    }

    @Test("what a guard refuses has no span")
    func refusedByGuard() async throws {
        let server = try FixtureServer.start()
        let session = stage.session(options: SessionOptions(guards: [RefusingGuard()]))
        _ = await session.request(server.url("/get")).serializingData().response
        #expect(stage.spans.isEmpty && stage.tracer.activeSpans.isEmpty)
    }

    @Test("a request that is cancelled before it is sent has no span")
    func neverSent() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        let request = session.request(server.url("/get"), shouldAutomaticallyResume: false)
        let task = request.serializingData()
        request.cancel()
        _ = await task.response
        #expect(stage.spans.isEmpty && stage.tracer.activeSpans.isEmpty)
    }

    @Test("the end of a session ends every span")
    func sessionEnd() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        var session: Session? = stage.session(isKept: false) { $0.httpMaximumConnectionsPerHost = 3 }
        let requests = (0..<5).compactMap { _ in session?.request(server.url()) }
        for request in requests { request.response { _ in } }
        try await server.events.nth(3) { if case .head = $0 { true } else { false } }
        #expect(stage.tracer.activeSpans.count == 5)
        session = nil
        await stage.ended(5)
        #expect(stage.spans.count == 5 && stage.errorTypes.allSatisfy { $0 == nil })
    }

    @Test("without a tracer, messages go out as they are")
    func withoutTracer() async throws {
        let server = try FixtureServer.start()
        let session = Session(options: SessionOptions().traced())
        _ = try await session.request(server.url("/anything"), headers: ["traceparent": "kept"]).serializingData().value
        #expect(server.values(of: "traceparent") == [["kept"]])
    }
}

/// Refuses every message.
private struct RefusingGuard: TransportGuard {
    func guarding(_ transport: any Transport) -> any Transport {
        ScriptedTransport { _ in
            [.failure(.reported(OverloadError.limitReached(origin: "", limit: 0)))]
        }
    }
}

/// Answers each message with 204, after a challenge that it has answered itself.
private final class ChallengingTransport: TransportDecorator, @unchecked Sendable {
    // SAFETY: it has no stored property.

    init() {
        super.init(ScriptedTransport { _ in [.head(ResponseHead(status: 204, fields: []))] })
    }

    override func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        super.makeTransfer(of: message, for: ChallengedConsumer(consumer))
    }
}

private final class ChallengedConsumer: TransferConsumer {
    private let base: any TransferConsumer

    init(_ base: any TransferConsumer) {
        self.base = base
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        base.transferDidAnswerChallenge(ResponseHead(status: 401, fields: []))
        return base.transferDidReceive(head)
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { base.transferDidReceive(content) }
    func transferDidFinish(_ end: consuming TransferEnd) { base.transferDidFinish(end) }
}
