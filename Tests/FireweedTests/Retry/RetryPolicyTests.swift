import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("RetryPolicy", .timeLimit(.minutes(Patience.minutes)))
struct RetryPolicyTests {
    private let sessions = ProtectedList<Session>()
    /// A name that never exists: others mean something else on a machine without a network.
    private let url = "https://service.invalid/"

    private func session(_ policy: RetryPolicy, status: Int, fields: [Field] = []) -> Session {
        Session.scripted(keptBy: sessions, interceptor: policy) { _ in
            [.head(ResponseHead(status: status, fields: fields))]
        }
    }

    /// How often a request was retried that always fails alike.
    private func retries(
        _ policy: RetryPolicy, status: Int = 503, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        fields: [Field] = []
    ) async -> Int {
        let request = session(policy, status: status, fields: fields).request(url, method: method, headers: headers)
        _ = await request.finalError
        return request.retryCount
    }

    private func quick(limit: UInt = 2, options: RetryOptions = RetryOptions()) -> RetryPolicy {
        RetryPolicy(retryLimit: limit, exponentialBackoffScale: 0, options: options)
    }

    @Test("the documented defaults")
    func defaults() {
        let policy = RetryPolicy()
        #expect(policy.retryLimit == 2 && policy.exponentialBackoffBase == 2 && policy.exponentialBackoffScale == 0.5)
        #expect(policy.retryableHTTPMethods == [.delete, .get, .head, .options, .put, .trace])
        #expect(policy.retryableHTTPStatusCodes == [408, 500, 502, 503, 504])
        #expect(policy.retryableURLErrorCodes.count == 18)
        for code in [URLError.Code.cancelled, .serverCertificateUntrusted, .badURL, .userAuthenticationRequired] {
            #expect(!policy.retryableURLErrorCodes.contains(code))
        }
        let lost = ConnectionLostRetryPolicy()
        #expect(lost.retryableURLErrorCodes == [.networkConnectionLost] && lost.retryableHTTPStatusCodes.isEmpty)
        #expect(lost.retryLimit == 2)
    }

    @Test(
        "retries statuses that may pass, and no others", arguments: [400, 401, 404, 408, 429, 500, 501, 502, 503, 504])
    func statuses(status: Int) async {
        #expect(await retries(quick(), status: status) == ([408, 500, 502, 503, 504].contains(status) ? 2 : 0))
    }

    @Test(
        "retries idempotent methods, and no others",
        arguments: [
            HTTPMethod.get, .head, .put, .delete, .options, .trace, .post, .patch, .connect, .query,
            HTTPMethod(rawValue: "LOCK"),
        ])
    func methods(method: HTTPMethod) async {
        let isIdempotent = RetryPolicy.defaultRetryableHTTPMethods.contains(method)
        #expect(await retries(quick(), method: method) == (isIdempotent ? 2 : 0))
    }

    @Test(
        "retries failures of the exchange that may pass",
        arguments: [
            (URLError.Code.networkConnectionLost, 2), (.timedOut, 2), (.cannotFindHost, 2), (.cannotConnectToHost, 2),
            (.serverCertificateUntrusted, 0), (.cancelled, 0), (.badURL, 0),
        ])
    func failures(code: URLError.Code, expected: Int) async {
        let session = Session.scripted(keptBy: sessions, interceptor: quick()) { _ in
            [.failure(.exchange(code, detail: "scripted", engineCode: 0))]
        }
        let request = session.request(url)
        #expect(await request.finalError?.urlErrorCode == code)
        #expect(request.retryCount == expected)
    }

    @Test("ConnectionLostRetryPolicy retries lost connections only")
    func connectionLost() async {
        for (code, expected) in [(URLError.Code.networkConnectionLost, 2), (.timedOut, 0)] {
            let policy = ConnectionLostRetryPolicy(exponentialBackoffScale: 0)
            let request = Session.scripted(keptBy: sessions, interceptor: policy) { _ in
                [.failure(.exchange(code, detail: "scripted", engineCode: 0))]
            }.request(url)
            _ = await request.finalError
            #expect(request.retryCount == expected)
        }
    }

    @Test("a keyed POST is replayed when that is asked for")
    func keyed() async {
        let policy = quick(options: RetryOptions(replays: .keyed))
        #expect(await retries(policy, method: .post, headers: ["Idempotency-Key": "7"]) == 2)
        #expect(await retries(policy, method: .post) == 0)
        #expect(await retries(quick(), method: .post, headers: ["Idempotency-Key": "7"]) == 0)
    }

    @Test("a POST that never left is replayed when that is asked for; one that may have arrived is not")
    func unsent() async {
        let policy = quick(options: RetryOptions(replays: .unsent))
        for (code, expected) in [(URLError.Code.cannotConnectToHost, 2), (.networkConnectionLost, 0), (.timedOut, 0)] {
            let request = Session.scripted(keptBy: sessions, interceptor: policy) { _ in
                [.failure(.exchange(code, detail: "scripted", engineCode: 0))]
            }.request(url, method: .post)
            _ = await request.finalError
            #expect(request.retryCount == expected)
        }
    }

    @Test("a POST that was redirected to a host without a connection has arrived somewhere")
    func unsentAfterRedirect() async {
        let policy = quick(options: RetryOptions(replays: .unsent))
        let request = Session.scripted(keptBy: sessions, interceptor: policy) { message in
            message.url.hasSuffix("/gone")
                ? [.failure(.exchange(.cannotConnectToHost, detail: "scripted", engineCode: 0))]
                : [.head(ResponseHead(status: 307, fields: [Field(name: "Location", value: "/gone")]))]
        }.request(url, method: .post)
        #expect(await request.finalError?.urlErrorCode == .cannotConnectToHost)
        #expect(request.retryCount == 0)
    }

    @Test("Retry-After beyond the limit ends the retries; a short one is waited for")
    func retryAfter() async {
        let policy = quick(options: RetryOptions(retryAfter: .obey(upTo: .seconds(5))))
        #expect(await retries(policy, fields: [Field(name: "Retry-After", value: "3600")]) == 0)
        #expect(await retries(policy, fields: [Field(name: "retry-after", value: "0")]) == 2)
        let late = Field(name: "Retry-After", value: "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(await retries(policy, fields: [late]) == 0)
    }

    @Test("a deadline that the next delay would miss ends the retries")
    func deadline() async {
        let policy = RetryPolicy(
            retryLimit: 9, exponentialBackoffScale: 3_600, options: RetryOptions(deadline: .seconds(60)))
        #expect(await retries(policy) == 0)
    }

    @Test("requests that share a budget are retried within it")
    func budget() async {
        let budget = RetryBudget(burst: 5, perRequest: 0, perSecond: 0)
        let session = session(quick(limit: 3, options: RetryOptions(budget: budget)), status: 503)
        var sum = 0
        for _ in 0..<10 {
            let request = session.request(url)
            #expect(await request.finalError?.responseCode == 503)
            sum += request.retryCount
        }
        #expect(sum == 5)
    }

    @Test("requests that go well add to the budget, retries do not")
    func budgetGrows() async {
        let budget = RetryBudget(burst: 4, perRequest: 0.5, perSecond: 0)
        let session = session(quick(limit: 100, options: RetryOptions(budget: budget)), status: 503)
        #expect(
            await {
                let request = session.request(url)
                _ = await request.finalError
                return request.retryCount
            }() == 4)
        let next = session.request(url)
        _ = await next.finalError
        #expect(next.retryCount == 0)
        let third = session.request(url)
        _ = await third.finalError
        #expect(third.retryCount == 1)
    }
}
