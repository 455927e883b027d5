// The quantiles of the last responses.

import Testing

@testable import FireweedTransport

@Suite("Latency window")
struct LatencyWindowTests {
    @Test("with fewer than ten responses nothing is known")
    func tooFew() {
        var window = LatencyWindow()
        for count in 1...9 {
            window.note(UInt64(count), at: 0)
            #expect(window.quickestTenth(at: 0) == nil)
            #expect(window.percentile95(at: 0) == nil)
        }
        window.note(10, at: 0)
        #expect(window.quickestTenth(at: 0) == 1)
        #expect(window.percentile95(at: 0) == 10)
    }

    @Test("of fifty responses the fifth and the forty-eighth count, in whatever order they came")
    func fifty() {
        var window = LatencyWindow()
        for duration in (1...50).shuffled() { window.note(UInt64(duration), at: 0) }
        #expect(window.quickestTenth(at: 0) == 5)
        #expect(window.percentile95(at: 0) == 48)
    }

    @Test("only the last fifty count", arguments: [1, 49, 50, 51, 125])
    func lastFifty(count: Int) {
        var window = LatencyWindow()
        for _ in 0..<count { window.note(1, at: 0) }
        for duration in 101...150 { window.note(UInt64(duration), at: 0) }
        #expect(window.quickestTenth(at: 0) == 105)
        #expect(window.percentile95(at: 0) == 148)
    }

    @Test("a new response counts at once, after a quantile was asked for")
    func later() {
        var window = LatencyWindow()
        for _ in 0..<10 { window.note(100, at: 0) }
        #expect(window.quickestTenth(at: 0) == 100)
        window.note(1, at: 0)
        window.note(2, at: 0)
        #expect(window.quickestTenth(at: 0) == 2)
    }

    // MARK: Age

    private static let age = LatencyWindow.longestAge

    @Test("after half a minute a response is forgotten, and with fewer than ten younger ones nothing is known")
    func old() {
        var window = LatencyWindow()
        for _ in 0..<10 { window.note(100, at: 5) }
        for _ in 0..<9 { window.note(1, at: 7) }
        #expect(window.quickestTenth(at: 5 + Self.age) == 1)
        #expect(window.percentile95(at: 5 + Self.age) == 100)
        #expect(window.quickestTenth(at: 6 + Self.age) == nil)
        #expect(window.percentile95(at: 7 + Self.age) == nil)
        window.note(2, at: 7 + Self.age)
        #expect(window.percentile95(at: 7 + Self.age) == 2)
        #expect(window.percentile95(at: 8 + Self.age) == nil)
    }

    @Test("a full window forgets from its oldest response on, wherever that one lies", arguments: 50...110)
    func oldInRing(count: Int) {
        var window = LatencyWindow()
        for number in 1...count { window.note(UInt64(number), at: UInt64(number)) }
        for rest in stride(from: 49, through: 10, by: -1) {
            let now = UInt64(count - rest) + 1 + Self.age
            #expect(window.percentile95(at: now) == UInt64(count - rest + (rest * 95 + 99) / 100))
        }
        #expect(window.percentile95(at: UInt64(count - 9) + 1 + Self.age) == nil)
        for number in 1...60 { window.note(UInt64(number), at: UInt64(count) + 2 * Self.age) }
        #expect(window.quickestTenth(at: UInt64(count) + 2 * Self.age) == 15)
    }

    @Test("the end of the clock makes no trap")
    func extremes() {
        var window = LatencyWindow()
        for _ in 0..<10 { window.note(.max, at: .max) }
        #expect(window.percentile95(at: .max) == .max)
        #expect(window.percentile95(at: 0) == .max)
    }
}
