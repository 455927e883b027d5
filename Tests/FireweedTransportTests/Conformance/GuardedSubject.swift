// Guarded transports in the conformance suite.

import Fireweed
import FireweedTransport
import Foundation

/// The engine behind guards that refuse nothing.
struct GuardedEngineSubject: ConformanceSubject {
    let name = "engine, guarded"

    func makeTransport() -> any Transport {
        let engine = EngineTransport(settings: PoolSettings(maximumConnectionsPerHost: 0))
        var policy = CircuitBreaker.Policy()
        policy.minimumCount = .max
        let guards: [any TransportGuard] = [.circuitBreaker(policy), .concurrencyLimit(.fixed(10_000))]
        return guards.reduce(engine) { $1.guarding($0) }
    }

    func url(of scenario: Scenario) throws -> String { try ConformanceServers.shared.url(of: scenario) }
}

/// The engine behind a hedging that would begin a second message after a minute.
struct HedgedEngineSubject: ConformanceSubject {
    let name = "engine, hedged"

    func makeTransport() -> any Transport {
        let engine = EngineTransport(settings: PoolSettings(maximumConnectionsPerHost: 0))
        return Hedging(after: .fixed(.seconds(60))).guarding(engine)
    }

    func url(of scenario: Scenario) throws -> String { try ConformanceServers.shared.url(of: scenario) }
}
