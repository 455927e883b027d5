// The slots of a rate limit, for all processes of a fleet.

public import Fireweed
import Foundation

extension Fleet {
    /// Makes an interceptor whose slots are shared by all processes of the fleet.
    ///
    /// Each attempt is given the moment of its slot by the server, whose clock counts. Requests of one key ask in the
    /// order in which they came; those that come while a question is under way ask together, in the next one. A 429
    /// or 503 with `Retry-After` that any process gets holds all processes back for that key; a process that has waited
    /// for less than 100 ms does not look for such a pause again. The slot of a request that is cancelled while it
    /// waits stays unused. Without the server, requests go by `whenUnreachable`; none waits longer than
    /// `Configuration.commandDeadline` for the server.
    ///
    /// ```swift
    /// let session = Session(interceptor: fleet.rateLimiter(RateLimit(100, per: .seconds(1))))
    /// ```
    /// - Parameters:
    ///   - limit: how many requests all processes send together.
    ///   - name: tells limits apart that have the same scope.
    ///   - scope: which requests share the limit.
    ///   - maximumWait: longest time that a request may have to wait, as in `RateLimiter`.
    ///   - whenUnreachable: what a request does that cannot have a slot; `nil`, the default, keeps each process to the
    ///     limit divided by `Configuration.fleetSize`.
    /// - Returns: an interceptor; give it to the sessions of this process.
    public func rateLimiter(
        _ limit: RateLimit, name: String = "requests", scope: RateLimiter.Scope = .origin, maximumWait: Duration? = nil,
        whenUnreachable: RateLimitFallback? = nil
    ) -> RateLimiter {
        let slots = FleetRateLimits(
            fleet: self, name: name,
            fallback: whenUnreachable ?? .share(ofProcesses: max(1, configuration.fleetSize)))
        return RateLimiter(limit, scope: scope, maximumWait: maximumWait, backend: slots)
    }
}

/// Takes slots on the server.
package struct FleetRateLimits: RateLimitBackend {
    private let fleet: Fleet
    private let name: String
    package let fallback: RateLimitFallback

    package init(fleet: Fleet, name: String, fallback: RateLimitFallback) {
        self.fleet = fleet
        self.name = name
        self.fallback = fallback
    }

    /// Takes slots; the server's time counts, in microseconds.
    ///
    /// Keys: the next slot without a burst, and the pause. Arguments: the distance of slots, how far ahead of its slot
    /// a request may be, the longest wait or -1, and the number of slots. A moment that lives no longer than its key
    /// was made here; any other value is none.
    private static let reservation = RESPScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000000 + time[2]
        local interval, tolerance, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
        local planned = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
        local left = redis.call('PTTL', KEYS[1])
        if not (planned >= 0 and left > 0 and planned <= now + left * 1000) then planned = 0 end
        local start = now
        local pause = redis.call('PTTL', KEYS[2])
        if pause > 0 then start = now + pause * 1000 end
        local answer, isTaken = {}, false
        for number = 1, tonumber(ARGV[4]) do
            local slot = math.max(start, planned - tolerance)
            local wait = math.ceil(slot - now)
            if longest >= 0 and wait > longest then
                answer[3 * number - 2], answer[3 * number - 1], answer[3 * number] = 0, wait, 0
            else
                planned = math.max(planned, slot) + interval
                answer[3 * number - 2], answer[3 * number - 1], answer[3 * number] = 1, wait, math.floor(slot)
                isTaken = true
            end
        end
        if isTaken then
            local life = math.ceil((planned - now) / 1000) + 1000
            redis.call('SET', KEYS[1], string.format('%.3f', planned), 'PX', string.format('%.0f', life))
        end
        return answer
        """)

    /// Begins a pause, or makes a pause longer.
    private static let pausing = RESPScript(
        """
        local pause = tonumber(ARGV[1])
        if redis.call('PTTL', KEYS[1]) < pause then redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) end
        return 1
        """)

    private func slotKey(_ key: String) -> RESPArgument { fleet.key("slots:\(name)", key) }
    private func pauseKey(_ key: String) -> RESPArgument { fleet.key("pause", key) }

    package func reserve(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> [RateLimitSlot] {
        try await reserveMoments(key, limit: limit, count: count, maximumWait: maximumWait).map(\.slot)
    }

    /// The slots, and their moments on the server's clock in microseconds since 1970.
    package func reserveMoments(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> [(slot: RateLimitSlot, moment: Int64)] {
        let longest = maximumWait.map { RESPArgument($0.nanosecondCount / 1000) } ?? "-1"
        let reply = try await fleet.evaluate(
            Self.reservation, keys: [slotKey(key), pauseKey(key)],
            arguments: [
                Self.microseconds(limit.interval), Self.microseconds(limit.tolerance), longest, RESPArgument(count),
            ])
        guard let values = reply.elements, values.count == 3 * count else {
            throw FleetError.unexpectedReply(to: "EVALSHA")
        }
        return try (0..<count).map { number in
            guard let isTaken = values[3 * number].integer, let wait = values[3 * number + 1].integer, wait >= 0,
                let moment = values[3 * number + 2].integer
            else { throw FleetError.unexpectedReply(to: "EVALSHA") }
            return (isTaken == 1 ? .after(.microseconds(wait)) : .tooLate(.microseconds(wait)), moment)
        }
    }

    package func pause(of key: String) async throws -> Duration? {
        let left = try await fleet.command("PTTL", pauseKey(key)).integer ?? 0
        return left > 0 ? .milliseconds(left) : nil
    }

    package func setPause(_ duration: Duration, of key: String) async {
        let milliseconds = max(1, duration.nanosecondCount / 1_000_000)
        // The process that was asked for the pause keeps it in any case.
        _ = try? await fleet.evaluate(Self.pausing, keys: [pauseKey(key)], arguments: [RESPArgument(milliseconds)])
    }

    /// With three digits after the point, for rates of more than a million a second.
    private static func microseconds(_ nanoseconds: UInt64) -> RESPArgument {
        let rest = String(nanoseconds % 1000)
        return RESPArgument("\(nanoseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)")
    }
}
