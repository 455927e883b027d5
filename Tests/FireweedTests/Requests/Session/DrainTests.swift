import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@Suite("Drain", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DrainTests {
    private let clock = TestClock()

    private func session(
        interceptor: (any RequestInterceptor)? = nil, eventMonitors: [any EventMonitor] = [],
        startRequestsImmediately: Bool = true,
        @StubsBuilder _ stubs: () -> [Stub] = { [Stub.any().reply(.status(204))] }
    ) -> Session {
        Session.stubbed(
            clock: clock, interceptor: interceptor, eventMonitors: eventMonitors,
            startRequestsImmediately: startRequestsImmediately, stubs)
    }

    private func reason(_ error: (any Error)?) -> SessionDrainError? {
        (error as? AFError)?.underlyingError as? SessionDrainError
    }

    /// Advances the clock, by `most` at most, until something holds: the timer of a drain may be set at any moment.
    ///
    /// On a busy machine the effect of a timer that is due may come many steps later.
    private func advance(
        by step: Duration, atMost most: Duration, until description: Comment, _ holds: () -> Bool
    ) async {
        await eventually(description) {
            if holds() { return true }
            if clock.elapsed < most { clock.advance(by: step) }
            return false
        }
    }

    @Test("requests under way end well, new ones fail, and the session is invalid afterwards")
    func ends() async throws {
        let session = session { Stub.any().reply(.status(204).delayed(by: .seconds(3))) }
        let slow = session.request("https://a.test/slow").serializingData(emptyResponseCodes: [204])
        await clock.delayIsPending()
        #expect(session.activeRequestCount == 1 && !session.isDraining)
        async let report = session.drain(within: .seconds(3600))
        await eventually("the drain has begun") { session.isDraining }
        let late = await session.request("https://a.test/late").serializingData(emptyResponseCodes: [204]).response
        #expect(reason(late.error) == .draining)
        clock.advance(by: .seconds(3))
        #expect(await report == DrainReport(finished: 1, cancelled: 0))
        #expect(await slow.response.response?.statusCode == 204)
        let later = await session.request("https://a.test/later").serializingData(emptyResponseCodes: [204]).response
        #expect(reason(later.error) == .draining && session.activeRequestCount == 0 && session.isDraining)
    }

    @Test("at the limit the rest is cancelled, and told so; a second call gets the same report")
    func limit() async {
        let session = session { Stub.any().reply(.status(204).delayed(by: .seconds(86_400))) }
        let task = session.request("https://a.test/") { $0.timeoutInterval = 86_400 }.serializingData()
        await clock.delayIsPending()
        async let first = session.drain(within: .seconds(20))
        await eventually("the drain has begun") { session.isDraining }
        async let second = session.drain(within: .seconds(40_000))
        await advance(by: .seconds(20), atMost: .seconds(30_000), until: "the request ends") {
            session.activeRequestCount == 0
        }
        #expect(await first == DrainReport(finished: 0, cancelled: 1))
        #expect(await second == DrainReport(finished: 0, cancelled: 1))
        #expect(await session.drain(within: .zero) == DrainReport(finished: 0, cancelled: 1))
        let error = await task.response.error
        #expect(reason(error) == .limitReached, "\(error as Any)")
    }

    @Test("a limit of zero cancels at once, and so does the end of the task that waits", arguments: [true, false])
    func atOnce(isZero: Bool) async {
        let session = session { Stub.any().reply(.status(204).delayed(by: .seconds(86_400))) }
        let task = session.request("https://a.test/").serializingData()
        await clock.delayIsPending()
        let report = Task { await session.drain(within: isZero ? .zero : .seconds(86_400)) }
        if !isZero {
            await eventually("the drain has begun") { session.isDraining }
            report.cancel()
        }
        #expect(await report.value == DrainReport(finished: 0, cancelled: 1))
        #expect(reason(await task.response.error) == .limitReached && clock.elapsed == .zero)
    }

    @Test("a task that is cancelled before it drains waits for nothing")
    func cancelledBefore() async {
        let session = session { Stub.any().reply(.status(204).delayed(by: .seconds(86_400))) }
        let task = session.request("https://a.test/").serializingData()
        await clock.delayIsPending()
        let report = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await session.drain(within: .seconds(86_400))
        }
        #expect(await report.value == DrainReport(finished: 0, cancelled: 1))
        #expect(reason(await task.response.error) == .limitReached)
    }

    @Test("retries and redirects of known requests go on")
    func retries() async throws {
        let session = session(interceptor: RetryPolicy()) {
            Stub.get("/start").reply(.status(503).delayed(by: .seconds(1)), .status(302).header("Location", "/end"))
            Stub.get("/end").reply(.text("well"))
        }
        let task = session.request("https://a.test/start").validate().serializingString()
        await clock.delayIsPending()
        async let report = session.drain(within: .seconds(3600))
        await eventually("the drain has begun") { session.isDraining }
        clock.advance(by: .seconds(1))
        await clock.delayIsPending()
        clock.advance(by: .seconds(1))
        #expect(try await task.value == "well")
        #expect(await report == DrainReport(finished: 1, cancelled: 0))
    }

    @Test("requests that were made and not resumed are refused at once")
    func neverResumed() async {
        let session = session(startRequestsImmediately: false)
        let request = session.request("https://a.test/")
        let errors = ProtectedList<SessionDrainError?>()
        request.response(queue: .global()) { errors.append(reason($0.error)) }
        #expect(await session.drain(within: .seconds(3600)) == DrainReport(finished: 0, cancelled: 0))
        await eventually("its handler is called") { !errors.all.isEmpty }
        #expect(errors.all == [.draining])
        let other = await session.request("https://a.test/").resume().serializingData().response
        #expect(reason(other.error) == .draining && clock.elapsed == .zero)
    }

    @Test("a request that a rate limit holds before its first attempt is refused")
    func heldBack() async {
        let limiter = RateLimiter(RateLimit(1, per: .seconds(3600)))
        let session = session(interceptor: limiter)
        _ = await session.request("https://a.test/").serializingData(emptyResponseCodes: [204]).response
        let held = session.request("https://a.test/").serializingData(emptyResponseCodes: [204])
        await eventually("the second request waits") { limiter.waitingCount == 1 }
        #expect(await session.drain(within: .seconds(86_400)) == DrainReport(finished: 0, cancelled: 1))
        #expect(reason(await held.response.error) == .draining)
        #expect(limiter.waitingCount == 0 && clock.elapsed == .zero)
    }

    @Test("a source of events does not connect again")
    func events() async {
        let session = session { Stub.any().reply(.text("data: one\n\n", contentType: "text/event-stream")) }
        let received = ProtectedList<String>()
        let reader = Task {
            for try await event in session.streamRequest("https://a.test/").serverSentEvents() {
                received.append(event.data)
            }
        }
        await clock.delayIsPending()
        #expect(await session.drain(within: .seconds(86_400)) == DrainReport(finished: 0, cancelled: 1))
        let error = await #expect(throws: AFError.self) { try await reader.value }
        #expect(reason(error) == .draining && received.all == ["one"] && clock.elapsed == .zero)
    }

    @Test("a WebSocket is closed with the code 1001")
    func webSockets() async throws {
        let codes = ProtectedList<Int?>()
        let server = try MockServer.start {
            Stub.webSocket("/chat") { socket in
                socket.send("open")
                do {
                    while true { _ = try await socket.receive() }
                } catch let closed as MockWebSocketClosed {
                    codes.append(closed.code?.rawValue)
                }
            }
        }
        let session = Session()
        let isOpen = Atomic(false)
        session.webSocketRequest(to: server.url("/chat")).streamMessageEvents(on: .global()) { event in
            if case .receivedMessage = event.kind { isOpen.store(true, ordering: .releasing) }
        }
        await eventually("the WebSocket is open") { isOpen.load(ordering: .acquiring) }
        #expect(await session.drain(within: TestTimeouts.limit) == DrainReport(finished: 1, cancelled: 0))
        await eventually("the server has got the code") { codes.all == [1001] }
    }

    @Test("idle connections are closed while a request is under way")
    func connections() async throws {
        let server = try FixtureServer.start()
        let silent = try ScriptedServer.start([.receiveHead, .hold])
        let session = Session.isolated()
        _ = try await session.request(server.url("/anything")).serializingData().value
        let held = session.request(silent.url())
        let task = held.serializingData()
        await eventually("the second request is sent") { session.statistics.active == 1 }
        async let report = session.drain(within: TestTimeouts.limit)
        try await server.events.next(.connectionClosed)
        #expect(session.activeRequestCount == 1)
        held.cancel()
        #expect(await report == DrainReport(finished: 1, cancelled: 0))
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
    }

    @Test("responses are stored when it returns, and a validation in the background is not waited for")
    func stored() async throws {
        let store = MemoryResponseStore()
        let transport = StubTransport(clock: clock) {
            Stub.any().reply(
                .text("one").header("Cache-Control", "max-age=10, stale-while-revalidate=1000"),
                .text("two").delayed(by: .seconds(86_400)))
        }
        let session = Session(transport: transport, options: SessionOptions(responseStore: store))
        #expect(try await session.request("https://a.test/").serializingString().value == "one")
        await session.flushResponseStore()
        clock.advance(by: .seconds(20))
        #expect(try await session.request("https://a.test/").serializingString().value == "one")
        await clock.delayIsPending()
        #expect(await session.drain(within: .seconds(3600)) == DrainReport(finished: 0, cancelled: 0))
        #expect(store.count == 1 && clock.elapsed == .seconds(20))
    }

    @Test(
        "a store that does not answer holds the drain up for what is left of its limit, or for a second",
        arguments: [false, true])
    func deafStore(isCancelled: Bool) async throws {
        let transport = StubTransport(clock: clock) {
            Stub.any().reply(.text("one").header("Cache-Control", "max-age=1000"))
        }
        let session = Session(transport: transport, options: SessionOptions(asyncResponseStore: DeafStore()))
        for path in 1...5 {
            #expect(try await session.request("https://a.test/\(path)").serializingString().value == "one")
        }
        let ends = EventLog<Bool>()
        let drain = Task {
            _ = await session.drain(within: isCancelled ? .seconds(86_400) : .milliseconds(500))
            ends.note(true)
        }
        if isCancelled { drain.cancel() }
        await advance(by: .milliseconds(100), atMost: .seconds(80_000), until: "the drain is over") {
            !ends.events.isEmpty
        }
        await drain.value
        #expect(session.isDraining && session.activeRequestCount == 0)
    }

    @Test("while many threads make requests, each of them ends, and nothing is left")
    func race() async {
        let session = Session.stubbed { Stub.any().reply(.status(204)) }
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<400 {
                group.addTask {
                    if number == 100 || number == 200 { await session.drain(within: TestTimeouts.limit) }
                    let response = await session.request("https://a.test/\(number)")
                        .serializingData(emptyResponseCodes: [204]).response
                    return response.error == nil || reason(response.error) == .draining
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 400 && outcomes.allSatisfy(\.self))
        #expect(session.activeRequestCount == 0 && session.isDraining)
    }

    @Test("a handler may make a request during a drain, which is refused")
    func fromHandler() async {
        let session = session { Stub.any().reply(.status(204).delayed(by: .seconds(1))) }
        let errors = ProtectedList<SessionDrainError?>()
        session.request("https://a.test/").response(queue: .global()) { _ in
            session.request("https://a.test/next").response(queue: .global()) { errors.append(reason($0.error)) }
        }
        await clock.delayIsPending()
        async let report = session.drain(within: .seconds(3600))
        await eventually("the drain has begun") { session.isDraining }
        clock.advance(by: .seconds(1))
        #expect(await report == DrainReport(finished: 1, cancelled: 0))
        await eventually("the second handler is called") { errors.all == [.draining] }
    }
}

/// A store that has nothing, and never ends a change.
private final class DeafStore: AsyncResponseStore {
    var maximumEntryByteCount: Int { 1 << 20 }
    var timeout: Duration { .seconds(86_400) }

    func lookUp(
        _ key: String, claimsFetch: Bool, choosing choose: @escaping @Sendable ([StoredHead]) -> Int?
    ) async throws -> ResponseLookup { ResponseLookup() }

    func store(_ response: StoredResponse, for key: String, revision: UInt64?) async throws {
        for await _ in AsyncStream<Void>.makeStream().stream {}
    }

    func updateHead(_ head: StoredHead, for key: String) async throws {}
    func removeResponses(for key: String) async throws {}
    func removeAllResponses() async throws {}
}
