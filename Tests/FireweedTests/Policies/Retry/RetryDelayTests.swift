import Foundation
import Testing

@testable import Fireweed

@Suite("Retry delay")
struct RetryDelayTests {
    private let now = Date(timeIntervalSince1970: 784_111_777)

    private func seconds(
        _ options: RetryOptions = RetryOptions(), base: UInt = 2, scale: Double = 0.5, count: Int = 0,
        retryAfter: String? = nil, elapsed: Double = 0, random: Double = 0.5
    ) -> Double? {
        RetryDelay(base: base, scale: scale, options: options).seconds(
            for: .init(retryCount: count, retryAfter: retryAfter, elapsed: elapsed, now: now, random: random))
    }

    @Test(
        "base to the power of the count, times the scale",
        arguments: [
            (2, 0.5, 0, 0.5), (2, 0.5, 1, 1), (2, 0.5, 2, 2), (3, 0.1, 3, 2.7), (2, 0, 5_000, 0), (2, -1, 1, 0),
            (2, 0.5, 5_000, .infinity), (2, .nan, 1, 0),
        ])
    func backoff(base: UInt, scale: Double, count: Int, expected: Double) throws {
        let actual = try #require(seconds(base: base, scale: scale, count: count))
        #expect(actual == expected || abs(actual - expected) < 1e-9)
    }

    @Test("full jitter is anything from zero to the computed delay", arguments: [0, 0.25, 1])
    func jitter(random: Double) {
        #expect(seconds(RetryOptions(jitter: .full), count: 3, random: random) == 4 * random)
    }

    @Test("the longest delay bounds the computed one, before the jitter")
    func maximum() {
        let options = RetryOptions(maximumDelay: .seconds(10))
        #expect(seconds(options, count: 4) == 8)
        #expect(seconds(options, count: 5) == 10)
        #expect(seconds(options, count: 5_000) == 10)
        #expect(seconds(RetryOptions(jitter: .full, maximumDelay: .seconds(10)), count: 5_000) == 5)
    }

    @Test(
        "Retry-After in both its forms (RFC 9110 §10.2.3)",
        arguments: [
            ("0", 0.0), ("120", 120), (" 7 ", 7), ("007", 7), ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sunday, 06-Nov-94 08:49:47 GMT", 10), ("Sun Nov  6 08:49:38 1994", 1),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0),  // has passed
            ("-1", nil), ("1.5", nil), ("", nil), ("soon", nil), ("1, 2", nil), ("１２", nil), ("+3", nil), ("0x10", nil),
        ])
    func retryAfter(value: String, expected: Double?) {
        #expect(RetryAfter.seconds(in: value, now: now) == expected)
    }

    @Test("any number of digits is read without a trap")
    func manyDigits() {
        #expect(RetryAfter.seconds(in: String(repeating: "9", count: 400), now: now) == .infinity)
        let options = RetryOptions(retryAfter: .obey(upTo: .seconds(60)))
        #expect(seconds(options, retryAfter: String(repeating: "9", count: 30)) == nil)
    }

    @Test("Retry-After is obeyed up to the limit, and only when asked for")
    func obeying() {
        let options = RetryOptions(retryAfter: .obey(upTo: .seconds(60)))
        #expect(seconds(retryAfter: "30") == 0.5)
        #expect(seconds(options, retryAfter: "30") == 30)
        #expect(seconds(options, retryAfter: "60") == 60)
        #expect(seconds(options, retryAfter: "61") == nil)
        #expect(seconds(options, retryAfter: "soon") == 0.5)
        #expect(seconds(options, retryAfter: nil) == 0.5)
        #expect(seconds(options, retryAfter: "0") == 0)
    }

    @Test("with full jitter the asked time is the least, so that clients do not come back together")
    func obeyingWithJitter() {
        let options = RetryOptions(jitter: .full, retryAfter: .obey(upTo: .seconds(60)))
        #expect(seconds(options, count: 2, retryAfter: "30", random: 0) == 30)
        #expect(seconds(options, count: 2, retryAfter: "30", random: 0.5) == 31)
    }

    @Test("no retry begins after the deadline")
    func deadline() {
        let options = RetryOptions(deadline: .seconds(10))
        #expect(seconds(options, elapsed: 9.5) == 0.5)
        #expect(seconds(options, elapsed: 9.6) == nil)
        #expect(seconds(options, count: 5_000) == nil)
        let both = RetryOptions(retryAfter: .obey(upTo: .seconds(60)), deadline: .seconds(10))
        #expect(seconds(both, retryAfter: "11") == nil)
        #expect(seconds(both, retryAfter: "9") == 9)
    }
}

@Suite("Retry budget")
struct RetryBudgetTests {
    @Test("a full budget grants its burst, then what requests and seconds add")
    func tokens() {
        var tokens = RetryBudget.Tokens(burst: 3, perRequest: 0.5, perSecond: 1, now: 100)
        #expect((0..<5).map { _ in tokens.takeRetry(at: 100) } == [true, true, true, false, false])
        // The three granted retries are sent, and add nothing.
        for _ in 0..<3 { tokens.noteRequest(at: 100) }
        #expect(tokens.takeRetry(at: 100) == false)
        for _ in 0..<2 { tokens.noteRequest(at: 100) }
        #expect(tokens.takeRetry(at: 100) == true)
        #expect(tokens.takeRetry(at: 100.5) == false)
        #expect(tokens.takeRetry(at: 101.1) == true)
        #expect(tokens.takeRetry(at: 90) == false, "time that goes back adds nothing")
    }

    @Test("no more than the burst is saved up")
    func saving() {
        var tokens = RetryBudget.Tokens(burst: 2, perRequest: 1, perSecond: 1, now: 0)
        for _ in 0..<100 { tokens.noteRequest(at: 50) }
        #expect((0..<4).map { _ in tokens.takeRetry(at: 1_000) } == [true, true, false, false])
    }

    @Test(
        "in an outage, retries stay within burst, share of requests and share of time", arguments: [0.0, 0.1, 0.25, 1])
    func outage(perRequest: Double) {
        var tokens = RetryBudget.Tokens(burst: 10, perRequest: perRequest, perSecond: 1, now: 0)
        var retries = 0
        for step in 0..<10_000 {  // 1,000 requests a second for ten seconds, each of which fails and wants two retries
            let now = Double(step) / 1_000
            tokens.noteRequest(at: now)
            for _ in 0..<2 where tokens.takeRetry(at: now) {
                retries += 1
                tokens.noteRequest(at: now)
            }
        }
        let bound = 10 + 10_000 * perRequest + 10
        #expect(Double(retries) <= bound + 1 && Double(retries) >= bound * 0.95)
    }

    @Test("senseless values mean zero, and nothing traps", arguments: [-1, -Double.infinity, .nan, 0])
    func senseless(value: Double) {
        var tokens = RetryBudget.Tokens(burst: value, perRequest: value, perSecond: value, now: 0)
        tokens.noteRequest(at: 1)
        #expect(tokens.takeRetry(at: 2) == false)
        var endless = RetryBudget.Tokens(burst: .infinity, perRequest: .infinity, perSecond: .infinity, now: 0)
        for _ in 0..<100 { #expect(endless.takeRetry(at: 1) == true) }
    }
}
