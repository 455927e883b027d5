// Counts of an origin's connections, for other threads.

import Synchronization

/// The counts of connections and waiting exchanges of one `OriginPool`.
///
/// The loop's thread writes the counts, and any thread reads them. Each count is exact, but counts that are read one
/// after another may belong to different moments.
final class OriginCounters: Sendable {
    let origin: ConnectionOrigin
    private let connecting = Atomic(0)
    private let active = Atomic(0)
    private let idle = Atomic(0)
    private let waiting = Atomic(0)

    init(_ key: OriginKey) {
        origin = ConnectionOrigin(scheme: key.isSecure ? "https" : "http", host: key.host, port: Int(key.port))
    }

    func publish(connecting: Int, active: Int, idle: Int, waiting: Int) {
        self.connecting.store(connecting, ordering: .relaxed)
        self.active.store(active, ordering: .relaxed)
        self.idle.store(idle, ordering: .relaxed)
        self.waiting.store(waiting, ordering: .relaxed)
    }

    /// Adds the counts to statistics of the same origin.
    func add(to statistics: inout OriginStatistics) {
        statistics.connecting += connecting.load(ordering: .relaxed)
        statistics.active += active.load(ordering: .relaxed)
        statistics.idle += idle.load(ordering: .relaxed)
        statistics.waiting += waiting.load(ordering: .relaxed)
    }
}

/// The counters of a pool's origins.
final class PoolCounters: Sendable {
    private let counters = Mutex<[ObjectIdentifier: OriginCounters]>([:])

    func add(_ origin: OriginCounters) { counters.withLock { $0[ObjectIdentifier(origin)] = origin } }

    func remove(_ origin: OriginCounters) { _ = counters.withLock { $0.removeValue(forKey: ObjectIdentifier(origin)) } }

    /// The sums over all pools for each origin, sorted by origin, without origins whose counts are all zero.
    static func statistics(of pools: [PoolCounters]) -> [OriginStatistics] {
        var sums: [ConnectionOrigin: OriginStatistics] = [:]
        for counters in pools.flatMap({ pool in pool.counters.withLock { Array($0.values) } }) {
            counters.add(to: &sums[counters.origin, default: OriginStatistics(origin: counters.origin)])
        }
        return sums.values.filter { !$0.isEmpty }.sorted { $0.origin.description < $1.origin.description }
    }
}
