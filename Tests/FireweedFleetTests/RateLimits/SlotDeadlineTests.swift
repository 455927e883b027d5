// Slots of a server that is silent for a moment, or for longer.

import Fireweed
import FireweedFleet
import FixtureServer
import Testing

@Suite("Slots of a silent server", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SlotDeadlineTests {
    private let server: RedisServer
    private let fleet: Fleet

    init() throws {
        server = try RedisServer()
        fleet = try Fleet(url: server.url)
    }

    private func connect() async {
        while (try? await fleet.command("PING")) == nil { await Task.yield() }
    }

    @Test("a slot is given by a server that was silent for longer than the command deadline")
    func late() async throws {
        let slots = FleetRateLimits(fleet: fleet, name: "a", fallback: .open)
        var slot: RateLimitSlot?
        // A machine that is busy for a second has more than a moment of silence.
        while slot == nil {
            await connect()
            server.suspend()
            async let reply = slots.reserve("k", limit: RateLimit(1_000_000), maximumWait: nil)
            // With the command deadline the slot would be given up before this command is.
            await #expect(throws: FleetError.self) { try await fleet.command("PING", deadline: .milliseconds(200)) }
            server.resume()
            slot = try? await reply
        }
        #expect(slot != nil)
    }

    @Test("a server that stays silent is waited for once, and by the other requests no longer than by any command")
    func silent() async throws {
        let slots = FleetRateLimits(fleet: fleet, name: "a", fallback: .open)
        await connect()
        server.suspend()
        await #expect(throws: FleetError.timedOut(after: .seconds(1))) {
            try await slots.reserve("k", limit: RateLimit(1), maximumWait: nil)
        }
        await #expect(throws: FleetError.timedOut(after: .milliseconds(100))) {
            try await slots.reserve("k", limit: RateLimit(1), maximumWait: nil)
        }
    }

    @Test(
        "a request that may not wait for long waits for the server no longer",
        arguments: [(0, 100), (300, 300), (5000, 1000)])
    func maximumWait(milliseconds: Int, deadline: Int) async throws {
        let slots = FleetRateLimits(fleet: fleet, name: "a", fallback: .open)
        await connect()
        server.suspend()
        await #expect(throws: FleetError.timedOut(after: .milliseconds(deadline))) {
            try await slots.reserve("k", limit: RateLimit(1), maximumWait: .milliseconds(milliseconds))
        }
    }
}
