// The heads of request messages, as bytes.

/// Writes the heads of the request messages of one connection (RFC 9112 §3).
///
/// A block of fields is checked and serialised once: the writer keeps the last block, and messages share blocks.
package struct HTTP1RequestWriter {
    /// The form of the request target in the request line (RFC 9112 §3.2).
    package enum Form: Sendable, Equatable {
        /// The origin, reached directly or through a tunnel.
        case origin
        /// A proxy for clear text: the absolute form. `lines` are fields for the proxy alone, each with its CRLF.
        case proxy(lines: [UInt8])
    }

    /// How the content that follows the head is framed (RFC 9112 §6).
    package enum Framing: Sendable, Equatable {
        /// No content follows.
        case none
        /// This many bytes follow; with fewer or more bytes the connection is closed, since its framing is lost.
        case length(Int64)
        /// Chunks follow (`ChunkedEncoder`).
        case chunked
    }

    /// The properties of a written head that its connection depends on.
    package struct Written: Sendable, Equatable {
        /// How the content is framed.
        package var framing: Framing
        /// The content waits for a 100, at most one second (RFC 9110 §10.1.1).
        package var expectsContinue: Bool
        /// The message asks for the end of the connection after its response.
        package var closesConnection: Bool
        /// What the response depends on.
        package var expectation: ResponseExpectation
    }

    /// The longest head that is sent, in bytes, over HTTP/1.1 and HTTP/2.
    static let maximumHeadByteCount = 1 << 20

    private var blocks: CheckedBlocks
    private var lastGET: LastGET?
    private let acceptedCodings: String

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - writing: how fields are written; `nil` to write them as messages have them.
    ///   - acceptedCodings: the value of `Accept-Encoding` for messages that have none.
    package init(writing: FieldWriting? = nil, acceptedCodings: String = ContentDecoder.acceptedCodings) {
        blocks = CheckedBlocks(writing: writing)
        self.acceptedCodings = acceptedCodings
    }

    /// Appends the head of a message, its empty line included.
    ///
    /// - Parameters:
    ///   - message: the message; its URL is `target`'s.
    ///   - target: the parts of its URL.
    ///   - form: the recipient of the head.
    ///   - contentLength: how many bytes of content there are; `nil` where that is not known, and chunks are sent.
    ///   - extra: fields of the transport's own, each with its CRLF, such as an answer to a challenge.
    ///   - bytes: where the head is appended; nothing is appended when this throws.
    /// - Returns: the properties of the head that its connection depends on.
    /// - Throws: `badURL` with the name of what cannot be sent; `dataLengthExceedsMaximum` for a head that is longer
    ///   than `maximumHeadByteCount`.
    package mutating func write(
        _ message: RequestMessage, to target: RequestTarget, form: Form = .origin, contentLength: Int64?,
        extra: [UInt8] = [], into bytes: inout [UInt8]
    ) throws(TransferFailure) -> Written {
        if form == .origin, extra.isEmpty, case .none = message.content, message.method == "GET", let lastGET,
            lastGET.block === message.fields, lastGET.target.hasAuthority(of: target),
            target.originForm.utf8.count + lastGET.rest.count < Self.maximumHeadByteCount - 4
        {
            bytes.append("GET ")
            bytes.append(contentsOf: target.originForm.utf8)
            bytes += lastGET.rest
            return lastGET.written
        }
        // The head is kept only for a block that several messages share.
        let isShared = blocks.hasLast(message.fields)
        let fields = try blocks.fields(of: message.fields)
        let framing = try Self.framing(of: message, contentLength: contentLength, fields)
        let start = bytes.count
        try bytes.appendRequestLine(message.method, form == .origin ? target.originForm : target.absoluteForm)
        if fields.sendsHost {
            bytes.append("Host: ")
            if let host = fields.host { bytes += host } else { bytes.append(contentsOf: target.authority.utf8) }
            bytes.append("\r\n")
        }
        if case .proxy(let lines) = form { bytes += lines + fields.proxyLines }
        if !fields.hasAccept { bytes.append("Accept: */*\r\n") }
        if !fields.hasAcceptEncoding, !acceptedCodings.isEmpty {
            bytes.append("Accept-Encoding: ")
            bytes.append(contentsOf: acceptedCodings.utf8)
            bytes.append("\r\n")
        }
        bytes += extra
        bytes += fields.lines
        let expectsContinue = fields.expectsContinue && framing != .none && framing != .length(0)
        Self.append(framing, fields, expectsContinue, to: &bytes)
        let byteCount = bytes.count - start
        guard byteCount <= Self.maximumHeadByteCount else {
            bytes.removeLast(byteCount)
            throw .longHead(byteCount)
        }
        let written = Written(
            framing: framing, expectsContinue: expectsContinue, closesConnection: fields.closesConnection,
            expectation: ResponseExpectation(method: message.method))
        if isShared, form == .origin, extra.isEmpty, framing == .none, message.method == "GET" {
            let startCount = 4 + target.originForm.utf8.count
            lastGET = LastGET(
                block: message.fields, target: target,
                rest: Array(bytes[(start + startCount)...]), written: written)
        }
        return written
    }

    /// The head of a GET after its target: the next GET for the same host usually has the same fields.
    private struct LastGET {
        let block: FieldBlock
        let target: RequestTarget
        /// From the version on, up to the empty line.
        let rest: [UInt8]
        let written: Written
    }

    /// The framing fields, the options of the connection, and the empty line.
    private static func append(
        _ framing: Framing, _ fields: CheckedFields, _ expectsContinue: Bool, to bytes: inout [UInt8]
    ) {
        switch framing {
        case .none: break
        case .chunked: bytes.append("Transfer-Encoding: chunked\r\n")
        case .length(let count):
            bytes.append("Content-Length: ")
            bytes.append(contentsOf: String(count).utf8)
            bytes.append("\r\n")
        }
        if expectsContinue { bytes.append("Expect: 100-continue\r\n") }
        switch (fields.closesConnection, fields.acceptsTrailers) {
        case (true, true): bytes.append("Connection: close, TE\r\n")
        case (true, false): bytes.append("Connection: close\r\n")
        case (false, true): bytes.append("Connection: TE\r\n")
        case (false, false): break
        }
        bytes.append("\r\n")
    }

    /// How the content is framed; throws where the message's own fields contradict that.
    static func framing(
        of message: RequestMessage, contentLength: Int64?, _ fields: CheckedFields
    ) throws(TransferFailure) -> Framing {
        if let announced = fields.length, announced != contentLength {
            let has = contentLength.map { "has \($0) bytes" } ?? "is sent in chunks, since its length is not known"
            throw .badMessage(
                "the request's field “Content-Length” cannot be sent: it says \(announced), and the content \(has)")
        }
        if case .none = message.content {
            guard !fields.isChunked else {
                throw .badMessage("the request's field “Transfer-Encoding” cannot be sent: there is no content")
            }
            // RFC 9110 §8.6: a length of zero where the method gives content a meaning.
            let needsLength = ["POST", "PUT", "PATCH"].contains(message.method)
            return needsLength || fields.length != nil ? .length(0) : .none
        }
        guard let contentLength else { return .chunked }
        guard fields.isChunked else { return .length(contentLength) }
        guard fields.length == nil else {
            throw .badMessage("the request has both of the fields “Content-Length” and “Transfer-Encoding”")
        }
        return .chunked
    }
}

extension [UInt8] {
    /// Appends ASCII that is known when this is compiled.
    mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
