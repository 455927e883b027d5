// The rule for sending a message a second time.

/// Whether a message may be sent again, by what is known of an attempt that ended without a response.
///
/// A `POST` of which the kernel got a byte is sent again only if the peer did not process it.
struct ResendRule {
    var method: String
    /// Whether the connection had carried an exchange before: only then may the peer have closed it as idle.
    var wasReused: Bool
    /// Whether a byte of the message was handed to the kernel.
    var hasWritten: Bool
    /// Whether a byte of an answer came.
    var hasAnswer: Bool
    /// Whether the message was sent again before, after the loss of a connection or on the same one.
    var isRepeated: Bool
    /// Whether the peer has said that it did not process the message, or HTTP/2 shows it (RFC 9113 §8.7).
    var isUnprocessed = false
    /// How often peers have refused the message without progress, this time included.
    var refusalCount = 1
    /// How many tries there were, this one included.
    var tryCount = 1

    /// Methods whose effect is the same when they are carried out twice (RFC 9110 §9.2.2).
    ///
    /// `DELETE` is idempotent as well, but its second answer differs from the first.
    private static let resendableMethods: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT"]

    /// So many refusals in a row, while no other message gets ahead, are an error.
    static let refusalLimit = 4
    /// So often a message is sent that servers do not process, though others get ahead.
    static let unprocessedTryLimit = 100

    /// Whether the message may be sent once more, on a new connection.
    var allowsResend: Bool {
        if isUnprocessed {
            return !hasAnswer && refusalCount < Self.refusalLimit && tryCount < Self.unprocessedTryLimit
        }
        guard wasReused, !hasAnswer, !isRepeated else { return false }
        return !hasWritten || method == "GET" || Self.resendableMethods.contains(method)
    }
}

/// Counts the refusals of a message in a row.
///
/// A server that takes few messages of each connection, or few at a time, refuses the others again and again; they get
/// their turn as long as it takes some. A refusal counts only where no message of the origin got ahead since the last.
struct RefusalCount {
    private(set) var count = 0
    private var lastProgress = 0

    /// Notes a refusal; `progress` grows whenever the peer takes a message of the same origin.
    mutating func note(progress: Int) {
        count = progress == lastProgress ? count + 1 : 1
        lastProgress = progress
    }
}
