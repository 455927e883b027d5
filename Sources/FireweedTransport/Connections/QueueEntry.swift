// The books of the pool on one exchange.

/// The place of an exchange in the pool and in its origin's queue, and what its dialer did.
struct QueueEntry {
    /// The place in the origin's queue; `nil` while the exchange is not in the queue.
    var place: Int?
    /// The place at the first entry into the queue, kept when the message is sent again and while its file is opened.
    var number: Int?
    /// The index among the pool's active exchanges.
    var slot: Int?
    /// Whether the exchange is about to enter its origin's queue.
    var isArriving = false
    /// Whether the exchange waits for a connection and its file is open or being opened.
    var isAhead = false
    /// The moment at which the exchange last entered its queue or got a connection.
    var instant: LoopInstant = 0
    /// The turn of the loop in which the exchange entered the queue; `.max` if it got a dialer in that turn, and so has
    /// not waited.
    var turn: UInt64 = .max
    /// The dialer that makes a connection for this exchange.
    var dialer: Dialer?
    /// Whether the exchange ends because the connection that was made for it failed.
    var hasFailedDial = false
}
