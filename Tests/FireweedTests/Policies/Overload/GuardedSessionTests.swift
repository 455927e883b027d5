// Guards in sessions.

import FireweedTesting
import FireweedTransport
import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import Fireweed

@Suite("Guards in sessions", .timeLimit(.minutes(TestTimeouts.minutes)))
struct GuardedSessionTests {
    private static let url = "https://api.test/things"
    private static let origin = "https://api.test:443"

    private static func session(
        _ guards: [any TransportGuard], clock: any SessionClock = TestClock(),
        interceptor: (any RequestInterceptor)? = nil, eventMonitors: [any EventMonitor] = [],
        responseStore: (any ResponseStore)? = nil, @StubsBuilder _ stubs: () -> [Stub]
    ) -> Session {
        Session(
            transport: StubTransport(clock: clock, stubs), interceptor: interceptor, eventMonitors: eventMonitors,
            options: SessionOptions(responseStore: responseStore, guards: guards))
    }

    private static func refusal(_ response: DataResponse<Data, AFError>) -> OverloadError? {
        response.error?.underlyingError as? OverloadError
    }

    private static func get(_ session: Session, _ url: String = url) async -> DataResponse<Data, AFError> {
        await session.request(url).serializingData(emptyResponseCodes: Set(100...599)).response
    }

    // MARK: The circuit breaker

    @Test("twenty failures open the circuit; three probes after the pause close it")
    func circuit() async {
        let clock = TestClock()
        let breaker = CircuitBreaker()
        let isWell = Atomic(false)
        let session = Self.session([breaker], clock: clock) {
            Stub.any().reply { _ in .status(isWell.load(ordering: .relaxed) ? 200 : 500) }
        }
        for _ in 0..<20 { #expect(await Self.get(session).response?.statusCode == 500) }
        #expect(breaker.stages == [Self.origin: .open])
        for _ in 0..<5 {
            #expect(Self.refusal(await Self.get(session)) == .circuitOpen(origin: Self.origin, pause: .seconds(1)))
        }
        #expect(breaker.refusalCount == 5)
        #expect(session.stubs.requests.count == 20)
        isWell.store(true, ordering: .relaxed)
        clock.advance(by: .seconds(1))
        for stage in [CircuitBreaker.Stage.probing, .probing, .closed] {
            #expect(await Self.get(session).response?.statusCode == 200)
            #expect(breaker.stages == [Self.origin: stage])
        }
    }

    @Test(
        "statuses and failures that count",
        arguments: [
            (.status(500), true), (.status(502), true), (.status(503), true), (.status(504), true),
            (.status(501), false), (.status(404), false), (.status(429), false), (.status(200), false),
            (.failure(.timedOut), true), (.failure(.cannotFindHost), true), (.failure(.dnsLookupFailed), true),
            (.failure(.cannotConnectToHost), true), (.failure(.secureConnectionFailed), true),
            (.failure(.networkConnectionLost), true), (.failure(.badServerResponse), true),
            (.failure(.cannotParseResponse), true), (.failure(.serverCertificateUntrusted), false),
            (.failure(.cancelled), false), (.failure(.notConnectedToInternet), false),
        ] as [(MockResponse, Bool)])
    func failures(response: MockResponse, isFailure: Bool) async {
        let breaker = CircuitBreaker()
        let session = Self.session([breaker]) { Stub.any().reply(response) }
        for _ in 0..<30 { _ = await Self.get(session) }
        #expect(breaker.stages[Self.origin] == (isFailure ? .open : .closed))
    }

    @Test("a failure after the head is not the circuit's, since the server answered")
    func lateFailure() async {
        let breaker = CircuitBreaker()
        let session = Self.session([breaker]) { Stub.any().reply(.text("content").failing()) }
        for _ in 0..<30 { _ = await Self.get(session) }
        #expect(breaker.stages == [Self.origin: .closed])
    }

    @Test("origins have circuits of their own")
    func origins() async {
        let breaker = CircuitBreaker()
        let session = Self.session([breaker]) {
            Stub.any("https://bad.test/**").reply(.status(503))
            Stub.any("https://good.test/**").reply(.status(200))
        }
        for _ in 0..<20 { _ = await Self.get(session, "https://bad.test/") }
        #expect(await Self.get(session, "https://good.test/").response?.statusCode == 200)
        #expect(breaker.stages == ["https://bad.test:443": .open, "https://good.test:443": .closed])
    }

    @Test(
        "a requested pause counts when the circuit opens, up to the longest",
        arguments: [
            (503, ["Retry-After": "10"], 10), (503, ["Retry-After": "600"], 30),
            (503, ["RateLimit": "\"default\";r=0;t=9"], 9), (500, ["RateLimit": "\"default\";r=0;t=9"], 9),
            (503, ["RateLimit": "\"day\";r=0", "RateLimit-Policy": "\"day\";q=10;w=12"], 12),
            (503, ["Retry-After": "4", "RateLimit": "\"default\";r=0;t=9"], 9),
            (503, ["RateLimit": "\"default\";r=3;t=9"], 1), (500, ["Retry-After": "10"], 1),
        ] as [(Int, HTTPHeaders, Int)])
    func requestedPause(status: Int, headers: HTTPHeaders, seconds: Int) async {
        let session = Self.session([.circuitBreaker()]) { Stub.any().reply(.status(status, headers: headers)) }
        for _ in 0..<20 { _ = await Self.get(session) }
        #expect(Self.refusal(await Self.get(session)) == .circuitOpen(origin: Self.origin, pause: .seconds(seconds)))
    }

    @Test("a quota that is used up does not open a circuit: the origin does its work")
    func usedUpQuota() async {
        let breaker = CircuitBreaker()
        let session = Self.session([breaker]) {
            Stub.any().reply(.status(200, headers: ["RateLimit": "\"default\";r=0;t=9"]))
        }
        for _ in 0..<30 { #expect(await Self.get(session).response?.statusCode == 200) }
        #expect(breaker.stages == [Self.origin: .closed])
    }

    @Test("a breaker that is turned off lets everything pass, and still knows when it is turned on")
    func turnedOff() async {
        let breaker = CircuitBreaker()
        let session = Self.session([breaker]) { Stub.any().reply(.status(500)) }
        for _ in 0..<20 { _ = await Self.get(session) }
        #expect(Self.refusal(await Self.get(session)) != nil)
        breaker.isEnabled = false
        #expect(await Self.get(session).response?.statusCode == 500)
        breaker.isEnabled = true
        #expect(Self.refusal(await Self.get(session)) != nil)
    }

    // MARK: The concurrency limit

    @Test("a message beyond the limit fails at once, an important one goes, and ends make room")
    func limit() async {
        let limit = ConcurrencyLimit(.fixed(5))
        let session = Self.session([limit]) {
            Stub.get("/things").reply(MockResponse(status: 200).stalling())
        }
        let monitor = RecordingMonitor(events: .tasks)
        let normal = (0..<4).map { _ in session.request(Self.url).eventMonitor(monitor).response { _ in } }
        await eventually("four are under way") { limit.usage[Self.origin]?.inFlight == 4 }
        #expect(Self.refusal(await Self.get(session)) == .limitReached(origin: Self.origin, limit: 4))
        let important = session.request(Self.url).priority(.important).response { _ in }
        await eventually("five are under way") { limit.usage[Self.origin]?.inFlight == 5 }
        let sheddable = await session.request(Self.url).priority(.sheddable).serializingData().response
        #expect(Self.refusal(sheddable) == .limitReached(origin: Self.origin, limit: 2))
        for request in normal + [important] { request.cancel() }
        await eventually("all permits are back") { limit.usage[Self.origin]?.inFlight == 0 }
        #expect(limit.refusalCount == 2)
    }

    @Test("a limit that is turned off and on while messages are under way gets every permit back, and no other")
    func limitTurnedOff() async {
        let limit = ConcurrencyLimit(.fixed(5))
        let session = Self.session([limit]) { Stub.any().reply(MockResponse(status: 200).stalling()) }
        func inFlight() -> Int { limit.usage[Self.origin]?.inFlight ?? 0 }
        let endCount = Atomic(0)
        func begin(_ count: Int) -> [DataRequest] {
            (0..<count).map { _ in session.request(Self.url).response { _ in endCount.add(1, ordering: .relaxed) } }
        }
        let counted = begin(4)
        await eventually("four are under way") { inFlight() == 4 }
        limit.isEnabled = false
        let uncounted = begin(10)
        await eventually("the limit lets all pass") { session.stubs.requests.count == 14 }
        #expect(inFlight() == 4)
        // One that was counted ends while the limit is off.
        counted[0].cancel()
        await eventually("its permit is back") { inFlight() == 3 }
        limit.isEnabled = true
        // Those that were not counted end while the limit is on.
        for request in uncounted { request.cancel() }
        await eventually("they are gone") { endCount.load(ordering: .relaxed) == 11 }
        #expect(inFlight() == 3)
        let further = begin(1)
        await eventually("there is one place") { inFlight() == 4 }
        #expect(Self.refusal(await Self.get(session)) == .limitReached(origin: Self.origin, limit: 4))
        for request in counted + further { request.cancel() }
        await eventually("all permits are back") { inFlight() == 0 }
        #expect(limit.refusalCount == 1)
    }

    @Test(
        "time-outs, 429 and 503 shrink the limit, and other ends do not",
        arguments: [
            (.status(429), 18), (.status(503), 18), (.failure(.timedOut), 18), (.status(500), 20), (.status(404), 20),
            (.failure(.cannotConnectToHost), 20),
        ] as [(MockResponse, Int)])
    func overload(response: MockResponse, limit: Int) async {
        let guarding = ConcurrencyLimit(.adaptive(initial: 20))
        let session = Self.session([guarding]) { Stub.any().reply(response) }
        _ = await Self.get(session)
        #expect(guarding.usage == [Self.origin: .init(limit: limit, inFlight: 0)])
    }

    @Test(
        "the limit grows with answers, and not with the server's failures",
        arguments: [(200, true), (404, true), (500, false), (504, false)])
    func growth(status: Int, grows: Bool) async {
        let guarding = ConcurrencyLimit(.adaptive(initial: 1, in: 1...10))
        let session = Self.session([guarding]) { Stub.any().reply(.status(status)) }
        for _ in 0..<20 { _ = await Self.get(session) }
        #expect(((guarding.usage[Self.origin]?.limit ?? 0) > 1) == grows)
    }

    @Test("a head that comes later than the target shrinks the limit", arguments: [(50, 20), (150, 18)])
    func latencyTarget(milliseconds: Int, limit: Int) async {
        let guarding = ConcurrencyLimit(.adaptive(initial: 20, latencyTarget: .milliseconds(100)))
        let session = Self.session([guarding], clock: TestClock.automatic) {
            Stub.any().reply(.status(200).delayed(by: .milliseconds(milliseconds)))
        }
        _ = await Self.get(session)
        #expect(guarding.usage[Self.origin]?.limit == limit)
    }

    @Test("the deadline of a request is a time-out, although its message is cancelled")
    func deadline() async {
        let guarding = ConcurrencyLimit(.adaptive(initial: 20))
        let clock = TestClock()
        let session = Self.session([guarding], clock: clock) {
            Stub.any().reply(.status(200).delayed(by: .seconds(10)))
        }
        async let answer = session.request(Self.url).deadline(.milliseconds(500)).serializingData().response
        await clock.delayIsPending()
        clock.advance(by: .milliseconds(500))
        let response = await answer
        #expect((response.error?.underlyingError as? URLError)?.code == .timedOut)
        await eventually("the permit is back") { guarding.usage[Self.origin]?.inFlight == 0 }
        #expect(guarding.usage[Self.origin]?.limit == 18)
    }

    @Test(
        "an origin that asks for a pause gets nothing until it is over",
        arguments: [
            (429, ["Retry-After": "5"], 5), (503, ["Retry-After": "7"], 7), (429, ["Retry-After": "600"], 30),
            (200, ["RateLimit": "\"default\";r=0;t=9"], 9), (200, ["Retry-After": "5"], 0),
            (200, ["RateLimit": "\"default\";r=3;t=9"], 0),
        ] as [(Int, HTTPHeaders, Int)])
    func pause(status: Int, headers: HTTPHeaders, seconds: Int) async {
        let clock = TestClock()
        let session = Self.session([.concurrencyLimit()], clock: clock) {
            Stub.any().reply(.status(status, headers: headers))
        }
        _ = await Self.get(session)
        let refusal = Self.refusal(await Self.get(session))
        guard seconds > 0 else { return #expect(refusal == nil) }
        #expect(refusal == .pauseRequested(origin: Self.origin, pause: .seconds(seconds)))
        clock.advance(by: .seconds(seconds))
        #expect(Self.refusal(await Self.get(session)) == nil)
    }

    @Test("a stream counts until its head has come, and a WebSocket not at all")
    func streams() async {
        let limit = ConcurrencyLimit(.fixed(2))
        let feed = ResponseFeed()
        let session = Self.session([limit]) { Stub.any().reply(.stream(from: feed)) }
        let requests = (0..<5).map { _ in
            session.streamRequest(URLRequest(url: URL(string: Self.url) ?? URL(fileURLWithPath: "/")))
        }
        for request in requests {
            await withCheckedContinuation { continuation in
                let isFirst = Atomic(true)
                request.onHTTPResponse { _ in
                    if isFirst.exchange(false, ordering: .relaxed) { continuation.resume() }
                }
                .responseStream { _ in }
            }
        }
        #expect(limit.usage[Self.origin]?.inFlight == 0)
        for request in requests { request.cancel() }
        #expect(Self.refusal(await Self.get(session)) == nil || limit.usage[Self.origin]?.inFlight == 0)
    }

    // MARK: In the session

    @Test("a stored response is delivered although the circuit is open")
    func stored() async {
        let breaker = CircuitBreaker()
        let session = Self.session([breaker], responseStore: MemoryResponseStore()) {
            Stub.get("/stored").reply(.text("kept", headers: ["Cache-Control": "max-age=60"]))
            Stub.get("/things").reply(.status(500))
        }
        let stored = "https://api.test/stored"
        #expect(await Self.get(session, stored).value == Data("kept".utf8))
        for _ in 0..<20 { _ = await Self.get(session) }
        #expect(Self.refusal(await Self.get(session)) != nil)
        #expect(await Self.get(session, stored).value == Data("kept".utf8))
    }

    @Test("a stale response that may stand in for a failure stands in for a refusal")
    func stale() async {
        let (breaker, clock) = (CircuitBreaker(), TestClock())
        let session = Self.session([breaker], clock: clock, responseStore: MemoryResponseStore()) {
            Stub.get("/stored").reply(.text("kept", headers: ["Cache-Control": "max-age=1, stale-if-error=600"]))
            Stub.get("/things").reply(.status(500))
        }
        let stored = "https://api.test/stored"
        #expect(await Self.get(session, stored).value == Data("kept".utf8))
        clock.advance(by: .seconds(10))
        for _ in 0..<20 { _ = await Self.get(session) }
        #expect(Self.refusal(await Self.get(session)) != nil)
        #expect(await Self.get(session, stored).value == Data("kept".utf8))
        #expect(session.stubs.requests.count == 21)
    }

    @Test("a refusal is not retried, and takes nothing from the budget")
    func unretried() async {
        let budget = RetryBudget(burst: 1, perRequest: 0, perSecond: 0)
        let policy = RetryPolicy(retryLimit: 5, options: RetryOptions(budget: budget))
        let breaker = CircuitBreaker()
        let isWell = Atomic(false)
        let clock = TestClock.automatic
        let session = Self.session([breaker], clock: clock, interceptor: policy) {
            Stub.post("/things").reply(.status(500))
            Stub.get("/things").reply { _ in
                .status(isWell.exchange(true, ordering: .relaxed) ? 200 : 503)
            }
        }
        for _ in 0..<20 { _ = await session.request(Self.url, method: .post).validate().serializingData().response }
        let request = session.request(Self.url)
        #expect(Self.refusal(await request.serializingData().response) != nil)
        #expect(request.retryCount == 0)
        breaker.isEnabled = false
        let retried = session.request(Self.url).validate()
        _ = await retried.serializingData(emptyResponseCodes: [200]).response
        #expect(retried.retryCount == 1, "the budget has its retry yet")
    }

    @Test("monitors are told of every refusal")
    func monitors() async {
        let refusals = ProtectedList<OverloadError>()
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "refusals"))
        monitor.requestWasRefused = { refusals.append($1) }
        let session = Self.session([.circuitBreaker()], eventMonitors: [monitor]) { Stub.any().reply(.status(500)) }
        for _ in 0..<23 { _ = await Self.get(session) }
        await eventually("three refusals") { refusals.all.count == 3 }
        #expect(Set(refusals.all) == [.circuitOpen(origin: Self.origin, pause: .seconds(1))])
    }

    @Test("the first guard refuses before the second one counts")
    func order() async {
        let (breaker, limit) = (CircuitBreaker(), ConcurrencyLimit(.fixed(50)))
        let session = Self.session([breaker, limit]) { Stub.any().reply(.status(500)) }
        for _ in 0..<25 { _ = await Self.get(session) }
        #expect(breaker.refusalCount == 5)
        #expect(limit.refusalCount == 0)
        #expect(limit.usage == [Self.origin: .init(limit: 50, inFlight: 0)])
    }

    @Test("a refusal by the limit does not count as a failure in the breaker around it")
    func refusalInside() async {
        let (breaker, limit) = (CircuitBreaker(), ConcurrencyLimit(.fixed(1)))
        let session = Self.session([breaker, limit]) { Stub.any().reply(MockResponse(status: 200).stalling()) }
        let held = session.request(Self.url).response { _ in }
        await eventually("one is under way") { limit.usage[Self.origin]?.inFlight == 1 }
        for _ in 0..<40 {
            #expect(Self.refusal(await Self.get(session)) == .limitReached(origin: Self.origin, limit: 1))
        }
        #expect(breaker.stages == [Self.origin: .closed])
        held.cancel()
    }

    @Test("a connection and a TLS handshake that the engine cannot make open the circuit", arguments: [false, true])
    func unmadeConnection(isHandshake: Bool) async throws {
        let server = try FixtureServer.start()
        var policy = CircuitBreaker.Policy()
        policy.minimumCount = 1
        let session = Session(
            configuration: .af.ephemeral, options: SessionOptions(guards: [.circuitBreaker(policy)]))
        let url = isHandshake ? "\(server.url("/"))".replacing("http:", with: "https:") : "http://127.0.0.1:1/"
        let first = await session.request(url).serializingData().response
        #expect(first.error?.underlyingError is URLError)
        let second = await session.request(url).serializingData().response
        guard case OverloadError.circuitOpen? = second.error?.underlyingError else {
            Issue.record("\(second)")
            return
        }
    }
}
