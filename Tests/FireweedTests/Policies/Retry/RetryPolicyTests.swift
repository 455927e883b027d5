import FireweedTesting
import FixtureServer
import Foundation
import Testing

@Suite("RetryPolicy", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RetryPolicyTests {
    private let url = "https://service.example/"

    /// A session that is always answered alike, and in which delays take no time.
    private func session(_ policy: RetryPolicy, _ response: MockResponse = .status(503)) -> Session {
        .stubbed(clock: TestClock.automatic, interceptor: policy) { Stub.any().reply(response) }
    }

    /// How often a request was retried that always fails alike.
    private func retries(
        _ policy: RetryPolicy = RetryPolicy(), _ response: MockResponse = .status(503), method: HTTPMethod = .get,
        headers: HTTPHeaders? = nil
    ) async -> Int {
        let session = session(policy, response)
        _ = await session.request(url, method: method, headers: headers).finalError
        return session.stubs.requests.count - 1
    }

    @Test("the documented defaults")
    func defaults() {
        let policy = RetryPolicy()
        #expect(policy.retryLimit == 2 && policy.exponentialBackoffBase == 2 && policy.exponentialBackoffScale == 0.5)
        #expect(policy.retryableHTTPMethods == [.delete, .get, .head, .options, .put, .trace])
        #expect(policy.retryableHTTPStatusCodes == [408, 500, 502, 503, 504])
        // Alamofire's list; a certificate whose date is wrong has another code here, as on Apple's platforms.
        #expect(
            policy.retryableURLErrorCodes == [
                .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected, .badServerResponse,
                .callIsActive, .cannotConnectToHost, .cannotFindHost, .cannotLoadFromNetwork, .dataNotAllowed,
                .dnsLookupFailed, .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete,
                .internationalRoamingOff, .networkConnectionLost, .notConnectedToInternet, .secureConnectionFailed,
                .serverCertificateHasBadDate, .serverCertificateNotYetValid, .timedOut,
            ])
        let lost = ConnectionLostRetryPolicy()
        #expect(lost.retryableURLErrorCodes == [.networkConnectionLost] && lost.retryableHTTPStatusCodes.isEmpty)
        #expect(lost.retryLimit == 2)
    }

    @Test(
        "retries statuses that may pass, and no others", arguments: [400, 401, 404, 408, 429, 500, 501, 502, 503, 504])
    func statuses(status: Int) async {
        #expect(
            await retries(RetryPolicy(), .status(status)) == ([408, 500, 502, 503, 504].contains(status) ? 2 : 0))
    }

    @Test(
        "retries idempotent methods, and no others",
        arguments: [
            HTTPMethod.get, .head, .put, .delete, .options, .trace, .post, .patch, .connect, .query,
            HTTPMethod(rawValue: "LOCK"),
        ])
    func methods(method: HTTPMethod) async {
        let isIdempotent = RetryPolicy.defaultRetryableHTTPMethods.contains(method)
        #expect(await retries(method: method) == (isIdempotent ? 2 : 0))
    }

    @Test(
        "retries failures of the exchange that may pass",
        arguments: [
            (URLError.Code.networkConnectionLost, 2), (.timedOut, 2), (.cannotFindHost, 2), (.cannotConnectToHost, 2),
            (.serverCertificateUntrusted, 0), (.cancelled, 0), (.badURL, 0),
        ])
    func failures(code: URLError.Code, expected: Int) async {
        let session = session(RetryPolicy(), .failure(code))
        #expect(await session.request(url).finalError?.urlErrorCode == code)
        #expect(session.stubs.requests.count == expected + 1)
    }

    @Test("ConnectionLostRetryPolicy retries lost connections only")
    func connectionLost() async {
        for (code, expected) in [(URLError.Code.networkConnectionLost, 2), (.timedOut, 0)] {
            #expect(await retries(ConnectionLostRetryPolicy(), .failure(code)) == expected)
        }
    }

    @Test("a keyed POST is replayed when that is asked for")
    func keyed() async {
        let policy = RetryPolicy(options: RetryOptions(replays: .keyed))
        #expect(await retries(policy, method: .post, headers: ["Idempotency-Key": "7"]) == 2)
        #expect(await retries(policy, method: .post) == 0)
        #expect(await retries(method: .post, headers: ["Idempotency-Key": "7"]) == 0)
    }

    @Test("a POST that never left is replayed when that is asked for; one that may have arrived is not")
    func unsent() async {
        let policy = RetryPolicy(options: RetryOptions(replays: .unsent))
        for (code, expected) in [(URLError.Code.cannotConnectToHost, 2), (.networkConnectionLost, 0), (.timedOut, 0)] {
            #expect(await retries(policy, .failure(code), method: .post) == expected)
        }
    }

    @Test("a POST that was redirected to a host without a connection has arrived somewhere")
    func unsentAfterRedirect() async {
        let policy = RetryPolicy(options: RetryOptions(replays: .unsent))
        let session = Session.stubbed(clock: TestClock.automatic, interceptor: policy) {
            Stub.any("/gone").reply(.failure(.cannotConnectToHost))
            Stub.any().reply(.redirect(to: "/gone", status: 307))
        }
        #expect(await session.request(url, method: .post).finalError?.urlErrorCode == .cannotConnectToHost)
        #expect(session.stubs.requests.map(\.path) == ["/", "/gone"])
    }

    @Test("Retry-After beyond the limit ends the retries; a shorter one is waited for")
    func retryAfter() async {
        let policy = RetryPolicy(options: RetryOptions(retryAfter: .obey(upTo: .seconds(5))))
        for (value, seconds) in [("3600", nil), ("Fri, 31 Dec 9999 23:59:59 GMT", nil), ("5", 10), ("0", 0)] {
            let clock = TestClock.automatic
            let session = Session.stubbed(clock: clock, interceptor: policy) {
                Stub.any().reply(.status(503, headers: ["retry-after": value]))
            }
            _ = await session.request(url).finalError
            #expect(session.stubs.requests.count == (seconds == nil ? 1 : 3))
            #expect(clock.elapsed == .seconds(seconds ?? 0))
        }
    }

    @Test("a deadline that the next delay would miss ends the retries")
    func deadline() async {
        let policy = RetryPolicy(
            retryLimit: 9, exponentialBackoffScale: 3_600, options: RetryOptions(deadline: .seconds(60)))
        #expect(await retries(policy) == 0)
    }

    @Test("the time of a deadline is that of a clock that nobody sets", arguments: [0, 1e5, 1e10])
    func deadlineByMonotonicTime(date: TimeInterval) async {
        let policy = RetryPolicy(
            retryLimit: 9, exponentialBackoffScale: 20, options: RetryOptions(deadline: .seconds(50)))
        let clock = ResetClock(base: .automatic, now: Date(timeIntervalSince1970: date))
        let session = Session.stubbed(clock: clock, interceptor: policy) { Stub.any().reply(.status(503)) }
        _ = await session.request(url).finalError
        // After 20 seconds the next delay of 40 is too long.
        #expect(session.stubs.requests.count == 2)
    }

    @Test("requests that share a budget are retried within it")
    func budget() async {
        let budget = RetryBudget(burst: 5, perRequest: 0, perSecond: 0)
        let session = session(RetryPolicy(retryLimit: 3, options: RetryOptions(budget: budget)))
        for _ in 0..<10 { #expect(await session.request(url).finalError?.responseCode == 503) }
        #expect(session.stubs.requests.count == 10 + 5)
    }

    @Test("requests that go well add to the budget, retries do not")
    func budgetGrows() async {
        let budget = RetryBudget(burst: 4, perRequest: 0.5, perSecond: 0)
        let session = session(RetryPolicy(retryLimit: 100, options: RetryOptions(budget: budget)))
        for expected in [5, 1, 2] {
            let before = session.stubs.requests.count
            _ = await session.request(url).finalError
            #expect(session.stubs.requests.count - before == expected)
        }
    }
}
