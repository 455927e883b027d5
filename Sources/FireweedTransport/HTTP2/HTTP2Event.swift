// Events of an HTTP/2 session.

/// An event of a session: a frame arrived, one of our frames was sent, or a stream failed.
///
/// The events of received frames come in the order of the frames.
///
/// Events are reported after nghttp2 has returned, so that their handlers may call the session.
package enum HTTP2Event {
    /// An interim response (RFC 9110 §15.2).
    case interim(stream: Int32, ResponseHead)
    /// The head of the response, and its size on the wire.
    case head(stream: Int32, ResponseHead, byteCount: Int)
    /// Content: a range of the bytes that were passed to `HTTP2Session.receive(_:)`.
    case content(stream: Int32, Range<Int>)
    /// The response ended; the session keeps the stream until `forget(_:)`.
    case end(stream: Int32, trailers: FieldBlock?)
    /// The stream failed; the session has forgotten it.
    case failed(stream: Int32, HTTP2StreamFailure)
    /// The head of the request was sent, in `byteCount` bytes.
    case sentHead(stream: Int32, byteCount: Int)
    /// `byteCount` bytes of the request's content were sent; 0 when only the end of the content was sent.
    case sentContent(stream: Int32, byteCount: Int, isLast: Bool)
    /// The peer's settings came: its limit on streams may have changed.
    case settings
    /// A GOAWAY frame came: the peer processes no stream after `lastStream` (RFC 9113 §6.8). Those streams fail next.
    case goAway(code: UInt32, lastStream: Int32)
    /// The peer answered a PING: it has received everything that we sent before the PING.
    case pong
}

/// Why a stream failed.
package struct HTTP2StreamFailure {
    /// The error that the user gets.
    package var failure: TransferFailure
    /// Whether the peer did not process the request, or the request was never sent (RFC 9113 §8.7).
    package var isUnprocessed = false
    /// Whether the peer wants the request over HTTP/1.1 (RFC 9113 §7).
    package var requiresHTTP1 = false
}

/// The result of asking a source for content.
package enum HTTP2ContentSupply {
    /// The source wrote this number of bytes; `isLast` if no more follow.
    case bytes(Int, isLast: Bool)
    /// The source has no content now; `HTTP2Session.resume(_:)` is called when it has more.
    case wait
    /// The content cannot be read: nghttp2 resets the stream, and the source ends the exchange.
    case failed
}

/// The source of the content of requests, which `HTTP2Session.send(into:limit:)` calls; it must not call the session.
package protocol HTTP2ContentSource: AnyObject {
    func content(of stream: Int32, into buffer: UnsafeMutableRawBufferPointer) -> HTTP2ContentSupply
}
