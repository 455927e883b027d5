// The writer of the heads of HTTP/1.1 request messages.

/// Writes the heads of the request messages of one connection (RFC 9112 §3).
///
/// The writer keeps the last block of fields in its checked and serialised form, since messages often share a block.
package struct HTTP1RequestWriter {
    /// The form of the request target in the request line (RFC 9112 §3.2).
    package enum Form: Sendable, Equatable {
        /// The origin form: the request goes to the origin, directly or through a tunnel.
        case origin
        /// The absolute form: the request goes to a proxy in clear text. `lines` are fields for the proxy only, each
        /// with its CRLF.
        case proxy(lines: [UInt8])
    }

    /// The framing of the content that follows the head (RFC 9112 §6).
    package enum Framing: Sendable, Equatable {
        /// No content follows.
        case none
        /// Exactly this many bytes follow. If the content has more or fewer, the connection is closed, since its
        /// framing is lost.
        case length(Int64)
        /// Chunks follow (`ChunkedEncoder`).
        case chunked
    }

    /// The properties of a written head that its connection depends on.
    package struct Written: Sendable, Equatable {
        /// How the content is framed.
        package var framing: Framing
        /// The content waits for a 100 (Continue), for at most one second (RFC 9110 §10.1.1).
        package var expectsContinue: Bool
        /// The message asks the server to close the connection after the response.
        package var closesConnection: Bool
        /// The properties of the request that the framing of its response depends on.
        package var expectation: ResponseExpectation
    }

    /// The longest head of a request message, in bytes, over HTTP/1.1 and HTTP/2.
    static let maximumHeadByteCount = 1 << 20

    private var blocks: CheckedBlocks
    private var lastGET: LastGET?
    private let acceptedCodings: String

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - writing: the changes to make to fields before they are written; `nil` to write the fields of messages
    ///     unchanged.
    ///   - acceptedCodings: the value of `Accept-Encoding` for messages without this field; empty to send no such
    ///     field.
    package init(writing: FieldWriting? = nil, acceptedCodings: String = ContentDecoder.acceptedCodings) {
        blocks = CheckedBlocks(writing: writing)
        self.acceptedCodings = acceptedCodings
    }

    /// Appends the head of a message, including its empty line.
    ///
    /// - Parameters:
    ///   - message: the message; its URL is the one that `target` was made from.
    ///   - target: the parts of that URL.
    ///   - form: the form of the request target, which depends on the recipient.
    ///   - contentLength: the number of content bytes; `nil` if unknown: the content is then sent in chunks.
    ///   - extra: fields that the transport adds, each with its CRLF, such as credentials in answer to a challenge.
    ///   - bytes: the buffer to append to; it is unchanged if this method throws.
    /// - Returns: the properties of the head that its connection depends on.
    /// - Throws: `badURL` with the name of the part that cannot be sent; `dataLengthExceedsMaximum` for a head that is
    ///   longer than `maximumHeadByteCount`.
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
        // A block of fields is worth keeping only if several messages share it: here, if the previous message had it
        // too.
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

    /// The head of the last GET without its request target: the next GET to the same host usually has the same fields.
    private final class LastGET: Sendable {
        let block: FieldBlock
        let target: RequestTarget
        /// The bytes from the space before `HTTP/1.1` to the empty line.
        let rest: [UInt8]
        let written: Written

        init(block: FieldBlock, target: RequestTarget, rest: [UInt8], written: Written) {
            (self.block, self.target, self.rest, self.written) = (block, target, rest, written)
        }
    }

    /// Appends the framing fields, `Expect`, `Connection` and the empty line.
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

    /// Returns the framing of the content; throws if the message's own framing fields contradict it.
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
            // RFC 9110 §8.6: a message without content sends `Content-Length: 0` if its method defines a meaning for
            // content.
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
    /// Appends ASCII text that is a literal.
    mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
