// The quantiles of the last responses.

import Testing

@testable import FireweedTransport

@Suite("Latency window")
struct LatencyWindowTests {
    @Test("with fewer than ten responses nothing is known")
    func tooFew() {
        var window = LatencyWindow()
        for count in 1...9 {
            window.note(UInt64(count))
            #expect(window.quickestTenth() == nil)
            #expect(window.percentile95() == nil)
        }
        window.note(10)
        #expect(window.quickestTenth() == 1)
        #expect(window.percentile95() == 10)
    }

    @Test("of fifty responses the fifth and the forty-eighth count, in whatever order they came")
    func fifty() {
        var window = LatencyWindow()
        for duration in (1...50).shuffled() { window.note(UInt64(duration)) }
        #expect(window.quickestTenth() == 5)
        #expect(window.percentile95() == 48)
    }

    @Test("only the last fifty count", arguments: [1, 49, 50, 51, 125])
    func lastFifty(count: Int) {
        var window = LatencyWindow()
        for _ in 0..<count { window.note(1) }
        for duration in 101...150 { window.note(UInt64(duration)) }
        #expect(window.quickestTenth() == 105)
        #expect(window.percentile95() == 148)
    }

    @Test("a new response counts at once, after a quantile was asked for")
    func later() {
        var window = LatencyWindow()
        for _ in 0..<10 { window.note(100) }
        #expect(window.quickestTenth() == 100)
        window.note(1)
        window.note(2)
        #expect(window.quickestTenth() == 2)
    }
}
