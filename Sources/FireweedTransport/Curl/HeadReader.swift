// Puts the header lines that libcurl hands over together into response heads.

import Glibc

/// Collects the lines of one response head after another: any number of 1xx, then the final one, then trailers.
package final class HeadReader {
    /// What a line completed.
    package enum Event {
        /// Nothing yet.
        case none
        /// A 1xx head (RFC 9110 §15.2).
        case informational(ResponseHead)
        /// The head of a response that is not 1xx; authentication rounds inside the engine can bring several.
        case head(ResponseHead)
        /// More came than a limit allows.
        case exceeded(TransferRefusal)
        /// A line came where only a status line may come (RFC 9112 §4).
        case malformed
    }

    /// How much may come in one transfer.
    struct Limits {
        var byteCount = 300 * 1024
        var fieldCount = 1000
        var interimResponseCount = 100

        init() {}

        init(_ options: TransportOptions) {
            byteCount = min(options.maximumHeaderByteCount, ResponseHead.maximumByteCount)
            fieldCount = options.maximumHeaderFieldCount
            interimResponseCount = options.maximumInterimResponseCount
        }
    }

    /// True until the final head is complete: no line but a status line may begin a head.
    private(set) var isAwaitingHead = true
    /// True between a status line and the empty line after its fields.
    private var isInsideHead = false
    /// True once a piece of the present line was announced.
    private var isAnnounced = false
    /// True once the present head has a field.
    private var hasField = false
    private var status = 0
    private var version = ""
    private var section: [UInt8] = []
    /// The trailer section, without its empty line.
    private var trailerSection: [UInt8] = []
    private var byteCount = 0
    private var fieldCount = 0
    private var interimCount = 0
    var limits = Limits()

    /// Makes a reader with the limits that a session has unless told otherwise.
    package init() {}

    /// Makes the reader ready for the next transfer; room that it has is kept.
    func reset() {
        expectHead()
        byteCount = 0
        interimCount = 0
        trailerSection.removeAll()
    }

    /// The fields that came after the content (RFC 9110 §6.5); `nil` when none did.
    var trailers: FieldBlock? {
        guard !trailerSection.isEmpty else { return nil }
        return FieldBlock(ResponseHead(status: 200, version: version, section: trailerSection).fields)
    }

    /// Makes the reader ready for the response to a request that is sent; the limits of the transfer count on.
    func expectHead() {
        isAwaitingHead = true
        isInsideHead = false
        isAnnounced = false
        hasField = false
        fieldCount = 0
        section.removeAll(keepingCapacity: true)
    }

    /// Says whether a line may come, of which this is the next piece: white space before the first field may not (RFC
    /// 9112 §2.2).
    func announce(_ piece: UnsafeRawBufferPointer) -> Bool {
        defer { isAnnounced = true }
        guard isInsideHead, !isAnnounced, !hasField, let first = piece.first else { return true }
        return first != 0x20 && first != 0x09
    }

    /// Takes whole lines, their line ends included, and calls `body` with the event of each line until `body` returns
    /// false.
    ///
    /// libcurl calls once for each line, but gathers the lines that come while a transfer is paused, and hands them
    /// over in one call. Returns false when `body` did.
    package func append(_ lines: UnsafeRawBufferPointer, _ body: (Event) -> Bool) -> Bool {
        guard var start = lines.baseAddress else { return true }
        let end = start + lines.count
        while start < end {
            let lineEnd = memchr(start, 0x0A, end - start).map { UnsafeRawPointer($0) + 1 } ?? end
            guard body(appendLine(UnsafeRawBufferPointer(start: start, count: lineEnd - start))) else { return false }
            start = lineEnd
        }
        return true
    }

    private func appendLine(_ line: UnsafeRawBufferPointer) -> Event {
        isAnnounced = false
        byteCount += line.count
        guard byteCount <= limits.byteCount else { return .exceeded(.headerBytes(limit: limits.byteCount)) }
        guard isInsideHead else {
            if let line = Self.statusLine(line) {
                isInsideHead = true
                (status, version) = line
            } else if isAwaitingHead {
                return .malformed
            } else {
                // Lines that come after the final head are trailers (RFC 9110 §6.5).
                fieldCount += 1
                if !Self.isEmpty(line) { trailerSection.append(contentsOf: line) }
            }
            return fieldCount <= limits.fieldCount ? .none : .exceeded(.headerFields(limit: limits.fieldCount))
        }
        guard Self.isEmpty(line) else {
            fieldCount += 1
            guard fieldCount <= limits.fieldCount else { return .exceeded(.headerFields(limit: limits.fieldCount)) }
            appendField(line)
            return .none
        }
        let head = section.withUnsafeBytes { ResponseHead(status: status, version: version, lines: $0) }
        section.removeAll(keepingCapacity: true)
        isInsideHead = false
        hasField = false
        fieldCount = 0
        guard (100..<200).contains(status), status != 101 else {
            isAwaitingHead = false
            return .head(head)
        }
        interimCount += 1
        let limit = limits.interimResponseCount
        return interimCount <= limit ? .informational(head) : .exceeded(.interimResponses(limit: limit))
    }

    /// Unfolds a line that continues the one before it (obs-fold, RFC 9112 §5.2).
    private func appendField(_ line: UnsafeRawBufferPointer) {
        if let first = line.first, first == 0x20 || first == 0x09, hasField {
            while let last = section.last, last == 0x0A || last == 0x0D { section.removeLast() }
            section.append(0x20)
            section.append(contentsOf: line.drop { $0 == 0x20 || $0 == 0x09 })
        } else {
            section.append(contentsOf: line)
        }
        hasField = true
    }

    private static func isEmpty(_ line: UnsafeRawBufferPointer) -> Bool {
        for byte in line where byte != 0x0D && byte != 0x0A { return false }
        return true
    }

    /// Reads `HTTP/1.1 200 OK` (RFC 9112 §4) and the `HTTP/2 200` that libcurl makes of a `:status` field.
    ///
    /// libcurl takes more than that: another case, several spaces, a status of two or four digits.
    private static func statusLine(_ line: UnsafeRawBufferPointer) -> (status: Int, version: String)? {
        guard let (version, rest) = versionPrefix(of: line), rest.count >= 3 else { return nil }
        var status = 0
        for byte in rest.prefix(3) {
            guard (0x30...0x39).contains(byte) else { return nil }
            status = status * 10 + Int(byte - 0x30)
        }
        // The space after the status is often left out where no reason follows.
        guard status >= 100, rest.dropFirst(3).first.map({ $0 == 0x20 || $0 == 0x0D || $0 == 0x0A }) ?? true else {
            return nil
        }
        return (status, version)
    }

    /// The version at the start of a status line, and what follows the one space after it.
    private static func versionPrefix(
        of line: UnsafeRawBufferPointer
    ) -> (version: String, rest: Slice<UnsafeRawBufferPointer>)? {
        guard let start = line.baseAddress else { return nil }
        // Literals, which cost nothing: a version is looked at for every response.
        if line.count >= 9, memcmp(start, "HTTP/1.1 ", 9) == 0 { return ("HTTP/1.1", line[9...]) }
        if line.count >= 7, memcmp(start, "HTTP/2 ", 7) == 0 { return ("HTTP/2", line[7...]) }
        if line.count >= 9, memcmp(start, "HTTP/1.0 ", 9) == 0 { return ("HTTP/1.0", line[9...]) }
        return nil
    }
}
