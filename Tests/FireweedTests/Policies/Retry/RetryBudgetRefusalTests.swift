// Refusals in the budget of retries.

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

    @Test("neither takes the budget out of its bounds")
    func bounds() {
        var tokens = RetryBudget.Tokens(burst: 2, perRequest: 1, perSecond: 0, now: 0)
        for _ in 0..<10 { tokens.noteRefusal(ofRetry: true) }
        #expect(Self.rest(of: tokens) == 2)
        for _ in 0..<10 { tokens.noteRefusal(ofRetry: false) }
        #expect(Self.rest(of: tokens) == 0)
    }
}
