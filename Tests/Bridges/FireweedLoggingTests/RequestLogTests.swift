// Entries of requests in a log.

import Fireweed
import FireweedLogging
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import InMemoryLogging
import Logging
import ServiceContextModule
import Synchronization
import Testing

@Suite("Entries of requests", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RequestLogTests {
    private let stage = LoggedStage()

    // MARK: Attempts

    @Test("an entry says what was sent, to whom, and what came back")
    func metadata() async throws {
        let server = try FixtureServer.start()
        let request = stage.session().request(server.url("/anything?page=2")).urlTemplate("/anything")
        let content = try await request.serializingData().value
        #expect(stage.lines == ["debug request completed"])
        let entry = try #require(stage.entries.first)
        var metadata = entry.metadata
        #expect(metadata.removeValue(forKey: "fireweed.duration_ms") != nil)
        #expect(
            metadata.mapValues { "\($0)" } == [
                "http.request.method": "GET", "url.full": "\(server.url)/anything?page=2",
                "url.template": "/anything", "server.address": "127.0.0.1", "server.port": "\(server.port)",
                "http.response.status_code": "200", "http.response.body.size": "\(content.count)",
                "network.protocol.version": "1.1", "fireweed.request.id": request.id.uuidString,
            ])
    }

    @Test(
        "the status decides about the level",
        arguments: [
            (204, "debug"), (304, "debug"), (401, "notice"), (404, "notice"), (429, "notice"), (500, "warning"),
            (503, "warning"),
        ])
    func levels(status: Int, level: String) async throws {
        let session = stage.scripted { _ in [.head(ResponseHead(status: status, fields: []))] }
        _ = await session.request("https://a.test/").serializingData().response
        #expect(stage.lines == ["\(level) request completed"])
        #expect(stage.values(of: "error.type") == [status < 400 ? "–" : "\(status)"])
    }

    @Test("a validation that fails is an answer all the same: the entry has its status")
    func validation() async throws {
        let session = stage.scripted { _ in [.head(ResponseHead(status: 404, fields: []))] }
        _ = await session.request("https://a.test/").validate().serializingData().response
        #expect(stage.lines == ["notice request completed"])
    }

    @Test("a refused connection is a failure, a cancellation is none")
    func failures() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let session = stage.session()
        let port = try PortReservation()
        _ = await session.request("http://127.0.0.1:\(port.number)/").serializingData().response
        let request = session.request(server.url())
        let task = request.serializingData()
        try await server.events.first { if case .head = $0 { true } else { false } }
        request.cancel()
        _ = await task.response
        while stage.entries.count < 2 { await Task.yield() }
        #expect(stage.lines == ["warning request failed", "debug request cancelled"])
        #expect(stage.values(of: "error.type") == ["cannot_connect_to_host", "–"])
    }

    @Test("a deadline is a time-out")
    func deadline() async throws {
        let clock = TestClock()
        let stub = StubTransport(clock: clock) { Stub.any().reply(.neverAnswers) }
        let session = stage.keeping(
            Session(transport: stub, eventMonitors: [], options: SessionOptions().logged(to: stage.logger)))
        let task = session.request("https://a.test/").deadline(.seconds(5)).serializingData()
        clock.advance(by: .seconds(5))
        _ = await task.response
        while stage.entries.isEmpty { await Task.yield() }
        #expect(stage.lines == ["warning request failed"] && stage.values(of: "error.type") == ["timeout"])
    }

    @Test("each attempt has an entry, and each retry; the resends are counted over all attempts")
    func retries() async throws {
        let server = try FixtureServer.start()
        let answers = Mutex([503, 302, 503, 200])
        server.route("/answer") { _ in
            FixtureResponse(status: answers.withLock { $0.removeFirst() }, fields: [("Location", "/answer")])
        }
        let session = stage.session(interceptor: RetryPolicy(exponentialBackoffScale: 0))
        _ = await session.request(server.url("/answer")).validate().serializingData(emptyResponseCodes: [200]).response
        #expect(
            stage.lines == [
                "warning request completed", "notice request is retried", "trace message answered",
                "warning request completed", "notice request is retried", "debug request completed",
            ])
        #expect(stage.values(of: "http.response.status_code") == ["503", "–", "302", "503", "–", "200"])
        #expect(stage.values(of: "http.request.resend_count") == ["–", "–", "–", "2", "–", "3"])
        #expect(stage.values(of: "fireweed.retries") == ["–", "1", "–", "–", "2", "–"])
        #expect(stage.values(of: "fireweed.redirects") == ["–", "–", "–", "1", "–", "–"])
    }

    @Test("an attempt with redirects and challenges has one entry, and details at trace")
    func oneAttempt() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        _ = await session.request(server.url("/redirect/2")).serializingData().response
        _ = await session.request(server.url("/digest-auth/auth/u/p"))
            .authenticate(username: "u", password: "p", persistence: .none).serializingData().response
        #expect(
            stage.lines == [
                "trace message answered", "trace message answered", "debug request completed",
                "trace message answered", "debug request completed",
            ])
        #expect(stage.values(of: "http.response.status_code") == ["302", "302", "200", "401", "200"])
    }

    @Test("what a cache answers has an entry that says so")
    func cache() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        for _ in 0..<2 {
            _ = try await session.request(server.url("/cache/3600")).serializingData().value
            await session.flushResponseStore()
        }
        #expect(stage.lines == ["debug request completed", "debug request completed"])
        #expect(stage.values(of: "fireweed.response.source") == ["–", "cache"])
    }

    @Test("a request that cannot be made or adapted is not sent")
    func notSent() async throws {
        struct Refusal: Error {}
        let session = stage.scripted(interceptor: Adapter { _, _, completion in completion(.failure(Refusal())) }) {
            _ in
            []
        }
        _ = await session.request("https://a.test/?token=hunter2").serializingData().response
        _ = await session.request("").serializingData().response
        #expect(stage.lines == ["warning request not sent", "warning request not sent"])
        #expect(stage.values(of: "error.type") == ["adaptation_failed", "bad_url"])
        #expect(stage.values(of: "url.full").first == "https://a.test/?token=[redacted]")
    }

    @Test("what the end of a session cuts off has failed, and what it refuses was not sent")
    func drained() async throws {
        let clock = TestClock()
        let stub = StubTransport(clock: clock) { Stub.any().reply(.neverAnswers) }
        let session = stage.keeping(
            Session(transport: stub, eventMonitors: [], options: SessionOptions().logged(to: stage.logger)))
        let task = session.request("https://a.test/").serializingData()
        while stub.stubs.requests.isEmpty { await Task.yield() }
        await session.drain(within: .zero)
        _ = await task.response
        _ = await session.request("https://a.test/").serializingData().response
        while stage.entries.count < 2 { await Task.yield() }
        #expect(stage.lines == ["warning request failed", "warning request not sent"])
        #expect(stage.values(of: "error.type") == ["session_invalidated", "session_invalidated"])
    }

    @Test("a request that ends between attempts, or before the first one, has an entry", arguments: [false, true])
    func endedInBetween(isCancelled: Bool) async throws {
        let clock = TestClock()
        let stub = StubTransport(clock: clock) { Stub.any().reply(.status(503)) }
        // The second attempt is never adapted, as where the refresh of a token hangs.
        let adapted = Mutex(0)
        let interceptor = Interceptor(
            adapters: [
                Adapter { request, _, completion in
                    let isFirst = adapted.withLock { count in
                        count += 1
                        return count == 1
                    }
                    if isFirst { completion(.success(request)) }
                }
            ], retriers: [RetryPolicy(exponentialBackoffScale: 0)])
        let session = stage.keeping(
            Session(
                transport: stub, interceptor: interceptor, eventMonitors: [],
                options: SessionOptions().logged(to: stage.logger)))
        let request = session.request("https://a.test/").validate().deadline(.seconds(5))
        let task = request.serializingData()
        while adapted.withLock({ $0 }) < 2 { await Task.yield() }
        if isCancelled { request.cancel() } else { clock.advance(by: .seconds(5)) }
        _ = await task.response
        while stage.entries.count < 3 { await Task.yield() }
        #expect(
            stage.lines == [
                "warning request completed", "notice request is retried",
                isCancelled ? "debug request cancelled" : "warning request not sent",
            ])
        #expect(stage.values(of: "error.type").last == (isCancelled ? "–" : "timeout"))
    }

    @Test("after a redirect, the entry is about the server that has answered")
    func redirected() async throws {
        let (first, second) = (try FixtureServer.start(), try FixtureServer.start())
        let target = second.url("/status/503").absoluteString
        first.route("/from") { _ in FixtureResponse(status: 302, fields: [("Location", target)]) }
        let stage = LoggedStage(level: .debug)
        _ = await stage.session().request(first.url("/from")).serializingData(emptyResponseCodes: [503]).response
        #expect(stage.values(of: "url.full") == [target])
        #expect(stage.values(of: "server.port") == ["\(second.port)"])
        #expect(stage.values(of: "http.response.status_code") == ["503"])
    }

    @Test("the address of a WebSocket is that of its handshake, as in its span", arguments: ["ws", "wss"])
    func webSocket(scheme: String) async throws {
        let session = stage.scripted { _ in [.head(ResponseHead(status: 403, fields: []))] }
        let request = session.webSocketRequest(to: "\(scheme)://a.test/?token=hunter2")
        for await _ in request.webSocketTask().streamingMessages() {}
        while stage.entries.isEmpty { await Task.yield() }
        #expect(stage.values(of: "server.address") == ["a.test"])
        #expect(stage.values(of: "server.port") == [scheme == "ws" ? "80" : "443"])
        #expect(stage.values(of: "url.full") == ["\(scheme == "ws" ? "http" : "https")://a.test/?token=[redacted]"])
    }

    @Test("a wait for a rate limit is a detail")
    func rateLimit() async throws {
        let server = try FixtureServer.start()
        let session = stage.session(interceptor: RateLimiter(RateLimit(1, per: .seconds(3600))))
        _ = await session.request(server.url("/get")).serializingData().response
        let request = session.request(server.url("/get"))
        let task = request.serializingData()
        while stage.entries.count < 2 { await Task.yield() }
        #expect(stage.lines == ["debug request completed", "trace request waits for its rate limit"])
        #expect(stage.values(of: "fireweed.request.id").last == request.id.uuidString)
        request.cancel()
        _ = await task.response
    }

    @Test("nothing of a good course is at info or above")
    func goodCourse() async throws {
        let server = try FixtureServer.start()
        let stage = LoggedStage(level: .info)
        let session = stage.session()
        for path in ["/get", "/redirect/3", "/cache/60", "/cache/60", "/digest-auth/auth/u/p", "/gzip", "/status/204"] {
            _ = await session.request(server.url(path)).authenticate(username: "u", password: "p", persistence: .none)
                .serializingData().response
        }
        #expect(stage.entries.isEmpty)
    }

    @Test("what the logger does not take asks for no metadata")
    func quiet() async throws {
        let stage = LoggedStage(level: .error)
        let session = stage.scripted(interceptor: RetryPolicy(exponentialBackoffScale: 0)) { _ in
            [.head(ResponseHead(status: 503, fields: []))]
        }
        _ = await session.request("https://a.test/").validate().serializingData().response
        #expect(stage.entries.isEmpty && stage.providerCallCount == 0)
    }

    // MARK: Loggers

    @Test(
        "a request's own logger gets its entries, with its metadata, and the session's gets none",
        arguments: [true, false])
    func ownLogger(isSessionLogged: Bool) async throws {
        let server = try FixtureServer.start()
        let own = LoggedStage()
        var logger = own.logger
        logger[metadataKey: "job"] = "7"
        let session = isSessionLogged ? stage.session() : stage.keeping(Session(eventMonitors: []))
        _ = await session.request(server.url("/get")).log(to: logger).serializingData().response
        #expect(own.lines == ["debug request completed"] && own.values(of: "job") == ["7"])
        #expect(stage.entries.isEmpty)
    }

    @Test("levels can be chosen")
    func ownLevels() async throws {
        let levels = LoggingOptions.Levels(success: .info, serverError: .critical)
        let session = stage.scripted(LoggingOptions(levels: levels)) { message in
            [.head(ResponseHead(status: message.url.hasSuffix("/bad") ? 500 : 204, fields: []))]
        }
        for path in ["good", "bad"] { _ = await session.request("https://a.test/\(path)").serializingData().response }
        #expect(stage.lines == ["info request completed", "critical request completed"])
    }

    // MARK: Sampling

    @Test("sampling keeps or drops whole requests, and keeps all that did not go well", arguments: [0, 0.5, 1])
    func sampling(ratio: Double) async throws {
        let failures = Mutex<Set<String>>([])
        let session = stage.scripted(
            interceptor: RetryPolicy(exponentialBackoffScale: 0), LoggingOptions(successRatio: ratio)
        ) { message in
            // Every third request fails once.
            let number = message.url.split(separator: "/").last.flatMap { Int($0) } ?? 0
            let fails = number % 3 == 0 && failures.withLock { $0.insert(message.url).inserted }
            return [.head(ResponseHead(status: fails ? 503 : 204, fields: []))]
        }
        var requests: [DataRequest] = []
        for number in 0..<300 {
            let request = session.request("https://a.test/\(number)").validate()
            requests.append(request)
            _ = await request.serializingData().response
        }
        let counts = Dictionary(grouping: stage.values(of: "fireweed.request.id"), by: \.self).mapValues(\.count)
        for (number, request) in requests.enumerated() where number % 3 == 0 {
            #expect(counts[request.id.uuidString] == 3)  // 503, the retry, 204
        }
        let good = requests.enumerated().count { $0.offset % 3 != 0 && counts[$0.element.id.uuidString] == 1 }
        switch ratio {
        case 0: #expect(good == 0)
        case 1: #expect(good == 200)
        // The probability of more or less is below 1 to 10 to the 15.
        default: #expect((40...160).contains(good))
        }
    }

    // MARK: The caller's context

    @Test("a metadata provider gets the caller's context through redirect, retry and detached awaiting")
    func context() async throws {
        let server = try FixtureServer.start()
        let answers = Mutex([302, 503, 200])
        server.route("/answer") { _ in
            FixtureResponse(status: answers.withLock { $0.removeFirst() }, fields: [("Location", "/answer")])
        }
        let session = stage.session(interceptor: RetryPolicy(exponentialBackoffScale: 0))
        var context = ServiceContext.topLevel
        context[TraceKey.self] = "trace-1"
        let request = ServiceContext.withValue(context) { session.request(server.url("/answer")).validate() }
        await Task.detached {
            var other = ServiceContext.topLevel
            other[TraceKey.self] = "other"
            let task = request.serializingData(emptyResponseCodes: [200])
            await ServiceContext.withValue(other) { _ = await task.response }
        }.value
        #expect(stage.entries.count == 4 && Set(stage.values(of: "trace_id")) == ["trace-1"])
    }

    @Test("the context at the resume counts, when there is one; another request's never does")
    func resume() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        var (maker, resumer) = (ServiceContext.topLevel, ServiceContext.topLevel)
        (maker[TraceKey.self], resumer[TraceKey.self]) = ("maker", "resumer")
        let request = ServiceContext.withValue(maker) { session.request(server.url("/get")) }
        let task = ServiceContext.withValue(resumer) { request.serializingData() }
        _ = await task.response
        let without = session.request(server.url("/get")).serializingData()
        await ServiceContext.withValue(maker) { _ = await without.response }
        #expect(stage.values(of: "trace_id") == ["resumer", "–"])
    }

    @Test("a request's own logger has the context in which it was given", arguments: [true, false])
    func ownContext(isSessionLogged: Bool) async throws {
        let server = try FixtureServer.start()
        let own = LoggedStage()
        let session = isSessionLogged ? stage.session() : stage.keeping(Session(eventMonitors: []))
        var context = ServiceContext.topLevel
        context[TraceKey.self] = "trace-1"
        let request = ServiceContext.withValue(context) { session.request(server.url("/get")).log(to: own.logger) }
        await Task.detached { _ = await request.serializingData().response }.value
        #expect(own.values(of: "trace_id") == ["trace-1"])
    }
}
