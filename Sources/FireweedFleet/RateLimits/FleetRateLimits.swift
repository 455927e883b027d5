// The slots of a rate limit, for all processes of a fleet.

public import Fireweed
import Foundation

extension Fleet {
    /// Makes an interceptor whose slots are shared by all processes of the fleet.
    ///
    /// Each attempt takes a slot from the server, by the server's clock. Requests of one key take slots in the order in
    /// which they arrived; requests that arrive while a command for slots is in flight share the next command. Each
    /// slot is used by the request of this process that has waited longest: if a waiting request is cancelled, the next
    /// request uses its slot, and the last slot stays unused.
    ///
    /// Requests leave a little after their slots, and later on a busy machine. So that the origin even then gets no
    /// more than `count + burst` requests in a period, slots are 3.5 % farther apart than the limit says, up to 35 ms
    /// in a period: at most 96.6 % of the limit is used, and more if the period is longer than a second. If a process
    /// is late for a slot by more than a third of the sum of this reserve and one interval (at least 10 ms), it takes
    /// another slot instead, twice at most for each request.
    ///
    /// A 429 or 503 with `Retry-After` that any process receives pauses the key in all processes. If the key is an
    /// origin, the pause applies to the limits of every `name`; otherwise it applies only to the limit of that `name`.
    /// A process checks for such a pause 50 ms before a slot that was at least 100 ms away.
    ///
    /// So that the limit holds, a request waits for a server that is silent for a moment: ten times
    /// `Configuration.commandDeadline`, up to a second, unless `maximumWait` is shorter. After one such wait without a
    /// reply, and while the circuit is open, no request waits longer than `commandDeadline` until the server answers.
    ///
    /// Without the server, requests follow `whenUnreachable`. When an outage begins, and for some seconds when it ends,
    /// some processes still use slots of the server while others use their shares: up to twice the limit is sent.
    ///
    /// ```swift
    /// let session = Session(interceptor: fleet.rateLimiter(RateLimit(100, per: .seconds(1))))
    /// ```
    /// - Parameters:
    ///   - limit: how many requests all processes send together.
    ///   - name: distinguishes limits that have the same scope.
    ///   - scope: which requests share the limit.
    ///   - maximumWait: longest time that a request may have to wait, as in `RateLimiter`.
    ///   - maximumPause: longest time for which an origin's fields hold requests back, as in `RateLimiter`; the value
    ///     of the process that receives the fields applies.
    ///   - whenUnreachable: what a request does if no slot can be taken; `nil`, the default, limits each process to the
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

/// Takes the slots of rate limits from the server.
package struct FleetRateLimits: RateLimitBackend {
    private let fleet: Fleet
    private let name: String
    /// Whether keys are origins: a pause of an origin applies under every name.
    private let isByOrigin: Bool
    package let fallback: RateLimitFallback
    private let ages = ReplyAges()
    private let ownSlots = OwnSlots()
    private let deadline: SlotDeadline

    /// Ten years in microseconds: the longest plausible wait for a slot or for the end of a pause.
    private static let longestWait: Int64 = 3650 * 86_400 * 1_000_000

    package init(fleet: Fleet, name: String, isByOrigin: Bool = true, fallback: RateLimitFallback) {
        self.fleet = fleet
        self.name = name
        self.isByOrigin = isByOrigin
        self.fallback = fallback
        deadline = SlotDeadline(commandDeadline: fleet.configuration.commandDeadline)
    }

    /// Takes slots by the server's clock, in microseconds.
    ///
    /// Keys: the moment of the next slot, ignoring bursts, and the pause. Arguments: the interval between slots; how
    /// much earlier than its slot a request may go; the longest wait, or -1 for no limit; the number of slots; the
    /// moment of the next slot that this process knows, and how far away it was in the reply that named it. A stored
    /// moment later than the end of its key's life is ignored, since this script never stores such a moment.
    ///
    /// The reply has for each slot whether it was taken (1 or 0), the wait and the moment; then the server's time and
    /// the moment of the next slot.
    ///
    /// If the server lost the key, the next slot is the one that this process knows, less the tolerance. In case the
    /// server's clock was set back, that slot counts as no further away than in the reply that named it.
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

    /// The name as a part of keys, escaped: a colon would make a key of another namespace, and `Fleet.key` removes
    /// braces.
    private var keyName: String {
        [("%", "%25"), (":", "%3A"), ("{", "%7B"), ("}", "%7D")].reduce(name) { $0.replacing($1.0, with: $1.1) }
    }

    package func reserve(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> RateLimitReply {
        let (slots, age) = try await take(key, limit: limit, count: count, maximumWait: maximumWait)
        return RateLimitReply(slots: slots.map(\.slot), age: age)
    }

    /// Takes slots; returns them with their moments on the server's clock, in microseconds since 1970.
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
        // This task may run some time after the reply arrived: the delay adds to the reply's age, but must not change
        // the measured difference of the clocks.
        let delay = ReplyAges.nanoseconds - reply.arrival
        let age = ages.age(
            of: now, asked: Int64(clamping: asked / 1000), received: Int64(clamping: reply.arrival / 1000))
        return (slots, .microseconds(age) + .nanoseconds(Int64(clamping: delay)))
    }

    package func pause(of key: String) async throws -> Duration? {
        // No request waits for this reply, so its deadline is long: after a short one, a late reply would count as a
        // failure of the server.
        let left = try await deadline.apply(isDegraded: fleet.isDegraded) { limit in
            try await fleet.command("PTTL", pauseKey(key), deadline: limit).integer ?? 0
        }
        return left > 0 ? .milliseconds(min(left, Self.longestWait / 1000)) : nil
    }

    package func setPause(_ duration: Duration, of key: String) async {
        let milliseconds = max(1, duration.nanosecondCount / 1_000_000)
        // Errors are ignored: the process that received the pause keeps it in any case.
        _ = try? await deadline.apply(isDegraded: fleet.isDegraded) { limit in
            try await fleet.evaluate(
                Self.pausing, keys: [pauseKey(key)], arguments: [RESPArgument(milliseconds)], deadline: limit)
        }
    }

    /// Microseconds with three decimal places, for rates of more than a million a second.
    private static func microseconds(_ nanoseconds: UInt64) -> RESPArgument {
        let rest = String(nanoseconds % 1000)
        return RESPArgument("\(nanoseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)")
    }
}
