// Counters for a service's metrics.

import Synchronization

/// Counts of events in a fleet, in this process, since the fleet was made.
///
/// The numbers only grow; a service reads them as often as its metrics need.
public struct FleetCounts: Sendable, Hashable {
    /// Look-ups of the fleet's caches that found a response, in memory or at the server.
    public internal(set) var cacheHits = 0
    /// Look-ups of the fleet's caches that found no response, including failed look-ups.
    public internal(set) var cacheMisses = 0
    /// How often `FleetEvent.degraded(_:pause:)` has happened, whether there is a handler or not.
    public internal(set) var degradations = 0
}

/// Keeps the counts of a fleet, which any thread may change.
final class FleetCounter: Sendable {
    private let state = Mutex(FleetCounts())

    var counts: FleetCounts { state.withLock { $0 } }

    func change(_ body: (inout FleetCounts) -> Void) { state.withLock { body(&$0) } }
}
