// Failures of HTTP/1.1 messages, with the codes of `URLError`.

import Foundation

extension TransferFailure {
    /// Bytes arrived on a connection before the first byte of the next request message was sent.
    static var unaskedBytes: TransferFailure {
        .badResponse("bytes came on the connection before the request had left")
    }

    /// A response's head breaks RFC 9112.
    static func badResponse(_ detail: String) -> TransferFailure {
        .exchange(.badServerResponse, detail: detail, engineCode: 0)
    }

    /// Content in the chunked coding is malformed.
    static func malformedChunk(_ detail: String) -> TransferFailure {
        .exchange(.cannotParseResponse, detail: "the response is malformed: \(detail) (RFC 9112 §7.1)", engineCode: 0)
    }

    /// The connection closed before the response was complete.
    static func cutResponse(_ detail: String) -> TransferFailure {
        .exchange(.networkConnectionLost, detail: "the connection closed \(detail)", engineCode: 0)
    }

    /// The head of a request message exceeds `HTTP1RequestWriter.maximumHeadByteCount`.
    static func longHead(_ byteCount: Int) -> TransferFailure {
        let limit = HTTP1RequestWriter.maximumHeadByteCount
        return .exchange(
            .dataLengthExceedsMaximum,
            detail: "the head of the request has \(byteCount) bytes, and at most \(limit) are sent", engineCode: 0)
    }

    /// A user's request message has the method CONNECT.
    static var tunnelMethod: TransferFailure {
        .badMessage(
            "a request cannot have the method CONNECT, which makes a tunnel: the transport alone sends it, to proxies "
                + "(RFC 9110 §9.3.6)")
    }

    /// The request message cannot be sent, for the reason in `detail`.
    static func badMessage(_ detail: String) -> TransferFailure {
        .exchange(.badURL, detail: detail, engineCode: 0)
    }
}
