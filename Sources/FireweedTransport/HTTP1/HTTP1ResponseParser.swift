// The parser of the responses on an HTTP/1.1 connection.

/// Parses the responses that arrive on one connection, one after another (RFC 9112).
///
/// The caller passes the bytes of a read buffer. The parser copies only unfinished heads and trailer sections, and
/// gives the same events however the bytes are divided. It is strict: it refuses every ambiguity that has been used to
/// smuggle messages.
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
        /// All given bytes were read.
        case needsMore
        /// An interim response, other than a 101 (RFC 9110 §15.2).
        case interim(ResponseHead)
        /// The head of the final response (or of a 101), and the framing of its content.
        case head(ResponseHead, ContentFraming)
        /// Bytes of the content, with the transfer coding removed and the content coding still on: a slice of the given
        /// bytes.
        case content(UnsafeRawBufferPointer)
        /// The response ended. Bytes after its end are not read: they belong to a tunnel, or the server sent them in
        /// error.
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
    /// The bytes so far of a head or trailer section whose end has not arrived.
    private var pending: [UInt8] = []
    private var interimCount = 0
    private let limits: ResponseLimits

    /// The number of bytes in all complete heads and trailer sections of the exchange.
    package private(set) var headerByteCount = 0
    /// True once a byte of the current exchange's response has arrived: after that, the request may not be sent again.
    package private(set) var hasBegun = false
    /// Whether the server keeps the connection open after this response (RFC 9112 §9.3); known with the head.
    package private(set) var isPersistent = false
    /// The seconds for which the server keeps an idle connection open (`Keep-Alive: timeout=…`); known with the head.
    package private(set) var keepAliveSeconds: Int?
    /// The trailer section (RFC 9110 §6.5), known at the end; `nil` when there is none.
    package private(set) var trailers: FieldBlock?
    /// The lines of the trailer section as received, without the empty line; known at the end.
    private(set) var trailerLines: [UInt8] = []

    /// The complete lines so far of an unfinished head or trailer section.
    var unfinishedLines: [UInt8] {
        pending.lastIndex(of: 0x0A).map { Array(pending[...$0]) } ?? []
    }

    /// Makes a parser for a connection.
    package init(limits: ResponseLimits = ResponseLimits()) {
        self.limits = limits
        section.maximumFieldCount = limits.maximumHeaderFieldCount
    }

    /// True after the end of a response, and before the first `expect(_:)`; the connection may stay open.
    package var isAtEnd: Bool { if case .ended = state { true } else { false } }

    /// The number of content bytes still to come, if the response announced a length; the caller can read them in one
    /// go.
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

    /// Reads from the front of `bytes` up to the next event.
    ///
    /// Throws the failure of the response. Afterwards the connection cannot be used, nor the parser until `expect(_:)`.
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

    /// Appends the content of all chunks in the rest of `bytes`, instead of giving one event for each.
    ///
    /// - Parameters:
    ///   - bytes: the bytes after the last event; the bytes that were read are removed from its front.
    ///   - content: the array to append to.
    /// - Returns: the failure of the response that follows this content; `nil` if there is none.
    mutating func takeContent(_ bytes: inout UnsafeRawBufferPointer, into content: inout [UInt8]) -> TransferFailure? {
        guard case .chunks = state else { return nil }
        return chunks.takeContent(&bytes, into: &content)
    }

    /// Notifies the parser that the peer has closed the connection.
    ///
    /// Throws `networkConnectionLost` if the response is incomplete (RFC 9112 §8). Otherwise the response has ended:
    /// the next event is `.end`.
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

    /// Reads a head or a trailer section; a section that arrives complete is read without a copy.
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

    /// Assembles a section that arrives in pieces, line by line.
    private mutating func readPieces(_ bytes: inout UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        while !bytes.isEmpty {
            let lineEnd = FieldBytes.lineFeed(in: bytes).map { $0 + 1 }
            // The first bytes are checked without waiting for the line to end: a response that is not HTTP/1 might
            // never end its line.
            let isStart = pending.count < Self.startByteCount
            pending.append(contentsOf: bytes[..<(lineEnd ?? bytes.count)])
            bytes = UnsafeRawBufferPointer(rebasing: bytes[(lineEnd ?? bytes.count)...])
            guard lineEnd != nil || isStart else {
                // An incomplete line is not parsed yet: otherwise a long line would be parsed again with each piece.
                try checkLength(of: pending.count)
                continue
            }
            // `pending` is moved to a local variable, because `readLines` and `take` mutate `self` while they read its
            // bytes.
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

    /// Reads the complete lines; returns true if the section is complete.
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

    /// The number of bytes in `HTTP/1.`.
    private static let startByteCount = 7

    /// Throws if an incomplete section already has as many bytes as a complete one may have.
    private func checkLength(of count: Int) throws(TransferFailure) {
        guard count < limits.maximumHeaderByteCount - headerByteCount else {
            throw .refused(.headerBytes(limit: limits.maximumHeaderByteCount))
        }
    }

    /// Handles a complete section, including its empty line; replaces folds with spaces first.
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

    /// Prepares to read the content of the final response, and returns its framing.
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
