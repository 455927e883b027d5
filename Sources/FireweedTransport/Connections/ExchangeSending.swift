// The progress of an exchange's content.

/// The content of an exchange's message, as far as it was sent.
struct ExchangeSending {
    /// The part of the content that the connection has: nothing, some of it, or all of it.
    var progress = TransferEnd.SentContent.untouched
    /// The bytes of content that were handed to the connection.
    var byteCount: Int64 = 0
    /// The content for the next try; reading it has begun.
    var prepared: OutgoingContent?
    /// The source of completely sent content whose reader has not reported the end yet; otherwise `nil`.
    var exhaustedPump: BodyPump?

    /// Begins to count anew, for the next message; keeps the prepared content.
    mutating func restart() {
        (progress, byteCount, exhaustedPump) = (.untouched, 0, nil)
    }
}
