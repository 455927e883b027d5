// Responses of an HTTP/1.1 connection, read from its bytes.

/// Reads the responses that come on one connection, one after another (RFC 9112).
///
/// It is fed with the bytes of a read buffer, keeps none of them but an unfinished head, and gives the same events
/// wherever the bytes are cut. It is strict: every ambiguity that has been used to smuggle messages is refused.
/// ```swift
/// parser.expect(ResponseExpectation(method: "GET"))
/// while true {
///     switch try parser.next(&bytes) {
///     case .needsMore: return  // read again, or `finish()` when the peer has closed
///     case .interim(let head): …
///     case .head(let head, let framing): …
///     case .content(let bytes): …  // lent, until the read buffer is used again
///     case .end: return  // what is left in `bytes` does not belong to the response
///     }
/// }
/// ```
package struct HTTP1ResponseParser {
    /// A part of a response that the parser has read.
    package enum Event {
        /// The bytes are used up.
        case needsMore
        /// An interim response, other than a 101 (RFC 9110 §15.2).
        case interim(ResponseHead)
        /// The head of the response, and what delimits its content.
        case head(ResponseHead, ContentFraming)
        /// Bytes of the content, without transfer coding, and still in content coding; they are a part of the given
        /// bytes.
        case content(UnsafeRawBufferPointer)
        /// The response ended. Bytes after its end are not read: they belong to a tunnel, or are a fault of the
        /// server's.
        case end
    }

    private enum State {
        case head
        case length(rest: Int64)
        case chunks
        case trailers
        case untilClose
        case ended
    }

    private var state = State.ended
    private var expectation = ResponseExpectation(method: "")
    private var line: StatusLine?
    private var section = FieldSectionReader()
    private var chunks = ChunkedDecoder(framingLimit: 0)
    /// The start of a head or trailer section whose end has not come.
    private var pending: [UInt8] = []
    private var interimCount = 0
    private let limits: ResponseLimits

    /// The bytes of all complete heads and trailers of the exchange.
    package private(set) var headerByteCount = 0
    /// True once a byte of a response came for the current exchange: the request may not be sent again after that.
    package private(set) var hasBegun = false
    /// Whether server and version leave the connection open after this response (RFC 9112 §9.3); known with its head.
    package private(set) var isPersistent = false
    /// The seconds for which the server keeps an idle connection (`Keep-Alive: timeout=…`); known with the head.
    package private(set) var keepAliveSeconds: Int?
    /// The trailer section (RFC 9110 §6.5), known at the end; `nil` when there is none.
    package private(set) var trailers: FieldBlock?
    /// The lines of the trailer section as they came, without the empty line; known at the end.
    private(set) var trailerLines: [UInt8] = []

    /// The lines that have come of an unfinished head or trailer section.
    var unfinishedLines: [UInt8] {
        pending.lastIndex(of: 0x0A).map { Array(pending[...$0]) } ?? []
    }

    /// Makes a parser for a connection.
    package init(limits: ResponseLimits = ResponseLimits()) {
        self.limits = limits
        section.maximumFieldCount = limits.maximumHeaderFieldCount
    }

    /// True when the response has ended, and before one is expected; the connection may stay open.
    package var isAtEnd: Bool { if case .ended = state { true } else { false } }

    /// How many bytes of the content are still to come, where a length was announced: they may be read at once.
    package var remainingContentByteCount: Int64? { if case .length(let rest) = state { rest } else { nil } }

    /// Begins an exchange: the next bytes belong to its response.
    package mutating func expect(_ expectation: ResponseExpectation) {
        self.expectation = expectation
        state = .head
        beginSection()
        interimCount = 0
        headerByteCount = 0
        hasBegun = false
        isPersistent = false
        keepAliveSeconds = nil
        trailers = nil
        if !trailerLines.isEmpty { trailerLines = [] }
    }

    /// Takes bytes from the front of `bytes` up to the next event.
    ///
    /// Throws the failure of the response; after that the connection cannot be used, nor the parser before
    /// `expect(_:)`.
    package mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        switch state {
        case .head, .trailers: return try readSection(&bytes)
        case .ended: return .end
        case .length(let rest):
            let content = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(clamping: rest)))
            guard !content.isEmpty else { return .needsMore }
            state = rest == content.count ? .ended : .length(rest: rest - Int64(content.count))
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(content.count))
            return .content(content)
        case .untilClose:
            guard !bytes.isEmpty else { return .needsMore }
            defer { bytes = UnsafeRawBufferPointer(rebasing: bytes[bytes.endIndex...]) }
            return .content(bytes)
        case .chunks:
            switch try chunks.next(&bytes) {
            case .needsMore: return .needsMore
            case .content(let content): return .content(content)
            case .lastChunk:
                state = .trailers
                section.reset(acceptsBareLineFeed: false)
                return try readSection(&bytes)
            }
        }
    }

    /// Takes the content of all chunks in the rest of `bytes` at once, instead of an event for each.
    ///
    /// - Parameters:
    ///   - bytes: what follows the last event; what was taken is removed from its front.
    ///   - content: where the content is appended.
    /// - Returns: the failure of the response after that content; `nil` where there is none.
    mutating func takeContent(_ bytes: inout UnsafeRawBufferPointer, into content: inout [UInt8]) -> TransferFailure? {
        guard case .chunks = state else { return nil }
        return chunks.takeContent(&bytes, into: &content)
    }

    /// Notifies the parser that the peer has closed the connection.
    ///
    /// Throws `networkConnectionLost` where that cuts the response (RFC 9112 §8). Otherwise the response has ended: the
    /// next event is `.end`.
    package mutating func finish() throws(TransferFailure) {
        switch state {
        case .ended: return
        case .untilClose: state = .ended
        case .head where !hasBegun: throw .cutResponse("before a response came")
        case .head: throw .cutResponse("in the head of the response")
        case .length(let rest): throw .cutResponse("with \(rest) bytes of the content outstanding")
        case .chunks: throw .cutResponse("before the last chunk of the content")
        case .trailers: throw .cutResponse("in the trailers of the response")
        }
    }

    // MARK: Heads and trailers

    private mutating func beginSection() {
        line = nil
        if !pending.isEmpty { pending.removeAll(keepingCapacity: true) }
        section.reset()
    }

    /// Reads a head or a trailer section; a section that comes whole is read in place.
    private mutating func readSection(_ bytes: inout UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        guard !bytes.isEmpty else { return .needsMore }
        hasBegun = true
        guard pending.isEmpty else { return try readPieces(&bytes) }
        guard try readLines(of: bytes) else {
            pending.append(contentsOf: bytes)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[bytes.endIndex...])
            return .needsMore
        }
        let whole = UnsafeRawBufferPointer(rebasing: bytes[..<section.position])
        bytes = UnsafeRawBufferPointer(rebasing: bytes[section.position...])
        return try take(whole)
    }

    /// Assembles a section that comes in pieces, line by line.
    private mutating func readPieces(_ bytes: inout UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        while !bytes.isEmpty {
            let lineEnd = FieldBytes.lineFeed(in: bytes).map { $0 + 1 }
            // A response that is not HTTP/1 is recognised by its first bytes, since its line might never end.
            let isStart = pending.count < Self.startByteCount
            pending.append(contentsOf: bytes[..<(lineEnd ?? bytes.count)])
            bytes = UnsafeRawBufferPointer(rebasing: bytes[(lineEnd ?? bytes.count)...])
            guard lineEnd != nil || isStart else {
                // An incomplete line is not read: a long line would be read again with each piece.
                try checkLength(of: pending.count)
                continue
            }
            // Moved aside while it is read, since the reader is a part of this value too.
            var held: [UInt8] = []
            swap(&held, &pending)
            defer { swap(&held, &pending) }
            let event = try held.withUnsafeBufferPointer { (held) throws(TransferFailure) -> Event? in
                let whole = UnsafeRawBufferPointer(held)
                guard try readLines(of: whole) else { return nil }
                return try take(UnsafeRawBufferPointer(rebasing: whole[..<section.position]))
            }
            guard let event else { continue }
            held.removeAll(keepingCapacity: true)
            return event
        }
        return .needsMore
    }

    /// Reads the lines that are complete; true when the section is.
    private mutating func readLines(of bytes: UnsafeRawBufferPointer) throws(TransferFailure) -> Bool {
        let limit = limits.maximumHeaderByteCount - headerByteCount
        let allowed = bytes.count <= limit ? bytes : UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, limit)))
        if case .head = state, line == nil {
            line = try StatusLine.read(allowed)
            section.position = line?.end ?? 0
        }
        if line != nil, try section.read(allowed) { return true }
        try checkLength(of: bytes.count)
        return false
    }

    /// The bytes of `HTTP/1.`.
    private static let startByteCount = 7

    /// Throws, if an incomplete section is as long as a complete one may be.
    private func checkLength(of count: Int) throws(TransferFailure) {
        guard count < limits.maximumHeaderByteCount - headerByteCount else {
            throw .refused(.headerBytes(limit: limits.maximumHeaderByteCount))
        }
    }

    /// Takes a whole section, its empty line included.
    private mutating func take(_ whole: UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        guard !section.folds.isEmpty else { return try takeUnfolded(whole) }
        var bytes = Array(whole)
        for fold in section.folds { for index in fold { bytes[index] = 0x20 } }
        return try bytes.withUnsafeBufferPointer { (bytes) throws(TransferFailure) in
            try takeUnfolded(UnsafeRawBufferPointer(bytes))
        }
    }

    private mutating func takeUnfolded(_ whole: UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        headerByteCount += whole.count
        guard let line else { return .needsMore }
        let lines = UnsafeRawBufferPointer(rebasing: whole[..<section.sectionEnd])
        if case .trailers = state {
            let head = ResponseHead(
                status: line.status, version: line.version, bytes: lines, sectionStart: 0, fields: section.fields,
                marks: [])
            if !section.fields.isEmpty {
                trailers = FieldBlock(head.fields)
                trailerLines = Array(lines)
            }
            state = .ended
            return .end
        }
        let head = ResponseHead(
            status: line.status, version: line.version, bytes: lines, sectionStart: line.end, fields: section.fields,
            marks: section.marks)
        guard line.status >= 200 || line.status == 101 else {
            interimCount += 1
            let limit = limits.maximumInterimResponseCount
            guard interimCount <= limit else { throw .refused(.interimResponses(limit: limit)) }
            self.line = nil
            section.reset()
            return .interim(head)
        }
        return .head(head, try begin(line))
    }

    /// Begins the content of the final response.
    private mutating func begin(_ line: StatusLine) throws(TransferFailure) -> ContentFraming {
        let framing = try ContentFraming.of(line, section.framing, expecting: expectation)
        isPersistent = !section.framing.hasClose && (line.minorVersion > 0 || section.framing.hasKeepAlive)
        keepAliveSeconds = section.framing.keepAliveSeconds
        switch framing {
        case .none, .length(0): state = .ended
        case .length(let count): state = .length(rest: count)
        case .chunked:
            state = .chunks
            chunks = ChunkedDecoder(framingLimit: limits.maximumFramingByteCount)
        case .untilClose:
            state = .untilClose
            isPersistent = false
        case .tunnel:
            state = .ended
            isPersistent = false
        }
        return framing
    }
}
