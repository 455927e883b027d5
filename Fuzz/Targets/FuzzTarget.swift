// The list of targets: one for each parser of untrusted input.

/// A parser of ours, and what has to hold whatever bytes it is given.
///
/// The fuzzers and the tests run the same checks: the fuzzers to find inputs, the tests over those that were found.
package struct FuzzTarget: Sendable, CustomStringConvertible {
    /// The name of its executable, and of its folders in `Fuzz/`.
    package let name: String
    /// The longest input that is of use.
    package let maximumByteCount: Int
    private let body: @Sendable (ArraySlice<UInt8>) throws -> Void

    package var description: String { name }

    init(_ name: String, maximumByteCount: Int = 2048, _ body: @escaping @Sendable (ArraySlice<UInt8>) throws -> Void) {
        self.name = name
        self.maximumByteCount = maximumByteCount
        self.body = body
    }

    /// Runs the check; throws `FuzzFailure` for what does not hold.
    package func check(_ bytes: [UInt8]) throws {
        try body(bytes[...])
    }

    /// Every target.
    package static let all: [FuzzTarget] = [
        // What comes as content.
        serverSentEvents, lines, jsonLines, resumeData, webSocketFrames, webSocketInflating,
        // Messages of HTTP/1.1, content codings, and proxies.
        http1Response, chunked, codings, socks, connect, ntlmChallenge,
        // Frames of HTTP/2.
        http2Session,
        // Header sections and fields.
        setCookie, cookieDomain, cookieDate, httpDate, cacheControl, cacheFields, storedHead, mediaType,
        contentDisposition, retryAfter, contentRange, strictTransport, challenges, location, webSocketHandshake,
        webSocketExtensions, traceContext,
        // What is written down or taken over by people.
        curlCommand, shellWords, archive, redaction, urlEncodedForm, netrc, certificates, addresses, netlink,
        cookieFile, urlText,
        // What people type at the command.
        json, jsonTape, requestItems,
        // What the command prints.
        terminalText,
        // What FireweedTesting reads.
        serverRequest, serverFrames, serverHTTP2, urlPattern, recording,
        // What the server of a fleet answers.
        resp, fleetEntry,
    ]
}

/// A property that does not hold.
package struct FuzzFailure: Error, CustomStringConvertible {
    package let description: String
}

/// Throws `FuzzFailure` unless the condition holds.
func expect(_ condition: Bool, _ property: @autoclosure () -> String) throws {
    if !condition { throw FuzzFailure(description: property()) }
}

/// Throws `FuzzFailure` unless both are the same.
func expectEqual<Value: Equatable>(_ left: Value, _ right: Value, _ property: String) throws {
    if left != right { throw FuzzFailure(description: "\(property): \(left) is not \(right)") }
}
