// The framing of a response's content.

/// How the end of a response's content is found (RFC 9112 §6.3).
package enum ContentFraming: Equatable, Sendable {
    /// There is no content.
    case none
    /// The content has this many bytes.
    case length(Int64)
    /// The chunked transfer coding (RFC 9112 §7.1).
    case chunked
    /// The content ends when the connection closes.
    case untilClose
    /// HTTP ends with this head: later bytes belong to a tunnel (2xx to CONNECT) or to another protocol (101).
    case tunnel
}

/// The properties of a request that the framing of its response depends on.
package struct ResponseExpectation: Equatable, Sendable {
    /// The request is a HEAD: the response has no content (RFC 9110 §9.3.2).
    package var isHead: Bool
    /// The request is a CONNECT: a 2xx makes the connection a tunnel (RFC 9110 §9.3.6).
    package var isConnect: Bool
    /// The request has an `Upgrade` field: a 101 may come (RFC 9110 §15.2.2).
    package var offersUpgrade: Bool

    /// Makes the expectation for a request with this method; method names are case-sensitive.
    package init(method: String, offersUpgrade: Bool = false) {
        isHead = method == "HEAD"
        isConnect = method == "CONNECT"
        self.offersUpgrade = offersUpgrade
    }
}

extension ContentFraming {
    /// Returns the framing of a final response or a 101, by the first rule of RFC 9112 §6.3 that applies; throws if the
    /// framing is ambiguous, or if the request did not ask for the 101.
    static func of(
        _ line: StatusLine, _ fields: FramingFields, expecting expectation: ResponseExpectation
    ) throws(TransferFailure) -> ContentFraming {
        if line.status == 101 {
            guard expectation.offersUpgrade else { throw .badResponse("the server switched protocols unasked") }
            return .tunnel
        }
        // RFC 9110 §9.3.6: a client ignores `Content-Length` and `Transfer-Encoding` in a 2xx response to CONNECT.
        if expectation.isConnect, 200..<300 ~= line.status { return .tunnel }
        guard fields.length.isSound else {
            throw .badResponse("the response announces lengths that are none, or that differ")
        }
        if case .unsound(let detail) = fields.transferCoding { throw .badResponse(detail) }
        if fields.transferCoding == .chunked {
            // The framing of a chunked HTTP/1.0 response is faulty: an intermediary may have read it differently (RFC
            // 9112 §6.1).
            guard line.minorVersion > 0 else {
                throw .badResponse("the response is chunked, and its version is HTTP/1.0 (RFC 9112 §6.1)")
            }
            guard fields.length.byteCount == nil else {
                throw .badResponse("the response has a Content-Length and is chunked (RFC 9112 §6.3)")
            }
        }
        if expectation.isHead || line.status == 204 || line.status == 304 { return .none }
        if fields.transferCoding == .chunked { return .chunked }
        return fields.length.byteCount.map { .length($0) } ?? .untilClose
    }
}
