// Refusals in the budget of retries.

import FireweedTesting
import FireweedTransport
import Testing

@testable import Fireweed

@Suite("Retry budget and refusals")
struct RetryBudgetRefusalTests {
    /// How many retries the budget still grants.
    private static func rest(of tokens: RetryBudget.Tokens) -> Int {
        var tokens = tokens
        var count = 0
        while tokens.takeRetry(at: 0) { count += 1 }
        return count
    }

    @Test("a retry that is refused gives back what it took", arguments: 1...5)
    func retry(count: Int) {
        var tokens = RetryBudget.Tokens(burst: 5, perRequest: 0.1, perSecond: 0, now: 0)
        let granted = (0..<count).map { _ in tokens.takeRetry(at: 0) }
        #expect(!granted.contains(false))
        for _ in 0..<count {
            tokens.noteRequest(at: 0)
            tokens.noteRefusal(ofRetry: true)
        }
        #expect(Self.rest(of: tokens) == 5)
    }

    @Test("requests that are refused add nothing")
    func request() {
        var tokens = RetryBudget.Tokens(burst: 5, perRequest: 0.5, perSecond: 0, now: 0)
        while tokens.takeRetry(at: 0) {}
        for _ in 0..<5 { tokens.noteRequest(at: 0) }
        for _ in 0..<100 {
            tokens.noteRequest(at: 0)
            tokens.noteRefusal(ofRetry: false)
        }
        #expect(Self.rest(of: tokens) == 0)
    }

    @Test("requests that are refused take nothing, however full the budget is and however many are under way")
    func fullBudget() {
        var tokens = RetryBudget.Tokens(burst: 5, perRequest: 0.5, perSecond: 1, now: 0)
        for second in 1...100 { tokens.noteRequest(at: Double(second)) }
        for _ in 1...100 { tokens.noteRefusal(ofRetry: false) }
        #expect(Self.rest(of: tokens) == 5)
    }

    @Test("neither takes the budget out of its bounds")
    func bounds() {
        var tokens = RetryBudget.Tokens(burst: 2, perRequest: 1, perSecond: 0, now: 0)
        for _ in 0..<10 { tokens.noteRefusal(ofRetry: true) }
        #expect(Self.rest(of: tokens) == 2)
        for _ in 0..<10 { tokens.noteRequest(at: 0) }
        #expect(Self.rest(of: tokens) == 2)
        while tokens.takeRetry(at: 0) {}
        for _ in 0..<10 { tokens.noteRefusal(ofRetry: false) }
        #expect(Self.rest(of: tokens) == 0)
        tokens.noteRefusal(ofRetry: true)
        #expect(Self.rest(of: tokens) == 1)
    }

    @Test("a request that the budget has not seen takes nothing when it is refused")
    func unseen() {
        var tokens = RetryBudget.Tokens(burst: 2, perRequest: 1, perSecond: 0, now: 0)
        for _ in 0..<10 { tokens.noteRefusal(ofRetry: false) }
        #expect(Self.rest(of: tokens) == 2)
    }

    /// Retries at once.
    private struct EagerRetrier: RequestInterceptor {
        func retry(
            _ request: Request, for session: Session, dueTo error: any Error,
            completion: @escaping @Sendable (RetryResult) -> Void
        ) {
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
    }

    /// A session of a server whose first answer is a failure, and which a guard then spares.
    private func session(_ retriers: [any RequestInterceptor]) -> Session {
        var policy = CircuitBreaker.Policy()
        policy.minimumCount = 1
        return Session(
            transport: StubTransport(clock: TestClock.automatic) { Stub.any().reply(.status(503)) },
            interceptor: Interceptor(interceptors: retriers),
            options: SessionOptions(guards: [.circuitBreaker(policy)]))
    }

    @Test("the retry of another retrier gives nothing back", arguments: [false, true])
    func otherRetrier(isBudgeted: Bool) async {
        let budget = RetryBudget(burst: 3, perRequest: 0, perSecond: 0)
        let policy = RetryPolicy(exponentialBackoffScale: 0, options: RetryOptions(budget: budget))
        let idle = session([])
        let other = idle.request("https://api.test/")
        #expect(budget.takeRetry(of: other) && budget.takeRetry(of: other))
        let session = session(isBudgeted ? [policy, EagerRetrier()] : [EagerRetrier(), policy])
        let request = session.request("https://api.test/").validate()
        let error = await request.serializingData().response.error
        #expect(error?.underlyingError is OverloadError)
        #expect(request.retryCount == 1)
        let granted = (0..<5).map { _ in budget.takeRetry(of: other) }
        #expect(granted == [true, false, false, false, false])
    }
}
