// The slots that one process knows, for a server that has lost them.

import FireweedTransport
import Synchronization

/// Keeps the next slot of each key, as the server last gave it to this process.
///
/// A server loses its slots with a restart, a failover, an eviction or `FLUSHALL`. A process that sends the next slot
/// that it knows is not given a second slot for the same moment.
final class OwnSlots: Sendable {
    /// The next slot without a burst.
    struct NextSlot: Sendable {
        /// Microseconds of the server's clock, as the server wrote them.
        let moment: String
        /// How far away `moment` was when the server wrote it, in microseconds.
        let distance: Int64
        /// When the slot has passed, by this process's clock in nanoseconds.
        fileprivate let end: UInt64
    }

    /// Maximum number of keys whose future slots are remembered.
    private static let limit = 4096

    private let slots = Mutex<[String: NextSlot]>([:])

    /// Returns the next slot of a key; `nil` if the slot is unknown or past.
    func next(of key: String) -> NextSlot? {
        let now = SystemClock().monotonicNanoseconds
        return slots.withLock { $0[key].flatMap { $0.end > now ? $0 : nil } }
    }

    /// Keeps the next slot that the server gave at `time`; forgets the key if `moment` is past, too far away or not a
    /// number.
    func note(_ moment: String, at time: Int64, received: UInt64, of key: String, longest: Int64) {
        let distance = (Double(moment) ?? 0) - Double(time)
        slots.withLock { slots in
            guard distance > 0, distance <= Double(longest) else {
                slots[key] = nil
                return
            }
            if slots.count >= Self.limit, slots[key] == nil {
                slots = slots.filter { $0.value.end > received }
                guard slots.count < Self.limit else { return }
            }
            let whole = Int64(distance.rounded(.up))
            slots[key] = NextSlot(
                moment: moment, distance: whole, end: received.addingSaturating(UInt64(whole) * 1000))
        }
    }
}
