// The slots of a rate limit, for all processes of a fleet.

public import Fireweed
import Foundation

extension Fleet {
    /// Makes an interceptor whose slots are shared by all processes of the fleet.
    ///
    /// Each attempt takes a slot from the server, whose clock counts. Requests of one key take slots in the order in
    /// which they came; those that come while a question is under way ask together, in the next one. Each slot is used
    /// by the request of this process that has waited longest; so the slot of a request that is cancelled while it
    /// waits is used by the next one, and the last slot stays unused.
    ///
    /// Requests leave a little after their slots, and more so on a busy machine. So that the origin gets no more than
    /// `count + burst` requests in a period even then, slots are 3.5 % farther apart than the limit says, up to 35 ms
    /// in a period: 96.6 % of the limit is used at most, and more where the period is longer than a second. When a
    /// process is late for a slot by more than a third of that and of an interval, or by more than 10 ms if that is
    /// longer, it takes another slot instead, twice at most for each request.
    ///
    /// A 429 or 503 with `Retry-After` that any process gets holds all processes back for that key: for an origin
    /// under every `name`, for another key under its own. A process looks for such a pause 50 ms before a slot that was
    /// at least 100 ms away.
    ///
    /// A server that is silent for a moment is waited for, so that the limit holds: ten times
    /// `Configuration.commandDeadline`, up to a second, unless `maximumWait` is shorter. After one wait in vain, and
    /// while the server is left alone, no request waits longer than `commandDeadline` until the server answers.
    ///
    /// Without the server, requests go by `whenUnreachable`. When an outage begins, and for some seconds when it ends,
    /// some processes have slots of the server beside the shares of the others: up to twice the limit is sent.
    ///
    /// ```swift
    /// let session = Session(interceptor: fleet.rateLimiter(RateLimit(100, per: .seconds(1))))
    /// ```
    /// - Parameters:
    ///   - limit: how many requests all processes send together.
    ///   - name: tells limits apart that have the same scope.
    ///   - scope: which requests share the limit.
    ///   - maximumWait: longest time that a request may have to wait, as in `RateLimiter`.
    ///   - maximumPause: longest time for which an origin's fields hold requests back, as in `RateLimiter`; that of the
    ///     process which gets the fields counts.
    ///   - whenUnreachable: what a request does that cannot have a slot; `nil`, the default, keeps each process to the
    ///     limit divided by `Configuration.fleetSize`.
    /// - Returns: an interceptor; give it to the sessions of this process.
    public func rateLimiter(
        _ limit: RateLimit, name: String = "requests", scope: RateLimiter.Scope = .origin, maximumWait: Duration? = nil,
        maximumPause: Duration = .seconds(86_400), whenUnreachable: RateLimitFallback? = nil
    ) -> RateLimiter {
        let slots = FleetRateLimits(
            fleet: self, name: name, isByOrigin: scope.isByOrigin,
            fallback: whenUnreachable ?? .share(ofProcesses: max(1, configuration.fleetSize)))
        return RateLimiter(
            limit, scope: scope, maximumWait: maximumWait, maximumPause: maximumPause, backend: slots)
    }
}

/// Takes slots on the server.
package struct FleetRateLimits: RateLimitBackend {
    private let fleet: Fleet
    private let name: String
    /// Whether keys are origins, whose pauses hold back what has other names too.
    private let isByOrigin: Bool
    package let fallback: RateLimitFallback
    private let ages = ReplyAges()
    private let ownSlots = OwnSlots()
    private let deadline: SlotDeadline

    /// A wait of ten years is no wait for a slot or for the end of a pause.
    private static let longestWait: Int64 = 3650 * 86_400 * 1_000_000

    package init(fleet: Fleet, name: String, isByOrigin: Bool = true, fallback: RateLimitFallback) {
        self.fleet = fleet
        self.name = name
        self.isByOrigin = isByOrigin
        self.fallback = fallback
        deadline = SlotDeadline(commandDeadline: fleet.configuration.commandDeadline)
    }

    /// Takes slots; the server's time counts, in microseconds.
    ///
    /// Keys: the next slot without a burst, and the pause. Arguments: the distance of slots, how far ahead of its slot
    /// a request may be, the longest wait or -1, the number of slots, and what this process knows of the next slot: its
    /// moment, and how far away that was. A moment that lives no longer than its key was made here; any other value is
    /// none. The answer has three numbers for each slot, and at its end the time and the next slot.
    ///
    /// A server that lost the key does not begin anew before the slots of this process. When its clock was set back,
    /// they are as far away as they were, and no farther.
    private static let reservation = RESPScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000000 + time[2]
        local interval, tolerance, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
        local planned = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
        local left = redis.call('PTTL', KEYS[1])
        if not (planned >= 0 and left > 0 and planned <= now + left * 1000) then planned = 0 end
        planned = math.max(planned, math.min(tonumber(ARGV[5]), now + tonumber(ARGV[6])))
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
        answer[#answer + 1] = now
        answer[#answer + 1] = string.format('%.3f', planned)
        return answer
        """)

    /// Begins a pause, or makes a pause longer.
    private static let pausing = RESPScript(
        """
        local pause = tonumber(ARGV[1])
        if redis.call('PTTL', KEYS[1]) < pause then redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) end
        return 1
        """)

    private func slotKey(_ key: String) -> RESPArgument { fleet.key("slots:\(keyName)", key) }
    private func pauseKey(_ key: String) -> RESPArgument { fleet.key(isByOrigin ? "pause" : "pause:\(keyName)", key) }

    /// The name as a part of keys: a colon would make the key that of another namespace, and braces are left out there.
    private var keyName: String {
        [("%", "%25"), (":", "%3A"), ("{", "%7B"), ("}", "%7D")].reduce(name) { $0.replacing($1.0, with: $1.1) }
    }

    package func reserve(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> RateLimitReply {
        let (slots, age) = try await take(key, limit: limit, count: count, maximumWait: maximumWait)
        return RateLimitReply(slots: slots.map(\.slot), age: age)
    }

    /// The slots, and their moments on the server's clock in microseconds since 1970.
    package func reserveMoments(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> [(slot: RateLimitSlot, moment: Int64)] {
        try await take(key, limit: limit, count: count, maximumWait: maximumWait).slots
    }

    private func take(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> (slots: [(slot: RateLimitSlot, moment: Int64)], age: Duration) {
        let longest = maximumWait.map { RESPArgument($0.nanosecondCount / 1000) } ?? "-1"
        let asked = ReplyAges.nanoseconds
        let known = ownSlots.next(of: key)
        let arguments = [
            Self.microseconds(limit.interval), Self.microseconds(limit.tolerance), longest, RESPArgument(count),
            RESPArgument(known?.moment ?? "0"), RESPArgument(known?.distance ?? 0),
        ]
        let reply = try await deadline.apply(isDegraded: fleet.isDegraded, maximumWait: maximumWait) { limit in
            try await fleet.timedEvaluate(
                Self.reservation, keys: [slotKey(key), pauseKey(key)], arguments: arguments, deadline: limit)
        }
        guard let values = reply.value.elements, values.count == 3 * count + 2, let now = values[3 * count].integer,
            let next = values[3 * count + 1].text
        else {
            throw fleet.unexpectedReply(to: Self.reservation)
        }
        let longestWait = maximumWait.map { Int64(clamping: $0.nanosecondCount / 1000) } ?? Self.longestWait
        let slots: [(slot: RateLimitSlot, moment: Int64)] = try (0..<count).map { number in
            guard let isTaken = values[3 * number].integer, let wait = values[3 * number + 1].integer,
                (0...(isTaken == 1 ? longestWait : Self.longestWait)).contains(wait),
                let moment = values[3 * number + 2].integer
            else { throw fleet.unexpectedReply(to: Self.reservation) }
            return (isTaken == 1 ? .after(.microseconds(wait)) : .tooLate(.microseconds(wait)), moment)
        }
        ownSlots.note(next, at: now, received: reply.arrival, of: key, longest: Self.longestWait)
        // The task may be late, which is no part of the difference of the clocks.
        let delay = ReplyAges.nanoseconds - reply.arrival
        let age = ages.age(
            of: now, asked: Int64(clamping: asked / 1000), received: Int64(clamping: reply.arrival / 1000))
        return (slots, .microseconds(age) + .nanoseconds(Int64(clamping: delay)))
    }

    package func pause(of key: String) async throws -> Duration? {
        // No request waits for this reply, and a look that is given up early would count as a failure of the server.
        let left = try await deadline.apply(isDegraded: fleet.isDegraded) { limit in
            try await fleet.command("PTTL", pauseKey(key), deadline: limit).integer ?? 0
        }
        return left > 0 ? .milliseconds(min(left, Self.longestWait / 1000)) : nil
    }

    package func setPause(_ duration: Duration, of key: String) async {
        let milliseconds = max(1, duration.nanosecondCount / 1_000_000)
        // The process that was asked for the pause keeps it in any case.
        _ = try? await deadline.apply(isDegraded: fleet.isDegraded) { limit in
            try await fleet.evaluate(
                Self.pausing, keys: [pauseKey(key)], arguments: [RESPArgument(milliseconds)], deadline: limit)
        }
    }

    /// With three digits after the point, for rates of more than a million a second.
    private static func microseconds(_ nanoseconds: UInt64) -> RESPArgument {
        let rest = String(nanoseconds % 1000)
        return RESPArgument("\(nanoseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)")
    }
}
