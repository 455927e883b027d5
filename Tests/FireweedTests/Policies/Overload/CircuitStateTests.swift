// The table of the circuit breaker.

import Testing

@testable import Fireweed

@Suite("Circuit breaker, failures in a row")
struct CircuitRowTests {
    private static let second: UInt64 = 1_000_000_000

    @Test("three failures in a row open it for a second, doubling to four")
    func doubling() {
        var breaker = CircuitState(.row)
        var now: UInt64 = 0
        for _ in 0..<2 { #expect(breaker.failed(at: now, since: now) == nil) }
        #expect(breaker.failed(at: now, since: now) == .opened(nanoseconds: Self.second))
        for seconds: UInt64 in [2, 4, 4, 4] {
            guard case .refuse(let left) = breaker.admit(at: now) else { Issue.record("it is open"); return }
            now += left
            #expect(breaker.admit(at: now) == .send)
            #expect(breaker.admit(at: now) != .send, "one command tries at a time")
            #expect(breaker.failed(at: now, since: now) == .opened(nanoseconds: seconds * Self.second))
        }
    }

    @Test("a success between failures starts the count again")
    func success() {
        var breaker = CircuitState(.row)
        for _ in 0..<5 {
            _ = breaker.failed(at: 0, since: 0)
            #expect(breaker.failed(at: 0, since: 0) == nil)
            #expect(breaker.succeeded(at: 0) == nil)
        }
        #expect(breaker.admit(at: 0) == .send)
    }

    @Test("a success closes it, and says how long it was open")
    func recovery() {
        var breaker = CircuitState(.row)
        for _ in 0..<3 { _ = breaker.failed(at: 5, since: 5) }
        #expect(breaker.admit(at: 5 + Self.second) == .send)
        #expect(breaker.succeeded(at: 6 + Self.second) == .closed(nanoseconds: Self.second + 1))
        #expect(breaker == CircuitState(.row))
    }

    @Test("a command that is cancelled while it tries lets the next one try")
    func abandoned() {
        var breaker = CircuitState(.row)
        for _ in 0..<3 { _ = breaker.failed(at: 0, since: 0) }
        #expect(breaker.admit(at: Self.second) == .send)
        breaker.abandoned(since: 0)
        #expect(breaker.admit(at: Self.second) != .send, "another command was cancelled, and not the one that tries")
        breaker.abandoned(since: Self.second)
        #expect(breaker.admit(at: Self.second) == .send)
    }

    @Test("an attempt ends whether its command was sent or not")
    func unsent() {
        var breaker = CircuitState(.row)
        for _ in 0..<3 { _ = breaker.failed(at: 0, since: 0) }
        #expect(breaker.admit(at: Self.second) == .send)
        // Behind an overdue reply the command fails at once, as one that was sent a deadline ago.
        #expect(
            breaker.failed(at: Self.second, since: Self.second, sentAt: Self.second - 100)
                == .opened(nanoseconds: 2 * Self.second))
        #expect(breaker.admit(at: 3 * Self.second) == .send)
    }

    @Test("failures of commands that were sent before do not lengthen the pause")
    func late() {
        var breaker = CircuitState(.row)
        for _ in 0..<3 { _ = breaker.failed(at: 0, since: 0) }
        for _ in 0..<60 { #expect(breaker.failed(at: 0, since: 0) == nil) }
        #expect(breaker.admit(at: Self.second) == .send)
    }

    @Test("commands that were under way when another failed are the same failure")
    func together() {
        var breaker = CircuitState(.row)
        for now: UInt64 in 100..<200 { #expect(breaker.failed(at: now, since: now - 100) == nil) }
        #expect(breaker.failed(at: 200, since: 150) == nil, "the second")
        #expect(breaker.failed(at: 300, since: 250) == .opened(nanoseconds: Self.second))
    }

    @Test("a failure of a command that was sent before the pause does not end the attempt after it")
    func lateWhileProbing() {
        var breaker = CircuitState(.row)
        for _ in 0..<3 { _ = breaker.failed(at: 0, since: 0) }
        #expect(breaker.admit(at: Self.second) == .send)
        #expect(breaker.failed(at: Self.second, since: 0) == nil)
        #expect(breaker.succeeded(at: Self.second) == .closed(nanoseconds: Self.second))
    }
}

extension CircuitState.Rule {
    /// Three failures in a row, pauses of 1 to 4 seconds, one probe.
    fileprivate static let row = CircuitState.Rule(
        trip: .failuresInARow(3), firstPause: 1_000_000_000, longestPause: 4_000_000_000, probeCount: 1)
}

@Suite("Circuit breaker, a ratio of failures")
struct CircuitRatioTests {
    private static let second: UInt64 = 1_000_000_000
    private static let rule = CircuitState.Rule(
        trip: .ratio(0.5, minimumCount: 20, window: 10 * second), firstPause: second, longestPause: 30 * second,
        probeCount: 3)

    /// A circuit that half of 20 failures opened at a moment.
    private static func opened(at now: UInt64 = 10 * second) -> CircuitState {
        var circuit = CircuitState(rule)
        for _ in 0..<10 { _ = circuit.succeeded(at: now, since: now) }
        for _ in 0..<10 { _ = circuit.failed(at: now, since: now) }
        return circuit
    }

    @Test(
        "the ratio and the least number of outcomes open it",
        arguments: [
            (0, 19, false), (0, 20, true), (10, 9, false), (10, 10, true), (11, 10, false), (99, 98, false),
            (100, 100, true), (20, 0, false),
        ])
    func trips(successes: Int, failures: Int, isOpen: Bool) {
        var circuit = CircuitState(Self.rule)
        for _ in 0..<successes { #expect(circuit.succeeded(at: 5, since: 5) == nil) }
        let changes = (0..<failures).map { _ in circuit.failed(at: 5, since: 5) }
        #expect(changes.contains(.opened(nanoseconds: Self.second)) == isOpen)
        #expect((circuit.admit(at: 5) == .send) != isOpen)
    }

    @Test("outcomes leave the window after ten seconds")
    func window() {
        var circuit = CircuitState(Self.rule)
        for second: UInt64 in 0..<40 {
            // A failure each second never makes twenty.
            #expect(circuit.failed(at: second * Self.second, since: second * Self.second) == nil)
        }
        for _ in 0..<10 { #expect(circuit.failed(at: 40 * Self.second, since: 40 * Self.second) == nil) }
        #expect(circuit.failed(at: 40 * Self.second, since: 40 * Self.second) != nil, "nine of before, and eleven")
    }

    @Test("the pause doubles with each failed probe, up to the longest")
    func doubling() {
        var circuit = Self.opened()
        var now = 10 * Self.second
        for seconds: UInt64 in [2, 4, 8, 16, 30, 30] {
            guard case .refuse(let left) = circuit.admit(at: now) else { Issue.record("it is open"); return }
            now += left
            #expect(circuit.admit(at: now) == .send)
            #expect(circuit.failed(at: now, since: now) == .opened(nanoseconds: seconds * Self.second))
        }
    }

    @Test("three probes are sent, and all have to succeed")
    func probes() {
        var circuit = Self.opened()
        let now = 11 * Self.second
        for _ in 0..<3 { #expect(circuit.admit(at: now) == .send) }
        #expect(circuit.admit(at: now) == .refuse(nanoseconds: Self.second))
        for _ in 0..<2 { #expect(circuit.succeeded(at: now, since: now) == nil) }
        #expect(circuit.admit(at: now) != .send)
        #expect(circuit.succeeded(at: now, since: now) == .closed(nanoseconds: Self.second))
        #expect(
            circuit
                == {
                    var fresh = Self.opened()
                    for _ in 0..<3 { _ = fresh.admit(at: now) }
                    for _ in 0..<3 { _ = fresh.succeeded(at: now, since: now) }
                    return fresh
                }())
        for _ in 0..<100 { #expect(circuit.admit(at: now) == .send) }
    }

    @Test("what was sent before the pause neither closes the circuit nor fails a probe, before, during and after")
    func stragglers() {
        var circuit = Self.opened()
        let (old, now) = (9 * Self.second, 11 * Self.second)
        #expect(circuit.succeeded(at: now, since: old) == nil)
        #expect(circuit.failed(at: now, since: old) == nil)
        for _ in 0..<3 { #expect(circuit.admit(at: now) == .send) }
        for _ in 0..<3 { #expect(circuit.succeeded(at: now, since: old) == nil) }
        #expect(circuit.failed(at: now, since: old) == nil)
        circuit.abandoned(since: old)
        #expect(circuit.admit(at: now) != .send)
        for _ in 0..<3 { _ = circuit.succeeded(at: now, since: now) }
        for _ in 0..<50 { #expect(circuit.failed(at: now, since: old) == nil) }
        #expect(circuit.admit(at: now) == .send)
    }

    @Test("a probe that is cancelled gives its place to another")
    func abandoned() {
        var circuit = Self.opened()
        let now = 11 * Self.second
        for _ in 0..<3 { _ = circuit.admit(at: now) }
        circuit.abandoned(since: now)
        #expect(circuit.admit(at: now) == .send)
        #expect(circuit.admit(at: now) != .send)
    }

    @Test("probes that never end are followed by others after the longest pause")
    func lostProbes() {
        var circuit = Self.opened()
        let now = 11 * Self.second
        for _ in 0..<3 { _ = circuit.admit(at: now) }
        #expect(circuit.admit(at: now + 30 * Self.second - 1) != .send)
        let later = now + 30 * Self.second
        for _ in 0..<3 { #expect(circuit.admit(at: later) == .send) }
        var failing = circuit
        #expect(failing.failed(at: later, since: now) != nil, "a probe of before counts at its end")
        for _ in 0..<2 { _ = circuit.succeeded(at: later, since: later) }
        #expect(circuit.succeeded(at: later, since: now) != nil)
    }

    @Test("a pause that the server asks for counts within the longest", arguments: [(0, 1), (5, 5), (500, 30)])
    func requested(seconds: UInt64, pause: UInt64) {
        var circuit = CircuitState(Self.rule)
        for _ in 0..<19 { _ = circuit.failed(at: 0, since: 0) }
        let change = circuit.failed(at: 0, since: 0, requestedPause: seconds * Self.second)
        #expect(change == .opened(nanoseconds: pause * Self.second))
    }

    private func probing(_ count: Int) -> CircuitState {
        var circuit = CircuitState(
            CircuitState.Rule(
                trip: .ratio(0.5, minimumCount: 1, window: 1000), firstPause: 100, longestPause: 1000, probeCount: count
            ))
        #expect(circuit.failed(at: 1000, since: 1000) == .opened(nanoseconds: 100))
        return circuit
    }

    @Test("moments that threads bring in another order are no fault, and their probes count")
    func otherOrder() {
        var circuit = probing(3)
        for moment in [1200, 1190, 1195] as [UInt64] { #expect(circuit.admit(at: moment) == .send) }
        #expect(circuit.admit(at: 1180) == .refuse(nanoseconds: 100))
        #expect(circuit.succeeded(at: 1205, since: 1200) == nil && circuit.succeeded(at: 1204, since: 1190) == nil)
        #expect(circuit.succeeded(at: 1203, since: 1195) == .closed(nanoseconds: 203))
        var open = CircuitState(
            CircuitState.Rule(trip: .failuresInARow(1), firstPause: 100, longestPause: 1000, probeCount: 1))
        #expect(open.failed(at: 1000, since: 1000) == .opened(nanoseconds: 100))
        #expect(open.succeeded(at: 990, since: 900) == .closed(nanoseconds: 0))
    }

    @Test("probes that take longer than the longest pause count at their end")
    func slowProbes() {
        var circuit = probing(2)
        #expect(circuit.admit(at: 1100) == .send && circuit.admit(at: 1101) == .send)
        #expect(circuit.admit(at: 1102) == .refuse(nanoseconds: 100))
        #expect(circuit.admit(at: 2200) == .send, "a new round")
        #expect(circuit.succeeded(at: 2300, since: 1100) == nil)
        #expect(circuit.succeeded(at: 2301, since: 1101) == .closed(nanoseconds: 1301))
    }

    @Test("an open circuit that is not asked for long is idle")
    func unasked() {
        let circuit = probing(1)
        #expect(!circuit.isIdle(at: 1100) && !circuit.isIdle(at: 2100) && circuit.isIdle(at: 2101))
    }
}
