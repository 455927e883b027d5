// Whether a message may be sent a second time.

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
    /// How many tries there were, this one included.
    var tryCount = 1

    /// Methods whose effect is the same when they are carried out twice (RFC 9110 §9.2.2).
    ///
    /// `DELETE` is idempotent as well, but its second answer differs from the first.
    private static let resendableMethods: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT"]

    /// So often a message is sent that servers do not process.
    static let unprocessedTryLimit = 4

    /// Whether the message may be sent once more, on a new connection.
    var allowsResend: Bool {
        if isUnprocessed { return !hasAnswer && tryCount < Self.unprocessedTryLimit }
        guard wasReused, !hasAnswer, !isRepeated else { return false }
        return !hasWritten || method == "GET" || Self.resendableMethods.contains(method)
    }
}
