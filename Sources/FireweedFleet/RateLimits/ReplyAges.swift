// The age of a reply.

import FireweedTransport
import Synchronization

/// Computes how old a server's replies are, from the server's time in each reply.
///
/// The two clocks may differ by any time. The fastest reply shows their difference best: a later reply's age is the
/// amount by which its own difference exceeds this one. Therefore the age omits the travel time of the fastest reply,
/// and is never too great unless the server's clock is set.
final class ReplyAges: Sendable {
    /// The smallest difference of the clocks seen so far, in microseconds.
    private let difference = Mutex<Int64?>(nil)

    /// The time of this process's clock, which never goes back.
    static var nanoseconds: UInt64 { SystemClock().monotonicNanoseconds }

    /// Returns the age that a reply had when it was received.
    ///
    /// - Parameters:
    ///   - time: the server's time in the reply.
    ///   - asked: when the command was sent, by this process's clock.
    ///   - received: when the reply was received, by this process's clock.
    /// - Returns: microseconds; zero or more.
    func age(of time: Int64, asked: Int64, received: Int64) -> Int64 {
        // Wrapping subtraction, because a server may reply with any number.
        let current = received &- time
        return difference.withLock { difference in
            var least = min(difference ?? current, current)
            // A reply cannot be older than its command. If it seems older, the server's clock was set, or another
            // server replied: the measurement starts again.
            if current &- least > received &- asked { least = current }
            difference = least
            return max(0, current &- least)
        }
    }
}
