// Slots that the server forgets.

import Fireweed
import FireweedFleet
import FixtureServer
import Testing

@Suite("Slots that the server loses", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LostSlotTests {
    enum Loss: CaseIterable { case flushed, restarted, evicted }

    @Test("a process takes no slot before its own last one when the server forgets it", arguments: Loss.allCases)
    func lost(loss: Loss) async throws {
        let server = try RedisServer()
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let slots = FleetRateLimits(fleet: fleet, name: "a", fallback: .open)
        let limit = RateLimit(1, per: .seconds(1000))
        #expect(try await slots.reserve("k", limit: limit, maximumWait: nil) == .after(.zero))
        switch loss {
        case .flushed: try await fleet.command("FLUSHALL")
        case .evicted: try await fleet.command("DEL", fleet.key("slots:a", "k"))
        case .restarted:
            try server.stop()
            try server.start()
        }
        var slot: RateLimitSlot?
        while slot == nil { slot = try? await slots.reserve("k", limit: limit, maximumWait: nil) }
        guard case .after(let wait) = slot else {
            Issue.record("a slot was asked for")
            return
        }
        #expect(wait > .seconds(500) && wait <= .seconds(1000))
        #expect(try await slots.reserve("other", limit: limit, maximumWait: nil) == .after(.zero))
    }

    @Test("a wait that no limit has is an answer that makes no sense")
    func absurd() async throws {
        let hello = ScriptedServer.Action.receive(byteCount: RESPArgument.encode(["HELLO", "3"]).count)
        let liar = try ScriptedServer.start(scripts: [
            [
                hello, .send("%0\r\n"), .receive(byteCount: 1),
                .send("*5\r\n:1\r\n:9223372036854775807\r\n:0\r\n:0\r\n$1\r\n0\r\n"), .hold,
            ]
        ])
        let events = FleetEvents()
        let fleet = try Fleet(url: "redis://127.0.0.1:\(liar.port)", configuration: events.configuration())
        let slots = FleetRateLimits(fleet: fleet, name: "a", fallback: .open)
        await #expect(throws: FleetError.unexpectedReply(to: "EVALSHA")) {
            try await slots.reserve("k", limit: RateLimit(1), maximumWait: nil)
        }
        #expect(events.log.events == [.degraded])
    }
}
