// The table of the circuit breaker.

import Testing

@testable import FireweedFleet

@Suite("Circuit breaker")
struct CircuitBreakerTests {
    private static let second: UInt64 = 1_000_000_000

    @Test("three failures in a row open it for a second, doubling to four")
    func doubling() {
        var breaker = CircuitBreaker()
        var now: UInt64 = 0
        for _ in 0..<2 { #expect(breaker.failed(at: now, since: now) == nil) }
        #expect(breaker.failed(at: now, since: now) == .degraded(nanoseconds: Self.second))
        for seconds: UInt64 in [2, 4, 4, 4] {
            guard case .refuse(let left) = breaker.admit(at: now) else { Issue.record("it is open"); return }
            now += left
            #expect(breaker.admit(at: now) == .send)
            #expect(breaker.admit(at: now) != .send, "one command tries at a time")
            #expect(breaker.failed(at: now, since: now) == .degraded(nanoseconds: seconds * Self.second))
        }
    }

    @Test("a success between failures starts the count again")
    func success() {
        var breaker = CircuitBreaker()
        for _ in 0..<5 {
            _ = breaker.failed(at: 0, since: 0)
            #expect(breaker.failed(at: 0, since: 0) == nil)
            #expect(breaker.succeeded(at: 0) == nil)
        }
        #expect(breaker.admit(at: 0) == .send)
    }

    @Test("a success closes it, and says how long it was open")
    func recovery() {
        var breaker = CircuitBreaker()
        for _ in 0..<3 { _ = breaker.failed(at: 5, since: 5) }
        #expect(breaker.admit(at: 5 + Self.second) == .send)
        #expect(breaker.succeeded(at: 6 + Self.second) == .recovered(nanoseconds: Self.second + 1))
        #expect(breaker == CircuitBreaker())
    }

    @Test("a command that is cancelled while it tries lets the next one try")
    func abandoned() {
        var breaker = CircuitBreaker()
        for _ in 0..<3 { _ = breaker.failed(at: 0, since: 0) }
        #expect(breaker.admit(at: Self.second) == .send)
        breaker.abandoned(at: Self.second, since: 0)
        #expect(breaker.admit(at: Self.second) != .send, "another command was cancelled, and not the one that tries")
        breaker.abandoned(at: Self.second, since: Self.second)
        #expect(breaker.admit(at: Self.second) == .send)
    }

    @Test("an attempt ends whether its command was sent or not")
    func unsent() {
        var breaker = CircuitBreaker()
        for _ in 0..<3 { _ = breaker.failed(at: 0, since: 0) }
        #expect(breaker.admit(at: Self.second) == .send)
        // Behind an overdue reply the command fails at once, as one that was sent a deadline ago.
        #expect(
            breaker.failed(at: Self.second, since: Self.second, sentAt: Self.second - 100)
                == .degraded(nanoseconds: 2 * Self.second))
        #expect(breaker.admit(at: 3 * Self.second) == .send)
    }

    @Test("failures of commands that were sent before do not lengthen the pause")
    func late() {
        var breaker = CircuitBreaker()
        for _ in 0..<3 { _ = breaker.failed(at: 0, since: 0) }
        for _ in 0..<60 { #expect(breaker.failed(at: 0, since: 0) == nil) }
        #expect(breaker.admit(at: Self.second) == .send)
    }

    @Test("commands that were under way when another failed are the same failure")
    func together() {
        var breaker = CircuitBreaker()
        for now: UInt64 in 100..<200 { #expect(breaker.failed(at: now, since: now - 100) == nil) }
        #expect(breaker.failed(at: 200, since: 150) == nil, "the second")
        #expect(breaker.failed(at: 300, since: 250) == .degraded(nanoseconds: Self.second))
    }

    @Test("a failure of a command that was sent before the pause does not end the attempt after it")
    func lateWhileProbing() {
        var breaker = CircuitBreaker()
        for _ in 0..<3 { _ = breaker.failed(at: 0, since: 0) }
        #expect(breaker.admit(at: Self.second) == .send)
        #expect(breaker.failed(at: Self.second, since: 0) == nil)
        #expect(breaker.succeeded(at: Self.second) == .recovered(nanoseconds: Self.second))
    }
}
