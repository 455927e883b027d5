// The order of invalidations and requests.

/// The order of invalidations (RFC 9111 §4.4) and of requests.
///
/// A response to a request that was sent before an invalidation of its key may be older than the change that caused the
/// invalidation. Such a response is not stored.
struct Invalidations {
    /// The most keys that are remembered; to an older request, a forgotten key counts as invalidated.
    private static let limit = 4096

    /// How many invalidations there were.
    private(set) var count = 0
    /// The number of the latest invalidation of each key.
    private var latest: [String: Int] = [:]
    /// The number of the latest forgotten invalidation: for a request that was sent before it, every key counts as
    /// invalidated.
    private var forgotten = 0

    mutating func add(_ key: String) {
        count += 1
        if latest.count >= Self.limit {
            forgotten = count - Self.limit / 2
            latest = latest.filter { $0.value > forgotten }
        }
        latest[key] = count
    }

    /// True when the key was invalidated since `count` had the value `number`, or when that is no longer known.
    func contains(_ key: String, since number: Int) -> Bool {
        number < forgotten || latest[key, default: 0] > number
    }
}
