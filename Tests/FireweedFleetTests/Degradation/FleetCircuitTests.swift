// The rule by which a fleet leaves its server alone.

import Fireweed
import Testing

@testable import FireweedFleet

@Suite("Circuit breaker of a fleet")
struct FleetCircuitTests {
    @Test("three failures in a row open it for a second, doubling to four, and one probe closes it")
    func rule() {
        var circuit = CircuitState(.fleet)
        var now: UInt64 = 0
        for _ in 0..<2 { #expect(circuit.failed(at: now, since: now) == nil) }
        #expect(circuit.failed(at: now, since: now) == .opened(nanoseconds: 1_000_000_000))
        for seconds: UInt64 in [2, 4, 4] {
            guard case .refuse(let left) = circuit.admit(at: now) else { Issue.record("it is open"); return }
            now += left
            #expect(circuit.admit(at: now) == .send)
            #expect(circuit.admit(at: now) != .send)
            #expect(circuit.failed(at: now, since: now) == .opened(nanoseconds: seconds * 1_000_000_000))
        }
        #expect(circuit.succeeded(at: now) == .closed(nanoseconds: 7_000_000_000))
        #expect(circuit == CircuitState(.fleet))
    }
}
