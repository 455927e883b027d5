import FireweedTesting
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@Suite("Clocks of tests", .timeLimit(.minutes(testTimeoutMinutes)))
struct TestClockTests {
    @Test("five retries over two minutes take no time on an automatic clock")
    func retries() async {
        let clock = TestClock.automatic
        let policy = RetryPolicy(retryLimit: 5, exponentialBackoffScale: 4)
        let session = Session.stubbed(clock: clock, interceptor: policy) {
            Stub.get("/").reply(.status(503))
        }
        let response = await session.request("\(api)/").validate().serializingData().response
        #expect(response.error?.responseCode == 503)
        #expect(session.stubs.requests.count == 6)
        // Alamofire's back-off: 4 × 2ⁿ seconds before the n-th retry, from n = 0 on.
        #expect(clock.elapsed == .seconds(124))
    }

    @Test("Retry-After is waited for")
    func retryAfter() async throws {
        let clock = TestClock.automatic
        let session = Session.stubbed(
            clock: clock,
            interceptor: RetryPolicy(options: RetryOptions(retryAfter: .obey(upTo: .seconds(600))))
        ) {
            Stub.get("/").reply(.status(503, headers: ["Retry-After": "120"]), .text("done"))
        }
        #expect(try await session.request("\(api)/").validate().serializingString().value == "done")
        #expect(clock.elapsed >= .seconds(120))
    }

    @Test("a deadline ends retries in the clock's time")
    func deadline() async {
        let clock = TestClock.automatic
        let session = Session.stubbed(clock: clock, interceptor: RetryPolicy(retryLimit: 100)) {
            Stub.get("/").reply(.neverAnswers)
        }
        let response = await session.request("\(api)/").deadline(.seconds(10)).serializingData()
            .response
        #expect((response.error?.underlyingError as? URLError)?.code == .timedOut)
        #expect(clock.elapsed == .seconds(10))
    }

    @Test("the idle time-out of a stub that never answers is the clock's")
    func idle() async {
        let clock = TestClock.automatic
        let session = Session.stubbed(clock: clock) { Stub.get("/").reply(.text("half").stalling()) }
        let response = await session.request("\(api)/", requestModifier: { $0.timeoutInterval = 30 })
            .serializingData()
            .response
        #expect((response.error?.underlyingError as? URLError)?.code == .timedOut)
        #expect(clock.elapsed == .seconds(30))
    }

    @Test("a delay that its request no longer waits for moves no clock", arguments: [false, true])
    func abandonedDelay(isFault: Bool) async throws {
        let clock = TestClock.automatic
        let stubs = StubTransport(clock: clock) {
            Stub.get("/late").reply(isFault ? .text("late") : .text("late").delayed(by: .seconds(3600)))
            Stub.get("/soon").reply(.text("soon").delayed(by: .seconds(1)))
        }
        let faulty = FaultyTransport(
            wrapping: stubs, faults: [.delay(.seconds(3600)): isFault ? 1 : 0], seed: 1, isPrinted: false)
        let (impatient, patient) = (Session(transport: faulty), Session(transport: stubs))
        let late = await impatient.request("\(api)/late").deadline(.seconds(10)).serializingData().response
        #expect((late.error?.underlyingError as? URLError)?.code == .timedOut)
        #expect(try await patient.request("\(api)/soon").serializingString().value == "soon")
        #expect(clock.elapsed == .seconds(11))
        withExtendedLifetime((impatient, patient)) {}
    }

    @Test("a request that is cancelled before its retry is released, and leaves no delay behind")
    func cancelledRetry() async {
        struct Known: Sendable { weak let request: Request? }
        let clock = TestClock()
        let session = Session.stubbed(clock: clock, interceptor: RetryPolicy()) { Stub.any().reply(.status(503)) }
        let cancelled = { () async -> Known in
            let request = session.request("\(api)/").validate()
            async let response = request.serializingData().response
            await clock.delayIsPending()
            request.cancel()
            #expect(await response.error != nil)
            return Known(request: request)
        }
        let known = await cancelled()
        while known.request != nil { await Task.yield() }
    }

    @Test("a clock stands still until it is advanced")
    func manual() async throws {
        let clock = TestClock()
        let session = Session.stubbed(clock: clock) {
            Stub.get("/").reply(.text("late").delayed(by: .seconds(20)))
        }
        async let text = session.request("\(api)/").serializingString().value
        await clock.delayIsPending()
        clock.advance(by: .seconds(19))
        await clock.delayIsPending()
        clock.advance(by: .seconds(1))
        #expect(try await text == "late")
        #expect(clock.elapsed == .seconds(20))
    }

    @Test("waiting for a delay that never comes ends with its task, as a time limit wants it")
    func cancelledWait() async {
        let clock = TestClock()
        let task = Task { await clock.delayIsPending() }
        task.cancel()
        await task.value
        // The clock is of use after that.
        let queue = DispatchQueue(label: "test")
        async let pending: Void = clock.delayIsPending()
        clock.schedule(.delay, after: .seconds(1), on: queue) {}
        await pending
    }

    @Test("stored responses grow old by the clock")
    func cache() async throws {
        let clock = TestClock()
        let session = Session.stubbed(clock: clock) {
            Stub.get("/").reply { _ in .text("a", headers: ["Cache-Control": "max-age=3600"]) }
        }
        for (minutes, count) in [(0, 1), (59, 1), (2, 2)] {
            clock.advance(by: .seconds(60 * minutes))
            _ = await session.request("\(api)/").serializingData().response
            await session.flushResponseStore()
            #expect(session.stubs.requests.count == count)
        }
    }

    @Test("cookies expire by the clock")
    func cookies() async throws {
        let clock = TestClock()
        let session = Session.stubbed(clock: clock) {
            Stub.get("/set").reply(.text("a", headers: ["Set-Cookie": "s=1; Max-Age=600"]))
            Stub.get("/").reply { .text($0.cookies["s"] ?? "none") }
        }
        _ = await session.request("\(api)/set").serializingData().response
        #expect(try await session.request("\(api)/").serializingString().value == "1")
        clock.advance(by: .seconds(599))
        #expect(try await session.request("\(api)/").serializingString().value == "1")
        clock.advance(by: .seconds(2))
        #expect(try await session.request("\(api)/").serializingString().value == "none")
    }

    @Test("hosts that ask for TLS are forgotten by the clock")
    func strictTransport() async throws {
        let clock = TestClock()
        let stubs = StubTransport(clock: clock) {
            Stub.get("https://*.example.com/**").reply(.ok.header("Strict-Transport-Security", "max-age=3600"))
            Stub.any()
        }
        let session = Session(
            transport: stubs, options: SessionOptions(strictTransportSecurity: StrictTransportSecurity()))
        let insecure = api.replacingOccurrences(of: "https", with: "http")
        _ = await session.request("\(api)/").serializingData().response
        for minutes in [0, 59, 61] {
            clock.advance(by: .seconds(60 * minutes))
            _ = await session.request("\(insecure)/").serializingData().response
        }
        // The second answer over TLS, after 59 minutes, counts for an hour more.
        #expect(stubs.stubs.requests.map { $0.url?.scheme } == ["https", "https", "https", "http"])
    }

    @Test("credentials are refreshed again when the refresh window is over")
    func refreshWindow() async {
        let (clock, authenticator) = (TestClock(), Renewal())
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Renewal.Token(number: 0),
            refreshWindow: .init(interval: 30, maximumAttempts: 2))
        let session = Session.stubbed(clock: clock, interceptor: interceptor) { Stub.any().reply(.status(401)) }
        var counts: [Int] = []
        for seconds in [0, 29, 2] {
            clock.advance(by: .seconds(seconds))
            let response = await session.request("\(api)/").validate().serializingData().response
            #expect(response.error?.underlyingError as? AuthenticationError == .excessiveRefresh)
            counts.append(authenticator.count)
        }
        #expect(counts == [2, 2, 4])
    }

    @Test("a request without a route waits for one in the clock's time, and no longer than it has to")
    func offline() async {
        let clock = TestClock.automatic
        let retrier = OfflineRetrier(maximumWait: .seconds(300))
        let session = Session.stubbed(clock: clock, interceptor: retrier) {
            Stub.any().reply(.failure(.notConnectedToInternet))
        }
        // The route to this machine is there: it is tried at once, and after that only a change counts.
        let response = await session.request("http://127.0.0.1/").serializingData().response
        #expect((response.error?.underlyingError as? URLError)?.code == .notConnectedToInternet)
        #expect(session.stubs.requests.count == 2)
        // Retriers are asked about the request's failure, and as in Alamofire about the serialiser's after it: the
        // second question is about a wait that is over.
        #expect(clock.elapsed == .seconds(300))
    }

    @Test("the time-outs of a URLProtocol go by the clock")
    func urlProtocol() async throws {
        let clock = TestClock()
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.protocolClasses = [SilentProtocol.self]
        configuration.timeoutIntervalForResource = 1
        let stubs = StubTransport(clock: clock) { Stub.any() }
        let session = Session(transport: stubs, configuration: configuration)
        let ending = Mutex<URLError.Code?>(nil)
        let request = session.request("\(api)/")
        let task = Task {
            let response = await request.serializingData().response
            ending.withLock { $0 = (response.error?.underlyingError as? URLError)?.code }
        }
        await SilentProtocol.hasStarted()
        clock.advance(by: .milliseconds(999))
        #expect(ending.withLock(\.self) == nil)
        clock.advance(by: .milliseconds(1))
        await task.value
        #expect(ending.withLock(\.self) == .timedOut)
        #expect(clock.elapsed == .seconds(1))
    }
}

/// Counts what it renews, and is never believed.
private final class Renewal: Authenticator {
    struct Token: AuthenticationCredential {
        let number: Int
        let requiresRefresh = false
    }

    private let refreshes = Mutex(0)
    var count: Int { refreshes.withLock(\.self) }

    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
        urlRequest.headers.add(.authorization(bearerToken: "\(credential.number)"))
    }

    func refresh(
        _ credential: Token, for session: Session, completion: @escaping @Sendable (Result<Token, any Error>) -> Void
    ) {
        refreshes.withLock { $0 += 1 }
        completion(.success(Token(number: credential.number + 1)))
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
        urlRequest.headers["Authorization"] == "Bearer \(credential.number)"
    }
}

/// Takes every request, and says nothing.
private final class SilentProtocol: URLProtocol {
    private static let starts = AsyncStream<Void>.makeStream()

    static func hasStarted() async {
        for await _ in starts.stream { return }
    }

    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() { Self.starts.continuation.yield() }
    override func stopLoading() {}
}
