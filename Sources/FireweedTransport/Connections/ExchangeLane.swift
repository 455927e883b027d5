// The connection, or the stream of one, that an exchange runs on.

/// A connection of HTTP/1.1, or a stream of HTTP/2: what moves the bytes of one exchange.
///
/// Used on the loop's thread.
protocol ExchangeLane: AnyObject {
    /// Detaches an exchange that has ended.
    ///
    /// With `keeps`, a connection that carries one exchange at a time may carry the next one.
    func release(_ exchange: Exchange, keeps: Bool)

    /// Lets bytes move as the exchange's flow says.
    func flowChanged()

    /// Sends the content that waited for a 100.
    func continueSending()

    /// Nothing has come from the peer since the exchange began.
    var hasNoAnswer: Bool { get }

    /// The peer did not answer in time: nothing else is to begin where this exchange runs.
    func retire()
}
