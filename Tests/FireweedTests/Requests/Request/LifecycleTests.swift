import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("The life of a request", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LifecycleTests {
    let server: FixtureServer

    init() throws {
        server = try FixtureServer.start()
    }

    @Test("cancelling while the server is silent ends with explicitlyCancelled and closes the connection")
    func cancelWhileWaiting() async throws {
        let session = Session.isolated()
        let request = session.request(server.url("/delay/600"))
        let task = request.serializingData()
        try await server.events.next(.requestReceived("/delay/600"))
        request.cancel()
        request.cancel()
        let response = await task.response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(request.isCancelled)
    }

    @Test("cancelling in mid-content closes the connection")
    func cancelInContent() async throws {
        let session = Session.isolated()
        let request = session.request(server.url("/drip?bytes=1000&duration=100"))
        let task = request.serializingData()
        try await server.events.next(.contentStarted("/drip?bytes=1000&duration=100"))
        request.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
        try await server.events.next(.connectionClosed)
    }

    @Test("a request that was cancelled before it began sends nothing, and calls its handlers")
    func cancelBeforeStart() async throws {
        let session = Session.isolated(startRequestsImmediately: false)
        let request = session.request(server.url("/get"))
        let task = request.serializingData()
        request.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
        #expect(server.requests.isEmpty)
        #expect(request.isCancelled)
    }

    @Test("without an automatic start, a request waits for resume")
    func manualStart() async throws {
        let session = Session.isolated(startRequestsImmediately: false)
        let request = session.request(server.url("/get"))
        let task = request.serializingData()
        #expect(request.isInitialized)
        request.resume()
        #expect(try await !task.value.isEmpty)
    }

    @Test("a suspended request continues after resume")
    func suspendAndResume() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha"), .wait(for: "suspended"), .send("lf"),
            .hold,
        ])
        let session = Session.isolated()
        let request = session.request(server.url())
        let task = request.serializingString()
        try await server.events.first { if case .head = $0 { true } else { false } }
        request.suspend()
        #expect(request.isSuspended)
        server.signal("suspended")
        request.resume()
        #expect(try await task.value == "half")
    }

    @Test("cancelling the awaiting task cancels the request, unless that is turned off", arguments: [true, false])
    func taskCancellation(automatically: Bool) async throws {
        let session = Session.isolated()
        let path = automatically ? "/delay/600" : "/delay/0.3"
        let request = session.request(server.url(path))
        let task = Task { await request.serializingData(automaticallyCancelling: automatically).response }
        try await server.events.next(.requestReceived(path))
        task.cancel()
        let error = await task.value.error
        #expect((error?.isExplicitlyCancelledError == true) == automatically)
    }

    @Test("releasing the session ends its requests with sessionDeinitialized")
    func sessionDeinit() async throws {
        var session: Session? = .isolated()
        let task = session?.request(server.url("/delay/600")).serializingData()
        try await server.events.next(.requestReceived("/delay/600"))
        session = nil
        #expect(await task?.response.error?.isSessionDeinitializedError == true)
    }

    @Test("invalidating the URLSession of a session ends the session's requests, and later ones at once")
    func urlSessionInvalidation() async throws {
        let session = Session.isolated()
        let task = session.request(server.url("/delay/600")).serializingData()
        try await server.events.next(.requestReceived("/delay/600"))
        session.session.invalidateAndCancel()
        #expect(await task.response.error?.isSessionInvalidatedError == true)
        let later = await session.request(server.url("/get")).serializingData().response
        #expect(later.error?.isSessionInvalidatedError == true)
    }

    @Test("a session goes with the URLSession and the delegate that it shows")
    func shownSessionGoes() async {
        weak var session: Session?
        weak var shown: URLSession?
        weak var delegate: SessionDelegate?
        do {
            let made = Session(configuration: .af.ephemeral, delegate: SessionDelegate())
            (session, shown, delegate) = (made, made.session, made.delegate)
        }
        await eventually("they are released") { session == nil && shown == nil && delegate == nil }
    }

    @Test("invalidating the session ends its requests, and later ones at once")
    func invalidation() async throws {
        let session = Session.isolated()
        let task = session.request(server.url("/delay/600")).serializingData()
        try await server.events.next(.requestReceived("/delay/600"))
        session.invalidate()
        #expect(await task.response.error?.isSessionInvalidatedError == true)
        #expect(
            await session.request(server.url("/get")).serializingData().response.error?.isSessionInvalidatedError
                == true)
    }

    @Test("cancelAllRequests reaches every request, begun or not")
    func cancelAll() async throws {
        let session = Session.isolated()
        let running = session.request(server.url("/delay/600")).serializingData()
        let idle = session.request(URLRequest(url: server.url("/get")), shouldAutomaticallyResume: false)
        try await server.events.next(.requestReceived("/delay/600"))
        await withCheckedContinuation { continuation in
            session.cancelAllRequests(completingOnQueue: .global()) { continuation.resume() }
        }
        #expect(await running.response.error?.isExplicitlyCancelledError == true)
        #expect(await idle.serializingData().response.error?.isExplicitlyCancelledError == true)
        #expect(idle.isCancelled)
        session.withAllRequests { #expect($0.isEmpty) }
    }

    @Test("a retry makes a new attempt and keeps the old one's tasks")
    func retry() async throws {
        let count = ProtectedList<Int>()
        server.route("/flaky") { _ in
            count.append(1)
            return FixtureResponse.text("done", status: count.all.count < 3 ? 503 : 200)
        }
        let policy = RetryPolicy(exponentialBackoffScale: 0.01)
        let session = Session.isolated(interceptor: policy)
        let request = session.request(server.url("/flaky")).validate(statusCode: 200..<300)
        #expect(try await request.serializingString().value == "done")
        #expect(request.retryCount == 2 && request.tasks.count == 3 && request.allMetrics.count == 3)
    }

    @Test("adapters change the request in order, and a failure of one ends it")
    func adapters() async throws {
        let mark: @Sendable (String) -> Adapter = { text in
            Adapter { request, _, completion in
                var request = request
                request.headers.add(name: "X-Trace", value: (request.headers["X-Trace"] ?? "") + text)
                completion(.success(request))
            }
        }
        let session = Session.isolated(interceptor: mark("session-"))
        let request = session.request(server.url("/anything"), interceptor: mark("own"))
        #expect(try await request.serializingDecodable(Anything.self).value.headers["X-Trace"] == "session-own")
        let failing = Adapter { _, _, completion in completion(.failure(URLError(.badURL))) }
        let error = await session.request(server.url("/get"), interceptor: failing).serializingData().response.error
        #expect(error?.isRequestAdaptationError == true)
    }

    @Test("the head can be refused before the content")
    func refuseHead() async throws {
        let session = Session.isolated()
        let request = session.request(server.url("/bytes/1000000"))
            .onHTTPResponse(on: .global()) { response, decide in decide(response.statusCode == 200 ? .cancel : .allow) }
        let response = await request.serializingData().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(response.data == nil)
    }

    @Test("dropping a request that was never resumed leaves nothing in the session")
    func dropUnstarted() throws {
        let session = Session.isolated()
        weak var dropped: DataRequest?
        do {
            let request = session.request(server.url("/get"))
            dropped = request
            #expect(dropped === request)
        }
        #expect(dropped == nil)
        session.withAllRequests { #expect($0.isEmpty) }
    }
}
