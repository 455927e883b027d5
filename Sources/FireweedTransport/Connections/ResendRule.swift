// The rule for sending a message a second time.

/// The rule for a try that ended without a response: whether the message may be sent again.
///
/// A `POST` that has reached the kernel is sent again only if the peer did not process it.
struct ResendRule {
    var method: String
    /// Whether the connection had carried an exchange before: only then can the peer have closed the connection as
    /// idle.
    var wasReused: Bool
    /// Whether a byte of the message was handed to the kernel.
    var hasWritten: Bool
    /// Whether a byte of a response was received.
    var hasAnswer: Bool
    /// Whether the message was already sent again after a lost connection or, on an open HTTP/2 connection, for any
    /// reason.
    var isRepeated: Bool
    /// Whether the peer did not process the message, as the peer says or as HTTP/2 implies (RFC 9113 §8.7).
    var isUnprocessed = false
    /// The number of refusals in a row without progress, this one included.
    var refusalCount = 1
    /// The number of tries, this one included.
    var tryCount = 1

    /// Methods whose effect is the same when they are carried out twice (RFC 9110 §9.2.2).
    ///
    /// `DELETE` is idempotent as well, but its second answer differs from the first.
    private static let resendableMethods: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT"]

    /// The number of consecutive refusals, without progress of another message, after which the message fails.
    static let refusalLimit = 4
    /// The most tries of a message that is not processed while other messages make progress.
    static let unprocessedTryLimit = 100

    /// Returns the pause of an origin whose peer refuses everything, in nanoseconds; `nil` after a first refusal, and
    /// after the last one, when the message is not sent again.
    static func pause(afterRefusals count: Int) -> LoopInstant? {
        guard count > 1, count < refusalLimit else { return nil }
        return 50_000_000 << (2 * UInt64(count - 2))
    }

    /// Whether the message may be sent once more.
    var allowsResend: Bool {
        if isUnprocessed {
            return !hasAnswer && refusalCount < Self.refusalLimit && tryCount < Self.unprocessedTryLimit
        }
        guard wasReused, !hasAnswer, !isRepeated else { return false }
        return !hasWritten || method == "GET" || Self.resendableMethods.contains(method)
    }
}

/// The number of consecutive refusals of a message.
///
/// A server that processes few messages for each connection, or few simultaneously, refuses the others repeatedly, but
/// serves them in the end. So the count restarts when another message of the origin has made progress.
struct RefusalCount {
    private(set) var count = 0
    private var lastProgress = 0

    /// Counts a refusal; `progress` grows whenever the peer processes a message of the same origin.
    mutating func note(progress: Int) {
        count = progress == lastProgress ? count + 1 : 1
        lastProgress = progress
    }
}
