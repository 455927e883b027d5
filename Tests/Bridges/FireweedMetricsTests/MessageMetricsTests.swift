// Metrics of messages by the conventions of OpenTelemetry.

import CoreMetrics
import Fireweed
import FireweedMetrics
import FireweedTesting
import FixtureServer
import Foundation
import MetricsTestKit
import Synchronization
import Testing

@Suite("Metrics of messages", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MessageMetricsTests {
    private let stage = MetricsStage()

    // MARK: Names, units and labels

    @Test("each metric has its name, its unit and its labels")
    func names() async throws {
        let server = try FixtureServer.start()
        let request = stage.session().upload(Data("hello".utf8), to: server.url("/anything"), method: .put)
            .urlTemplate("/anything")
        let content = try await request.serializingData().value
        let target = [
            ("http.request.method", "PUT"), ("server.address", "127.0.0.1"), ("server.port", "\(server.port)"),
            ("url.template", "/anything"),
        ]
        let all =
            target + [
                ("error.type", ""), ("http.response.status_code", "200"), ("network.protocol.version", "1.1"),
            ]
        let duration = try stage.factory.expectTimer("http.client.request.duration", all)
        #expect(duration.displayUnit == .seconds && duration.values.count == 1 && duration.values[0] > 0)
        #expect(try stage.factory.expectRecorder("http.client.request.body.size", all).values == [5])
        #expect(
            try stage.factory.expectRecorder("http.client.response.body.size", all).values == [Double(content.count)])
        #expect(try stage.factory.expectMeter("http.client.active_requests", target).values == [1, 0])
        let wait = try stage.factory.expectTimer("fireweed.client.connection.wait", Array(target[1...2]))
        #expect(wait.displayUnit == .seconds && wait.values.count == 1 && wait.values[0] >= 0)
        #expect(stage.factory.counters.isEmpty)
    }

    @Test("the size of a response is that of the wire, with its content coding")
    func codedContent() async throws {
        let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA=="))
        let server = try ScriptedServer.start([
            .receiveHead,
            .send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"),
            .sendData(coded), .close,
        ])
        #expect(try await stage.session().request(server.url()).serializingString().value == "hello")
        let sizes = stage.factory.recorders.filter { $0.label == "http.client.response.body.size" }
        #expect(sizes.flatMap(\.values) == [Double(coded.count)])
    }

    @Test("durations and active requests alone are measured, unless more is asked for")
    func measures() async throws {
        _ = await stage.scripted { $0.measures = MetricsOptions().measures }
            .request("https://a.test/").serializingData().response
        #expect(Set(stage.labelNames.keys) == ["http.client.request.duration", "http.client.active_requests"])
    }

    @Test("the scheme is a label where it is asked for")
    func scheme() async throws {
        _ = await stage.scripted { $0.hasScheme = true }.request("https://a.test/").serializingData().response
        #expect(stage.values(of: "url.scheme") == ["https"] && stage.values(of: "server.port") == ["443"])
        #expect(stage.active.first?.dimensions.last?.1 == "https")
    }

    // MARK: Outcomes

    /// A way in which a message ends, and the labels of it.
    struct Ending: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let actions: [ScriptedTransport.Action]
        var status = ""
        var error = ""

        private static func head(_ status: Int) -> ScriptedTransport.Action {
            .head(ResponseHead(status: status, fields: []))
        }

        private static func failure(_ code: URLError.Code) -> ScriptedTransport.Action {
            .failure(.exchange(code, detail: "", engineCode: 0))
        }

        static let all: [Ending] = [
            Ending(testDescription: "success", actions: [head(204)], status: "204"),
            Ending(testDescription: "redirect that is not followed", actions: [head(304)], status: "304"),
            Ending(testDescription: "404", actions: [head(404)], status: "404", error: "404"),
            Ending(testDescription: "503", actions: [head(503)], status: "503", error: "503"),
            Ending(testDescription: "no status", actions: [head(999)], status: "_OTHER", error: "_OTHER"),
            Ending(testDescription: "time-out", actions: [failure(.timedOut)], error: "timeout"),
            Ending(testDescription: "unknown name", actions: [failure(.cannotFindHost)], error: "cannot_find_host"),
            Ending(
                testDescription: "refused", actions: [failure(.cannotConnectToHost)], error: "cannot_connect_to_host"),
            Ending(
                testDescription: "cut", actions: [head(200), failure(.networkConnectionLost)], status: "200",
                error: "connection_lost"),
            Ending(
                testDescription: "bad certificate", actions: [failure(.serverCertificateUntrusted)],
                error: "server_certificate_invalid"),
            Ending(
                testDescription: "overload",
                actions: [.failure(.reported(OverloadError.limitReached(origin: "", limit: 1)))],
                error: "overloaded"),
            Ending(testDescription: "an error of others", actions: [.failure(.reported(Other()))], error: "_OTHER"),
            Ending(
                testDescription: "limit", actions: [.failure(.refused(.bodyBytes(limit: 1)))], error: "limit_exceeded"),
            Ending(testDescription: "cancelled", actions: [.failure(.cancelled)]),
        ]

        struct Other: Error {}
    }

    @Test("the outcome decides about status and error", arguments: Ending.all)
    func outcomes(ending: Ending) async throws {
        let actions = ending.actions
        let session = stage.scripted(answer: { _ in actions })
        _ = await session.request("https://a.test/").serializingData().response
        #expect(stage.values(of: "http.response.status_code") == [ending.status])
        #expect(stage.values(of: "error.type") == [ending.error])
        #expect(stage.active.map(\.values) == [[1, 0]])
    }

    @Test("every use of a metric's name has the same labels")
    func sameLabels() async throws {
        let endings = Ending.all.map(\.actions)
        let next = Mutex(0)
        let session = stage.scripted(answer: { _ in endings[next.withLock { ($0 += 1, $0 - 1).1 }] })
        for number in endings.indices {
            let request = session.request(
                "https://a\(number).test/", method: number.isMultiple(of: 2) ? .get : HTTPMethod(rawValue: "REPORT"))
            if number.isMultiple(of: 3) { request.urlTemplate("/") }
            _ = await request.serializingData().response
        }
        #expect(stage.labelNames.count == 5)
        for (metric, names) in stage.labelNames { #expect(names.count == 1, "\(metric): \(names)") }
    }

    @Test("labels without a value can be left out")
    func omitted() async throws {
        _ = await stage.scripted { $0.omitsEmptyLabels = true }.request("https://a.test/").serializingData().response
        let names = try #require(stage.durations.first).dimensions.map(\.0)
        #expect(
            names == [
                "http.request.method", "server.address", "server.port", "http.response.status_code",
                "network.protocol.version",
            ])
    }

    @Test("a caller's cancellation is no error")
    func cancellation() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let request = stage.session().request(server.url())
        let task = request.serializingData()
        try await server.events.first { if case .head = $0 { true } else { false } }
        request.cancel()
        _ = await task.response
        await stage.ended(1)
        #expect(stage.values(of: "error.type") == [""] && stage.active.map(\.lastValue) == [0])
    }

    @Test("a deadline is a time-out, though it cancels the transfer")
    func deadline() async throws {
        let clock = TestClock()
        let stub = StubTransport(clock: clock) { Stub.any().reply(.neverAnswers) }
        let session = Session(transport: MetricsTransport(stub, options: stage.options()))
        let task = session.request("https://a.test/").deadline(.seconds(5)).serializingData()
        await stage.started(1)
        clock.advance(by: .seconds(5))
        _ = await task.response
        await stage.ended(1)
        #expect(stage.values(of: "error.type") == ["timeout"] && stage.active.map(\.lastValue) == [0])
        #expect(stage.durations.map(\.values) == [[5_000_000_000]])
    }

    // MARK: Messages

    @Test("redirects, answers to challenges and retries are messages of their own")
    func messages() async throws {
        let server = try FixtureServer.start()
        let answers = Mutex([302, 503, 200])
        server.route("/answer") { _ in
            FixtureResponse(status: answers.withLock { $0.removeFirst() }, fields: [("Location", "/answer")])
        }
        let session = stage.session(interceptor: RetryPolicy(exponentialBackoffScale: 0))
        _ = await session.request(server.url("/answer")).validate()
            .serializingData(emptyResponseCodes: [200]).response
        #expect(stage.values(of: "http.response.status_code") == ["200", "302", "503"])
        _ = await session.request(server.url("/digest-auth/auth/u/p"))
            .authenticate(username: "u", password: "p", persistence: .none).serializingData().response
        #expect(stage.values(of: "http.response.status_code") == ["200", "200", "302", "401", "503"])
        #expect(stage.active.map(\.lastValue) == [0])
    }

    @Test("what a cache answers is not measured")
    func cache() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        for _ in 0..<3 {
            _ = try await session.request(server.url("/cache/3600")).serializingData().value
            await session.flushResponseStore()
        }
        #expect(stage.values(of: "http.response.status_code") == ["200"])
    }

    @Test("a WebSocket is measured until its handshake is over")
    func webSocket() async throws {
        let server = try MockServer.start {
            Stub.webSocket("/chat") { socket in for try await message in socket.messages { socket.send(message) } }
        }
        let task = stage.session().webSocketRequest(to: server.url("/chat")).webSocketTask()
        try await task.send(.string("hello"))
        for await message in task.streamingMessages() {
            guard case .string = message else { continue }
            #expect(stage.values(of: "http.response.status_code") == ["101"])
            #expect(stage.active.map(\.values) == [[1, 0]])
            task.close(sending: .normalClosure)
        }
        #expect(stage.values(of: "http.response.status_code") == ["101"])
        #expect(stage.active.map(\.values) == [[1, 0]])
    }

    @Test("without a factory nothing is measured, and requests are sent")
    func withoutFactory() async throws {
        let server = try FixtureServer.start()
        let session = Session(options: SessionOptions().measured())
        #expect(await session.request(server.url("/get")).serializingData().response.error == nil)
    }

    @Test("a session's end ends what is active")
    func sessionEnd() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        var session: Session? = stage.session(isKept: false) { $0.httpMaximumConnectionsPerHost = 3 }
        let requests = (0..<5).compactMap { _ in session?.request(server.url()) }
        for request in requests { request.response { _ in } }
        await stage.started(5)
        try await server.events.nth(3) { if case .head = $0 { true } else { false } }
        session = nil
        await stage.ended(5)
        #expect(stage.active.map(\.lastValue) == [0] && Set(stage.values(of: "error.type")) == [""])
    }

    // MARK: Chaos

    @Test("active requests are 0 again after a thousand random endings", arguments: [1, 2, 3] as [UInt64])
    func chaos(seed: UInt64) async throws {
        let server = try FixtureServer.start()
        server.answer { request in .text("content", status: request.path == "/missing" ? 404 : 200) }
        let faults: [FaultyTransport.Fault: Double] = [
            .drop: 0.1, .cut: 0.1, .status(503): 0.1, .delay(.milliseconds(1)): 0.1, .duplicate: 0.1, .reorder: 0.05,
        ]
        let faulty = FaultyTransport(
            wrapping: EngineTransport(settings: PoolSettings(maximumConnectionsPerHost: 16)), faults: faults,
            seed: seed, isPrinted: false)
        let transport = MetricsTransport(faulty, options: stage.options())
        let session = Session(transport: transport, interceptor: RetryPolicy(exponentialBackoffScale: 0))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let path = ["/get", "/missing", "/redirect/2", "/get"][number % 4]
                    let request = session.request(server.url(path))
                    let task = request.serializingData()
                    if number % 5 == 0 { request.cancel() }
                    if number % 7 == 0 { await Task.yield() }
                    if number % 7 == 0 { request.cancel() }
                    if number % 11 == 0 { request.suspend().resume() }
                    _ = await task.response
                }
            }
        }
        // A cancelled request has its response before its transfer has ended.
        while stage.active.contains(where: { $0.lastValue != 0 }) { await Task.yield() }
        session.invalidate()
        #expect(stage.active.allSatisfy { $0.lastValue == 0 && $0.values.allSatisfy { $0 >= 0 } })
        let started = stage.active.reduce(0) { $0 + $1.values.count } / 2
        await stage.ended(started)
        #expect(stage.durations.reduce(0) { $0 + $1.values.count } == started)
        #expect(started >= 500)
    }
}
