// Events of a session.

/// An event of a session: a frame of the peer, in the order of the wire, or the result of sending one of our frames.
///
/// Events are reported when nghttp2 has returned, so that their handlers may call the session.
package enum HTTP2Event {
    /// An interim response (RFC 9110 §15.2).
    case interim(stream: Int32, ResponseHead)
    /// The head of the response, and how many bytes it has on the wire.
    case head(stream: Int32, ResponseHead, byteCount: Int)
    /// Content: a range of the bytes that were given to the session.
    case content(stream: Int32, Range<Int>)
    /// The response ended; the session knows the stream until `forget(_:)`.
    case end(stream: Int32, trailers: FieldBlock?)
    /// The stream failed; the session has forgotten it.
    case failed(stream: Int32, HTTP2StreamFailure)
    /// The head of the request was sent, with `byteCount` bytes.
    case sentHead(stream: Int32, byteCount: Int)
    /// `byteCount` bytes of the request's content were sent; 0 when only the end of the content was sent.
    case sentContent(stream: Int32, byteCount: Int, isLast: Bool)
    /// The peer's limit on streams may have changed.
    case settings
    /// The peer processes no streams after `lastStream`, for this reason (RFC 9113 §6.8); later streams fail next.
    case goAway(code: UInt32, lastStream: Int32)
    /// The peer answered a PING: it has read everything that was sent before.
    case pong
}

/// Why a stream ended without a response.
package struct HTTP2StreamFailure {
    /// The error that the user gets.
    package var failure: TransferFailure
    /// The peer has said that it did not process the request, or the request was never sent (RFC 9113 §8.7).
    package var isUnprocessed = false
    /// The peer wants the request over HTTP/1.1 (RFC 9113 §7).
    package var requiresHTTP1 = false
}

/// The answer of a source of content.
package enum HTTP2ContentSupply {
    /// This number of bytes was written; `isLast` when no more follow.
    case bytes(Int, isLast: Bool)
    /// Nothing can be sent now; `HTTP2Session.resume(_:)` says when it can.
    case wait
    /// The content cannot be read: the stream is reset, and the source of the content ends the exchange.
    case failed
}

/// Gives the content of requests; called by `HTTP2Session.send(into:limit:)`, and must not call the session.
package protocol HTTP2ContentSource: AnyObject {
    func content(of stream: Int32, into buffer: UnsafeMutableRawBufferPointer) -> HTTP2ContentSupply
}
