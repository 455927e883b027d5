// Deliberate faults of a server.

public import Foundation

/// A fault of a ``MockServer``, such as `.json(…).fault(.closeInBody(after: 10))`.
///
/// A stubbed session has no connection: its request fails with the error that the real transport reports for the fault.
/// There, ``throttle(bytesPerSecond:)`` uses the session's clock. A count below 0 is the same as 0.
public enum ServerFault: Sendable, Hashable {
    /// Closes the connection when the request's head has arrived.
    case closeAfterRequestHead
    /// Closes the connection when this many bytes of the request's content have arrived.
    case closeInRequestBody(after: Int)
    /// Closes the connection when the request has arrived, instead of answering.
    case closeBeforeHead
    /// Closes the connection after this many bytes of the response's head.
    case closeInHead(after: Int)
    /// Closes the connection after the response's head.
    case closeAfterHead
    /// Closes the connection after this many bytes of the response's content.
    case closeInBody(after: Int)
    /// Resets the connection (RST) when the request has arrived, instead of answering.
    case reset
    /// Resets the connection (RST) after this many bytes of the response's content.
    case resetInBody(after: Int)
    /// Sends these bytes instead of an answer, and closes the connection.
    case garbage(Data)
    /// Sends this many bytes of the response's content, then nothing more.
    case stallInBody(after: Int)
    /// Over HTTP/2, sends GOAWAY (RFC 9113 §6.8) for this request and later ones, and closes the connection; over
    /// HTTP/1.1, the same as ``closeBeforeHead``.
    ///
    /// Clients may send such a request again.
    case goAway
    /// Over HTTP/2, resets the stream (RST_STREAM, RFC 9113 §6.4) instead of answering, with an error code such as 2,
    /// INTERNAL_ERROR; over HTTP/1.1, the same as ``reset``.
    case resetStream(code: UInt32 = 2)
    /// Over HTTP/2, resets the stream (RST_STREAM) after this many bytes of the response's content; over HTTP/1.1, the
    /// same as ``resetInBody(after:)``.
    case resetStreamInBody(after: Int, code: UInt32 = 2)
    /// Sends the response's content at this many bytes a second; in a stubbed session, a feed is not slowed down.
    case throttle(bytesPerSecond: Int)

    /// The effect in a stubbed session: whether a head is delivered, the number of bytes of content, and the end; `nil`
    /// for throttling.
    var onStub: (hasHead: Bool, byteCount: Int?, ending: MockResponse.Termination)? {
        let lost = MockResponse.Termination.failure(URLError(.networkConnectionLost))
        return switch self {
        case .closeAfterRequestHead, .closeInRequestBody, .closeBeforeHead, .closeInHead, .reset, .goAway,
            .resetStream:
            (false, nil, lost)
        case .garbage: (false, nil, .failure(URLError(.badServerResponse)))
        case .closeAfterHead: (true, 0, lost)
        case .closeInBody(let count), .resetInBody(let count), .resetStreamInBody(let count, _):
            (true, max(0, count), lost)
        case .stallInBody(let count): (true, max(0, count), .stall)
        case .throttle: nil
        }
    }
}

extension MockResponse {
    /// The same answer with a fault of the server.
    public func fault(_ fault: ServerFault) -> MockResponse {
        changed { $0.fault = fault }
    }
}
