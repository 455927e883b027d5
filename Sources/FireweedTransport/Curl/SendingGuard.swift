// Which requests may be sent again when a connection closed without an answer.

/// Counts the sendings of one transfer's request message, and says whether one more may begin.
///
/// libcurl sends a request again, whole, when a kept-alive connection closes before the first byte of an answer. The
/// server may have acted on the first sending, so that RFC 9110 §9.2.2 allows a second one for idempotent methods only.
/// A server of HTTP/2 may say that it has not acted (RFC 9113 §8.7), but libcurl 7.88 does not tell us.
struct SendingGuard {
    /// True while a sending has had no answer.
    private var isUnanswered = false
    /// Bytes that had been sent when the last sending began.
    private var byteCount = 0

    /// Methods that libcurl may send again.
    ///
    /// `DELETE` is idempotent as well, but its second answer differs from the first.
    private static let repeatableMethods: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT"]

    static func mayRepeat(_ method: String) -> Bool {
        // Most requests are: without a hash.
        method == "GET" || repeatableMethods.contains(method)
    }

    /// Whether a request with this method may be sent; `sentByteCount` are the bytes that its transfer has sent so far.
    func allowsSending(_ method: String, sentByteCount: @autoclosure () -> Int) -> Bool {
        guard isUnanswered, !Self.mayRepeat(method) else { return true }
        return sentByteCount() <= byteCount
    }

    /// Notes that the request is about to be sent.
    mutating func sendingBegins(sentByteCount: Int) {
        isUnanswered = true
        byteCount = sentByteCount
    }

    /// Notes that the head of a response came.
    mutating func answered() {
        isUnanswered = false
    }
}
