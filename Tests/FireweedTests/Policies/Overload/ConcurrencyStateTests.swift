// The limit of messages under way.

import FireweedTransport
import Testing

@testable import Fireweed

@Suite("Concurrency limit")
struct ConcurrencyStateTests {
    /// A table with as many messages under way as it lets in.
    private static func filled(_ initial: Int, in bounds: ClosedRange<Int> = 1...200) -> ConcurrencyState {
        var state = ConcurrencyState(initial: initial, in: bounds)
        while state.admit(.important, at: 0) == .send {}
        return state
    }

    @Test("a fixed limit lets so many in, and never moves", arguments: [2, 3, 10, 200])
    func fixed(limit: Int) {
        var state = ConcurrencyState(initial: limit, in: limit...limit)
        for _ in 0..<limit { #expect(state.admit(.important, at: 0) == .send) }
        #expect(state.admit(.important, at: 0) == .refuse(limit: limit))
        for outcome in ConcurrencyState.Outcome.allCases { state.note(outcome) }
        #expect(state.limit == limit)
        state.release()
        #expect(state.admit(.important, at: 0) == .send)
    }

    @Test(
        "each priority has its share, and nobody is kept out for ever",
        arguments: [
            (1, 1, 1, 2), (2, 1, 1, 2), (3, 1, 2, 3), (4, 2, 3, 4), (5, 2, 4, 5), (10, 5, 8, 10), (100, 50, 80, 100),
        ])
    func shares(limit: Int, sheddable: Int, normal: Int, important: Int) {
        let state = ConcurrencyState(initial: limit, in: 1...200)
        #expect(state.limit(for: .sheddable) == sheddable)
        #expect(state.limit(for: .normal) == normal)
        #expect(state.limit(for: .important) == important)
    }

    @Test("at every limit an important message has a place that no other can take", arguments: 1...200)
    func reserve(limit: Int) {
        var state = ConcurrencyState(initial: limit, in: 1...200)
        for _ in 0..<limit { _ = state.admit(.normal, at: 0) }
        for _ in 0..<limit { _ = state.admit(.sheddable, at: 0) }
        #expect(state.inFlight >= 1)
        #expect(state.admit(.important, at: 0) == .send)
    }

    @Test("a round of successes adds one, as long as half of the limit is used")
    func increase() {
        var state = Self.filled(20)
        for _ in 0..<21 { state.note(.success) }
        #expect(state.limit == 21)
        for _ in 0..<15 { state.release() }
        for _ in 0..<1000 { state.note(.success) }
        #expect(state.limit == 21, "five messages do not show that the origin bears more")
    }

    @Test("each sign of overload takes a tenth, down to the least")
    func decrease() {
        var state = Self.filled(100)
        state.note(.overload)
        #expect(state.limit == 90)
        state.note(.overload)
        #expect(state.limit == 81)
        for _ in 0..<200 { state.note(.overload) }
        #expect(state.limit == 1)
    }

    @Test("from the least the limit grows to the most again")
    func recovery() {
        var state = Self.filled(50, in: 1...50)
        for _ in 0..<200 { state.note(.overload) }
        var count = 0
        while state.limit < 50, count < 5000 {
            state.note(.success)
            count += 1
        }
        #expect(count < 1300)
        for _ in 0..<1000 { state.note(.success) }
        #expect(state.limit == 50)
    }

    @Test("an end that says nothing changes nothing")
    func unknown() {
        var state = Self.filled(20)
        let before = state
        state.note(.unknown)
        #expect(state == before)
    }

    @Test("nothing is sent before the end of a pause, and the longest pause counts")
    func pause() {
        var state = ConcurrencyState(initial: 10, in: 1...20)
        state.pause(until: 100)
        state.pause(until: 50)
        #expect(state.admit(.important, at: 99) == .pause(nanoseconds: 1))
        #expect(!state.isIdle(at: 99))
        #expect(state.admit(.sheddable, at: 100) == .send)
        #expect(!state.isIdle(at: 100))
        state.release()
        #expect(state.isIdle(at: 100))
    }

    @Test("an initial limit outside of its bounds is moved into them", arguments: [(0, 2), (1, 2), (3, 3), (99, 4)])
    func bounds(initial: Int, limit: Int) {
        #expect(ConcurrencyState(initial: initial, in: 2...4).limit == limit)
    }

    @Test("a limit grows by sheddable messages alone", arguments: 2...9)
    func sheddableAlone(initial: Int) {
        var state = ConcurrencyState(initial: initial, in: 1...50)
        for _ in 0..<1000 {
            var count = 0
            while state.admit(.sheddable, at: 0) == .send { count += 1 }
            for _ in 0..<count {
                state.note(.success)
                state.release()
            }
        }
        #expect(state.limit > initial + 5)
    }

    @Test("a limit of any size is one")
    func greatest() {
        #expect(ConcurrencyState(initial: .max, in: .max ... .max).limit == 1 << 30)
        #expect(ConcurrencyState(initial: .min, in: .min...0).limit == 1)
    }
}
