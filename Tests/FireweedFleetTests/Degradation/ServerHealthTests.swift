// The order of a fleet's events.

import FixtureServer
import Synchronization
import Testing

@testable import FireweedFleet

@Suite("Health of a fleet's server")
struct ServerHealthTests {
    @Test("a change while the handler runs is reported after it, never before")
    func order() {
        let log = EventLog<String>()
        let health = Mutex<ServerHealth?>(nil)
        let made = ServerHealth { event in
            switch event {
            case .degraded:
                // As another thread does, which gets an answer at this moment.
                health.withLock { $0 }?.succeeded("PING", at: 7)
                log.note("degraded")
            case .recovered: log.note("recovered")
            }
        }
        health.withLock { $0 = made }
        for now: UInt64 in 0..<3 { made.failed(at: now, since: now, with: .busy) }
        #expect(log.events == ["degraded", "recovered"])
        health.withLock { $0 = nil }
    }

    @Test("what is refused before the server is left alone ends with the pause, and is reported once")
    func refusedFirst() {
        let log = EventLog<String>()
        let health = ServerHealth { event in
            switch event {
            case .degraded(_, let pause): log.note(pause == .zero ? "refuses" : "is left alone")
            case .recovered: log.note("recovered")
            }
        }
        for now: UInt64 in 0..<3 { health.failed("SET", at: now, since: now, with: .loading) }
        health.failed("SET", at: 3, since: 3, with: .loading)
        health.succeeded("PING", at: 10_000_000_000)
        health.succeeded("SET", at: 20_000_000_000)
        #expect(log.events == ["refuses", "is left alone", "recovered"])
    }
}
