import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@testable import Fireweed

@Suite("Request coalescing", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CoalescingTests {
    private let fresh = "Cache-Control: max-age=60"
    private func session(
        coalesces: Bool = true, maximumEntryByteCount: Int = 1 << 20, clock: CacheTestClock = CacheTestClock(Date())
    ) -> Session {
        let store = MemoryResponseStore(maximumEntryByteCount: maximumEntryByteCount)
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(TestTimeouts.seconds)
        configuration.httpMaximumConnectionsPerHost = 64
        return CacheClock.$now.withValue({ clock.now }) {
            Session(
                configuration: configuration,
                options: SessionOptions(responseStore: store, coalescesRequests: coalesces))
        }
    }

    /// A connection that answers when the test says so.
    private func late(_ signal: String, _ answer: Answer) -> [ScriptedServer.Action] {
        [.receiveHead, .wait(for: signal), .send(answer.text), .close]
    }

    private func atOnce(_ answer: Answer) -> [ScriptedServer.Action] {
        [.receiveHead, .send(answer.text), .close]
    }

    private func headCount(_ server: ScriptedServer) -> Int {
        server.events.events.count { if case .head = $0 { true } else { false } }
    }

    /// Waits until so many requests have their place among their equals: they are sent, or wait.
    private func places(_ count: Int, in session: Session) async {
        await eventually("\(count) places") { (session.core.fetches?.placeCount ?? 0) >= count }
        await session.flushResponseStore()
    }

    private func begin(
        _ count: Int, at url: URL, in session: Session, headers: HTTPHeaders? = nil, method: HTTPMethod = .get
    ) -> [DataTask<String>] {
        (0..<count).map { _ in
            session.request(url, method: method, headers: headers)
                .serializingString(automaticallyCancelling: true, emptyResponseCodes: [200])
        }
    }

    @Test("fifty are fetched once, and metrics say which one was sent")
    func fifty() async throws {
        let server = try ScriptedServer.start(late("go", .ok("one", fresh)), atOnce(.ok("two", fresh)))
        let session = session()
        let tasks = begin(50, at: server.url(), in: session)
        await places(50, in: session)
        server.signal("go")
        var sources: [TaskMetrics.ResponseSource] = []
        for task in tasks {
            let response = await task.response
            #expect(response.value == "one")
            if let metrics = response.metrics { sources.append(metrics.responseSource) }
        }
        #expect(headCount(server) == 1)
        #expect(sources.count { $0 == .network } == 1 && sources.count { $0 == .cache } == 49)
    }

    @Test("each is sent unless the session coalesces")
    func off() async throws {
        let server = try ScriptedServer.start(late("go", .ok("one", fresh)))
        let session = session(coalesces: false)
        let tasks = begin(3, at: server.url(), in: session)
        await eventually("all are sent") { headCount(server) == 3 }
        server.signal("go")
        for task in tasks { #expect(await task.response.value == "one") }
    }

    @Test("when the first is cancelled, another one is sent and answers the rest")
    func cancelled() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .hold], late("go", .ok("two", fresh)), atOnce(.ok("three", fresh)))
        let session = session()
        let first = begin(1, at: server.url(), in: session)[0]
        await eventually("the first is sent") { headCount(server) == 1 }
        let others = begin(5, at: server.url(), in: session)
        await places(6, in: session)
        first.cancel()
        #expect(await first.response.error?.isExplicitlyCancelledError == true)
        await eventually("another one is sent") { headCount(server) == 2 }
        server.signal("go")
        for other in others { #expect(await other.response.value == "two") }
        #expect(headCount(server) == 2)
    }

    @Test("a cancelled one of the others leaves the rest alone")
    func cancelledWaiter() async throws {
        let server = try ScriptedServer.start(late("go", .ok("one", fresh)), atOnce(.ok("two", fresh)))
        let session = session()
        let first = begin(1, at: server.url(), in: session)
        await eventually("the first is sent") { headCount(server) == 1 }
        let others = begin(3, at: server.url(), in: session)
        await places(4, in: session)
        others[0].cancel()
        #expect(await others[0].response.error?.isExplicitlyCancelledError == true)
        server.signal("go")
        for task in first + others.dropFirst() { #expect(await task.response.value == "one") }
        #expect(headCount(server) == 1)
    }

    @Test("a failure reaches all")
    func failure() async throws {
        let server = try ScriptedServer.start([.receiveHead, .wait(for: "go"), .reset], atOnce(.ok("two", fresh)))
        let session = session()
        let tasks = begin(5, at: server.url(), in: session)
        await places(5, in: session)
        server.signal("go")
        for task in tasks {
            let response = await task.response
            #expect(response.error?.urlErrorCode == .networkConnectionLost)
            #expect(response.metrics?.transactionMetrics.count == 1)
        }
        #expect(headCount(server) == 1)
    }

    @Test(
        "a response that may not be shared sends the others on their own, and later ones at once",
        arguments: ["Cache-Control: no-store", "Cache-Control: max-age=0", "X-Nothing: said", "Vary: *"])
    func unshared(field: String) async throws {
        let server = try ScriptedServer.start(late("go", .ok("one", field)), late("more", .ok("one", field)))
        let session = session()
        let tasks = begin(4, at: server.url(), in: session)
        await places(4, in: session)
        #expect(headCount(server) <= 1)
        server.signal("go")
        await eventually("the others are sent") { headCount(server) == 4 }
        server.signal("more")
        for task in tasks {
            let response = await task.response
            #expect(response.value == "one" && response.metrics?.responseSource == .network)
        }
    }

    @Test("once a response could not be shared, requests for its URL do not wait")
    func remembered() async throws {
        let server = try ScriptedServer.start(
            atOnce(.ok("one", "Cache-Control: no-store")), late("more", .ok("two", "Cache-Control: no-store")))
        let session = session()
        #expect(await begin(1, at: server.url(), in: session)[0].response.value == "one")
        let tasks = begin(4, at: server.url(), in: session)
        await eventually("all are sent") { headCount(server) == 5 }
        server.signal("more")
        for task in tasks { #expect(await task.response.value == "two") }
    }

    @Test(
        "requests that differ are not equal",
        arguments: [
            [HTTPHeader.acceptLanguage("de"), .acceptLanguage("en")],
            [.authorization("one"), .authorization("two")],
            [HTTPHeader(name: "Cookie", value: "a=1"), HTTPHeader(name: "Cookie", value: "a=2")],
            [HTTPHeader(name: "Cache-Control", value: "no-cache"), .accept("*/*")],
        ])
    func different(headers: [HTTPHeader]) async throws {
        let server = try ScriptedServer.start(late("go", .ok("one", fresh)))
        let session = session()
        let tasks = headers.flatMap { begin(1, at: server.url(), in: session, headers: [$0]) }
        await eventually("both are sent") { headCount(server) == 2 }
        server.signal("go")
        for task in tasks { #expect(await task.response.value == "one") }
    }

    @Test(
        "requests that differ in their trace alone are equal, unless the response varies by it",
        arguments: [false, true])
    func traced(varies: Bool) async throws {
        let field = varies ? "Vary: traceparent" : "X-Nothing: said"
        let server = try ScriptedServer.start(late("go", .ok("one", fresh, field)), atOnce(.ok("two", fresh, field)))
        let session = session()
        let tasks = (0..<2).flatMap {
            begin(1, at: server.url(), in: session, headers: [HTTPHeader(name: "traceparent", value: "00-\($0)")])
        }
        await places(2, in: session)
        server.signal("go")
        var values: Set<String> = []
        for task in tasks { values.insert(await task.response.value ?? "") }
        #expect(values == (varies ? ["one", "two"] : ["one"]))
    }

    @Test("only GET is shared", arguments: [HTTPMethod.head, .post, .put, .options])
    func methods(method: HTTPMethod) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .wait(for: "go"), .send("HTTP/1.1 200 OK\r\n\(fresh)\r\nContent-Length: 0\r\n\r\n"), .close])
        let session = session()
        let get = begin(1, at: server.url(), in: session)
        let others = begin(2, at: server.url(), in: session, method: method)
        await eventually("all are sent") { headCount(server) == 3 }
        server.signal("go")
        for task in get + others { #expect(await task.response.error == nil) }
    }

    @Test("when the first is suspended, another one is sent and answers the rest")
    func suspended() async throws {
        let server = try ScriptedServer.start(late("never", .ok("one", fresh)), atOnce(.ok("two", fresh)))
        let session = session()
        let first = session.request(server.url())
        let task = first.serializingString()
        await eventually("the first is sent") { headCount(server) == 1 }
        let others = begin(3, at: server.url(), in: session)
        await places(4, in: session)
        first.suspend()
        for other in others { #expect(await other.response.value == "two") }
        #expect(headCount(server) == 2)
        first.resume()
        server.signal("never")
        #expect(await task.response.value == "one")
    }

    @Test("a reader of the first that stops does not hold the others")
    func slowReader() async throws {
        let content = String(repeating: "0123456789abcdef", count: 200_000)
        let server = try ScriptedServer.start(late("go", .ok(content, fresh)), atOnce(.ok("two", fresh)))
        let session = session(maximumEntryByteCount: 8 << 20)
        let stream = session.streamRequest(server.url())
        let (chunks, feed) = AsyncStream<Int>.makeStream()
        let gate = DispatchGroup()
        gate.enter()
        stream.responseStream(on: .global()) { event in
            if case .stream(.success(let data)) = event.event {
                gate.wait()
                feed.yield(data.count)
            } else {
                feed.finish()
            }
        }
        await eventually("the first is sent") { headCount(server) == 1 }
        let others = begin(3, at: server.url(), in: session)
        await places(4, in: session)
        server.signal("go")
        for other in others { #expect(await other.response.value == "two") }
        gate.leave()
        var count = 0
        for await chunk in chunks { count += chunk }
        #expect(count == content.utf8.count)
    }

    @Test("a response that becomes too large to be stored sends the others on their own while it comes")
    func tooLarge() async throws {
        let head = "HTTP/1.1 200 OK\r\n\(fresh)\r\n\r\n"
        let server = try ScriptedServer.start(
            [
                .receiveHead, .wait(for: "go"), .send(head), .sendData(Data(count: 3 << 19)), .wait(for: "end"), .close,
            ], atOnce(.ok("two", fresh)))
        let session = session()
        let first = session.request(server.url()).serializingData()
        await eventually("the first is sent") { headCount(server) == 1 }
        let others = begin(3, at: server.url(), in: session)
        await places(4, in: session)
        server.signal("go")
        for other in others { #expect(await other.response.value == "two") }
        server.signal("end")
        #expect(await first.response.value?.count == 3 << 19)
    }

    @Test("the end of the session ends all")
    func sessionEnds() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let tasks = try await { () async throws -> [DataTask<String>] in
            let session = session()
            let tasks = begin(5, at: server.url(), in: session)
            await places(5, in: session)
            return tasks
        }()
        for task in tasks {
            let response = await task.response
            #expect(response.error?.isSessionDeinitializedError == true)
        }
        #expect(headCount(server) <= 1)
    }

    @Test("a stale response is validated once, and answers all")
    func validated() async throws {
        let server = try ScriptedServer.start(
            atOnce(.ok("one", "Cache-Control: max-age=10", "ETag: \"a\"")),
            late("go", .notModified(fresh, "ETag: \"a\"")), atOnce(.ok("two", fresh)))
        let clock = CacheTestClock(Date())
        let session = session(clock: clock)
        #expect(await begin(1, at: server.url(), in: session)[0].response.value == "one")
        clock.advance(by: 20)
        let tasks = begin(5, at: server.url(), in: session)
        await places(6, in: session)
        server.signal("go")
        var sources: [TaskMetrics.ResponseSource] = []
        for task in tasks {
            let response = await task.response
            #expect(response.value == "one")
            if let metrics = response.metrics { sources.append(metrics.responseSource) }
        }
        #expect(headCount(server) == 2)
        #expect(sources.count { $0 == .revalidation } == 1 && sources.count { $0 == .cache } == 4)
    }

    @Test(
        "the origin is asked once where a stale response may answer in place of its error (RFC 5861 §4)",
        arguments: [true, false])
    func staleIfError(answers: Bool) async throws {
        let error = answers ? late("go", Answer(503, [], "no")) : [.receiveHead, .wait(for: "go"), .reset]
        let server = try ScriptedServer.start(
            atOnce(.ok("one", "Cache-Control: max-age=10, stale-if-error=600")), error, atOnce(.ok("two", fresh)))
        let clock = CacheTestClock(Date())
        let session = session(clock: clock)
        #expect(await begin(1, at: server.url(), in: session)[0].response.value == "one")
        clock.advance(by: 20)
        let tasks = begin(4, at: server.url(), in: session)
        await places(5, in: session)
        server.signal("go")
        for task in tasks { #expect(await task.response.value == "one") }
        #expect(headCount(server) == 2)
    }

    @Test("a response that is used while it is validated is validated once (RFC 5861 §3)")
    func backgroundValidation() async throws {
        let server = try ScriptedServer.start(
            atOnce(.ok("one", "Cache-Control: max-age=10, stale-while-revalidate=600", "ETag: \"a\"")),
            late("go", .notModified(fresh, "ETag: \"a\"")), atOnce(.ok("three", fresh)))
        let clock = CacheTestClock(Date())
        let session = session(clock: clock)
        #expect(await begin(1, at: server.url(), in: session)[0].response.value == "one")
        clock.advance(by: 20)
        for task in begin(20, at: server.url(), in: session) { #expect(await task.response.value == "one") }
        await eventually("it is validated") { headCount(server) == 2 }
        for task in begin(20, at: server.url(), in: session) { #expect(await task.response.value == "one") }
        #expect(headCount(server) == 2)
        server.signal("go")
    }

    @Test("a download waits for an equal request, and no request waits for a download")
    func download() async throws {
        let server = try ScriptedServer.start(late("go", .ok("one", fresh)), atOnce(.ok("two", fresh)))
        let session = session()
        let first = begin(1, at: server.url(), in: session)[0]
        await eventually("the first is sent") { headCount(server) == 1 }
        let download = session.download(server.url()).serializingString()
        await places(2, in: session)
        server.signal("go")
        let response = await download.response
        #expect(response.value == "one" && response.metrics?.responseSource == .cache)
        #expect(await first.response.value == "one" && headCount(server) == 1)
        let other = try ScriptedServer.start(late("go", .ok("one", fresh)))
        let downloads = (0..<2).map { _ in session.download(other.url()).serializingString() }
        await eventually("both are sent") { headCount(other) == 2 }
        other.signal("go")
        for download in downloads { #expect(await download.response.value == "one") }
    }
}
