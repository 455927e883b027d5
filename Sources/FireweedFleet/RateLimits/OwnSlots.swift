// The slots of one process, for a server that forgets them.

import FireweedTransport
import Synchronization

/// Keeps the next slot of each key as the server gave it last to this process.
///
/// A server loses its slots with a restart, a failover, an eviction or `FLUSHALL`. A process that says what it knows is
/// not given a second slot for the same moment.
final class OwnSlots: Sendable {
    /// The next slot without a burst.
    struct NextSlot: Sendable {
        /// Microseconds of the server's clock, as the server wrote them.
        let moment: String
        /// How far away that was when the server wrote it, in microseconds.
        let distance: Int64
        /// When the slot is over, by this process's clock in nanoseconds.
        fileprivate let end: UInt64
    }

    /// Keys whose next slots are to come and that are remembered.
    private static let limit = 4096

    private let slots = Mutex<[String: NextSlot]>([:])

    /// What is known of a key; `nil` when its slots are over.
    func next(of key: String) -> NextSlot? {
        let now = SystemClock().monotonicNanoseconds
        return slots.withLock { $0[key].flatMap { $0.end > now ? $0 : nil } }
    }

    /// Notes what the server said at a moment of its clock; a moment that is over, or no number, is none.
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
