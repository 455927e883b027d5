// A rate limit that several processes share.

/// Hands out the slots of a limit that several processes share.
package protocol RateLimitBackend: Sendable {
    /// Takes the next slots of a key, one for each of `count` requests, in their order.
    ///
    /// - Returns: as many slots as were asked for, the earliest first.
    /// - Throws: when the store cannot be used; `fallback` then decides about the requests.
    func reserve(_ key: String, limit: RateLimit, count: Int, maximumWait: Duration?) async throws -> RateLimitReply
    /// Returns how long nothing may be sent for a key; `nil` for no pause.
    func pause(of key: String) async throws -> Duration?
    /// Stops all processes from sending for a key during `duration`.
    func setPause(_ duration: Duration, of key: String) async
    /// What a request does when the store cannot be used.
    var fallback: RateLimitFallback { get }
}

extension RateLimitBackend {
    /// Takes the next slot of a key.
    package func reserve(_ key: String, limit: RateLimit, maximumWait: Duration?) async throws -> RateLimitSlot? {
        try await reserve(key, limit: limit, count: 1, maximumWait: maximumWait).slots.first
    }
}

/// The result of `RateLimitBackend.reserve`.
package struct RateLimitReply: Sendable {
    /// The slots; their times count from the moment at which the store gave them.
    package let slots: [RateLimitSlot]
    /// How long ago the store gave the slots; an estimate that is never too high.
    package let age: Duration

    package init(slots: [RateLimitSlot], age: Duration) {
        self.slots = slots
        self.age = age
    }
}

/// The moment at which one request may be sent.
package enum RateLimitSlot: Sendable, Equatable {
    /// The slot comes after this time; zero for now.
    case after(Duration)
    /// The slot would come after this time, which is too long: the slot was not taken.
    case tooLate(Duration)
}

/// What a limiter does while the store of the shared limit cannot be used.
public enum RateLimitFallback: Sendable, Hashable {
    /// Each process keeps to its share of the limit: the limit divided by the number of processes.
    case share(ofProcesses: Int)
    /// Requests are sent without a limit; pauses that a server requested from this process still apply.
    case open
}
