// The outcomes of a rolling window.

import Testing

@testable import Fireweed

@Suite("Outcome window")
struct OutcomeWindowTests {
    @Test("outcomes count for nine to ten spans", arguments: [(0, 1), (9, 1), (10, 0), (11, 0), (1000, 0)])
    func age(spans: UInt64, count: Int) {
        var window = OutcomeWindow(nanoseconds: 100)
        window.note(isFailure: true, at: 5)
        #expect(window.counts(at: 5 + 10 * spans) == (count, count))
    }

    @Test("successes and failures are told apart")
    func counts() {
        var window = OutcomeWindow(nanoseconds: 100)
        for moment: UInt64 in 0..<200 { window.note(isFailure: moment % 4 == 0, at: moment) }
        #expect(window.counts(at: 199) == (100, 25))
        #expect(window.counts(at: 249) == (50, 12))
    }

    @Test("a window of less than ten nanoseconds still counts the present")
    func tiny() {
        var window = OutcomeWindow(nanoseconds: 0)
        window.note(isFailure: false, at: 7)
        #expect(window.counts(at: 7) == (1, 0))
    }
}
