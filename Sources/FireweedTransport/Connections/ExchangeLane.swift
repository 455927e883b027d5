// The HTTP/1.1 connection or HTTP/2 stream that carries an exchange.

/// An HTTP/1.1 connection or an HTTP/2 stream, on which one exchange runs.
///
/// Used on the loop's thread.
protocol ExchangeLane: AnyObject {
    /// Detaches an exchange that has ended.
    ///
    /// With `keeps`, an HTTP/1.1 connection may carry the next exchange.
    func release(_ exchange: Exchange, keeps: Bool)

    /// Continues or pauses reading and writing, after the exchange's flow has changed.
    func flowChanged()

    /// Sends the content that waits for a 100 response.
    func continueSending()

    /// Whether nothing has been received since the exchange got the connection or stream.
    var hasNoAnswer: Bool { get }

    /// Allows no further exchange on the connection, whose peer has not answered in time.
    func retire()
}
