// The age of a reply.

import FireweedTransport
import Synchronization

/// Says how old the answers of a server are that have the server's time in them.
///
/// The two clocks may differ by any time. The answer that came fastest shows that difference best: what a later answer
/// differs by more is its age. So the age lacks the time that the fastest answer took, and is never too great, as long
/// as the server's clock is not set.
final class ReplyAges: Sendable {
    /// The least difference of the clocks that was seen, in microseconds.
    private let difference = Mutex<Int64?>(nil)

    /// The time of this process's clock, which never goes back.
    static var nanoseconds: UInt64 { SystemClock().monotonicNanoseconds }

    /// The age of an answer when it was received.
    ///
    /// - Parameters:
    ///   - time: the server's time in the answer.
    ///   - asked: when the question was sent, by this process's clock.
    ///   - received: when the answer was received, by this process's clock.
    /// - Returns: microseconds; zero or more.
    func age(of time: Int64, asked: Int64, received: Int64) -> Int64 {
        // A server may answer with any number.
        let current = received &- time
        return difference.withLock { difference in
            var least = min(difference ?? current, current)
            // No answer is made before its question: the server's clock was set, or it is another server.
            if current &- least > received &- asked { least = current }
            difference = least
            return max(0, current &- least)
        }
    }
}
