// The connection, or the stream of one, that an exchange runs on.

/// An HTTP/1.1 connection or an HTTP/2 stream, which moves the bytes of one exchange.
///
/// Used on the loop's thread.
protocol ExchangeLane: AnyObject {
    /// Separates an exchange that has ended.
    ///
    /// With `keeps`, an HTTP/1.1 connection may carry the next exchange.
    func release(_ exchange: Exchange, keeps: Bool)

    /// Moves bytes as the exchange's flow allows.
    func flowChanged()

    /// Sends content that has waited for a 100 response.
    func continueSending()

    /// Whether nothing has been received since the exchange began.
    var hasNoAnswer: Bool { get }

    /// Allows no further exchange on the connection, whose peer has not answered in time.
    func retire()
}
