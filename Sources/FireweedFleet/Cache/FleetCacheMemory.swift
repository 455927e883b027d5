// A process's own copies of the fleet's cached responses.

import Fireweed

/// The responses that this process looked up or stored recently, limited in bytes and time.
///
/// Pure: times come in as nanoseconds of the monotonic clock.
struct FleetCacheMemory: Sendable {
    struct Responses: Sendable {
        var responses: [StoredResponse]
        var revision: UInt64
        var end: UInt64
        var byteCount: Int { responses.reduce(0) { $0 + $1.byteCount } }
    }

    private let byteLimit: Int
    private let lifetimeNanoseconds: UInt64
    private var keys: [String: Responses] = [:]
    private var byteCount = 0
    /// The number of removals: a response that was looked up before a removal is not remembered after it.
    private(set) var generation: UInt64 = 0

    init(byteLimit: Int, lifetime: Duration) {
        self.byteLimit = byteLimit
        lifetimeNanoseconds = lifetime.wholeNanoseconds
    }

    func responses(for key: String, at now: UInt64) -> Responses? {
        keys[key].flatMap { $0.end > now ? $0 : nil }
    }

    /// Remembers a response of at most an eighth of the limit, unless there was a removal since the look-up read
    /// `generation`.
    mutating func add(
        _ response: StoredResponse, for key: String, revision: UInt64, at now: UInt64, since generation: UInt64
    ) {
        guard generation == self.generation, response.byteCount <= byteLimit / 8, lifetimeNanoseconds > 0 else {
            return
        }
        var found = take(key)
        if found.map({ $0.end <= now || $0.revision != revision }) ?? true {
            found = Responses(responses: [], revision: revision, end: now.addingSaturating(lifetimeNanoseconds))
        }
        guard var found else { return }
        found.responses.removeAll { $0.head.variant == response.head.variant }
        found.responses.insert(response, at: 0)
        keys[key] = found
        byteCount += found.byteCount
        if byteCount > byteLimit { shrink(at: now, keeping: key) }
    }

    mutating func remove(_ key: String) {
        generation += 1
        _ = take(key)
    }

    mutating func removeAll() {
        generation += 1
        (keys, byteCount) = ([:], 0)
    }

    private mutating func take(_ key: String) -> Responses? {
        guard let found = keys.removeValue(forKey: key) else { return nil }
        byteCount -= found.byteCount
        return found
    }

    /// Evicts expired responses, then the responses that expire first, until half of the limit is free.
    private mutating func shrink(at now: UInt64, keeping kept: String) {
        for (key, responses) in keys where responses.end <= now { _ = take(key) }
        for (key, _) in keys.sorted(by: { $0.value.end < $1.value.end }) where key != kept {
            guard byteCount > byteLimit / 2 else { return }
            _ = take(key)
        }
    }
}
