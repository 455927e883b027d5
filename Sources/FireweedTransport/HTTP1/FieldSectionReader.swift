// The reader of the field lines of a head or of a trailer section.

import Glibc

/// Reads field lines up to the empty line, strictly and in one pass (RFC 9112 §5).
///
/// In a head, a line that begins with white space continues the previous field's value (§5.2): the line break becomes
/// spaces. Such a line is refused in a trailer section, before the first field, after a field that frames the message,
/// if its text begins with the name of such a field, and if it has no text.
///
/// The bytes may arrive in pieces: each call gets all bytes of the section from its start, and continues at the first
/// incomplete line. A fault is reported only when its line is complete, so that the result does not depend on how the
/// bytes are divided.
struct FieldSectionReader {
    /// Whether a line may end in LF alone.
    ///
    /// RFC 9112 §2.2 allows a bare LF after the start line and after field lines, but not in the chunked coding (§7.1):
    /// attackers have used disagreement about those line ends to smuggle messages.
    var acceptsBareLineFeed = true
    /// The most fields that the section may have.
    var maximumFieldCount = 1000
    /// The offset of the first line that is not read yet; after the empty line, the offset of the byte that follows.
    var position = 0
    /// The offset of the empty line, once that line is read.
    private(set) var sectionEnd = 0
    /// The fields so far.
    private(set) var fields: [FieldRange] = []
    /// The folds: each range goes from the end of a line's text to the text of the line that continues it.
    private(set) var folds: [Range<Int>] = []
    /// The offset at which the text of the last line ends, without its line end.
    private var textEnd = 0
    /// The marks of the fields so far.
    private(set) var marks: ResponseHead.Marks = []
    /// The framing and connection options that the fields so far announce.
    private(set) var framing = FramingFields()

    /// Prepares the reader for another section that begins at `position`; keeps the capacity of its buffers.
    mutating func reset(position: Int = 0, acceptsBareLineFeed: Bool = true) {
        self.position = position
        self.acceptsBareLineFeed = acceptsBareLineFeed
        if !fields.isEmpty { fields.removeAll(keepingCapacity: true) }
        if !folds.isEmpty { folds = [] }
        marks = []
        framing = FramingFields()
    }

    /// Reads the complete lines; returns true once the empty line is read.
    mutating func read(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        while position < bytes.count {
            let first = base.byte(position)
            if first == 0x0D || first == 0x0A {
                guard let next = try lineEnd(at: position, in: bytes) else { return false }
                sectionEnd = position
                position = next
                return true
            }
            let continues = first.isFieldSpace && acceptsFolds && !fields.isEmpty
            guard try continues ? readFold(base, bytes) : readField(base, bytes) else { return false }
        }
        return false
    }

    /// Folds are refused in trailer sections, as bare LFs are: trailers are part of the chunked coding.
    private var acceptsFolds: Bool { acceptsBareLineFeed }

    /// Reads a line that continues the last field's value (RFC 9112 §5.2); returns false if the line is incomplete.
    private mutating func readFold(
        _ base: UnsafeRawPointer, _ bytes: UnsafeRawBufferPointer
    ) throws(TransferFailure) -> Bool {
        var start = position
        while start < bytes.count, base.byte(start).isFieldSpace { start += 1 }
        let lineTextEnd = FieldBytes.endOfText(base, from: start, to: bytes.count)
        guard lineTextEnd < bytes.count, let next = try lineEnd(at: lineTextEnd, in: bytes) else { return false }
        var nameEnd = start
        while nameEnd < lineTextEnd, TokenTable.contains(base.byte(nameEnd)) { nameEnd += 1 }
        let word = UnsafeRawBufferPointer(rebasing: bytes[start..<nameEnd])
        guard start < lineTextEnd, var field = fields.last,
            !FramingFields.areFramed(by: field.name(in: bytes)), !FramingFields.areFramed(by: word)
        else { throw .badResponse(Self.badFold) }
        if field.valueStart == field.valueEnd { field.valueStart = UInt32(truncatingIfNeeded: start) }
        var valueEnd = lineTextEnd
        while base.byte(valueEnd - 1).isFieldSpace { valueEnd -= 1 }
        field.valueEnd = UInt32(truncatingIfNeeded: valueEnd)
        fields[fields.count - 1] = field
        folds.append(textEnd..<start)
        (position, textEnd) = (next, lineTextEnd)
        return true
    }

    private static let badFold =
        "the response has a folded line that is empty, or has to do with a field that frames the message (RFC 9112 §5.2)"

    /// Reads one field line (RFC 9112 §5); returns false if the line is incomplete.
    private mutating func readField(
        _ base: UnsafeRawPointer, _ bytes: UnsafeRawBufferPointer
    ) throws(TransferFailure) -> Bool {
        let (start, end) = (position, bytes.count)
        var index = start
        while index < end, TokenTable.contains(base.byte(index)) { index &+= 1 }
        guard index < end else { return false }
        let nameEnd = index
        guard base.byte(nameEnd) == 0x3A, nameEnd > start else {
            return try fault(Self.complaint(aboutName: bytes, from: start, to: nameEnd), in: bytes, from: nameEnd)
        }
        index += 1
        while index < end, base.byte(index).isFieldSpace { index += 1 }
        let valueStart = index
        index = FieldBytes.endOfText(base, from: index, to: end)
        guard index < end, let next = try lineEnd(at: index, in: bytes) else { return false }
        var valueEnd = index
        while valueEnd > valueStart, base.byte(valueEnd - 1).isFieldSpace { valueEnd -= 1 }
        (position, textEnd) = (next, index)
        note(
            FieldRange(
                nameStart: UInt32(truncatingIfNeeded: start), nameEnd: UInt32(truncatingIfNeeded: nameEnd),
                valueStart: UInt32(truncatingIfNeeded: valueStart), valueEnd: UInt32(truncatingIfNeeded: valueEnd)),
            in: base)
        guard fields.count <= maximumFieldCount else { throw .refused(.headerFields(limit: maximumFieldCount)) }
        return true
    }

    private mutating func note(_ field: FieldRange, in base: UnsafeRawPointer) {
        fields.append(field)
        let nameCount = Int(field.nameEnd &- field.nameStart)
        // All fields that `marks` and `framing` note have names of these lengths.
        guard nameCount == 4 || nameCount == 7 || nameCount >= 10 && nameCount <= 17 || nameCount == 25 else { return }
        let name = UnsafeRawBufferPointer(start: base + Int(field.nameStart), count: nameCount)
        let value = UnsafeRawBufferPointer(
            start: base + Int(field.valueStart), count: Int(field.valueEnd &- field.valueStart))
        marks.note(name, value, &framing.length)
        framing.note(name, value)
    }

    /// Returns the offset of the next line if a line ends at `index`; `nil` if more bytes are needed to know.
    private func lineEnd(at index: Int, in bytes: UnsafeRawBufferPointer) throws(TransferFailure) -> Int? {
        switch FieldBytes.lineEnd(at: index, in: bytes, acceptsBareLineFeed: acceptsBareLineFeed) {
        case .next(let next): return next
        case .incomplete: return nil
        case .fault(let detail): throw .badResponse(detail)
        }
    }

    /// Throws if the faulty line is complete; otherwise returns false.
    private func fault(
        _ detail: @autoclosure () -> String, in bytes: UnsafeRawBufferPointer, from index: Int
    ) throws(TransferFailure) -> Bool {
        guard FieldBytes.hasLineFeed(bytes, from: index) else { return false }
        throw .badResponse(detail())
    }

    /// Returns the error text for a line that does not begin with a field name and a colon.
    private static func complaint(aboutName bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> String {
        let name = FieldBytes.excerpt(bytes, from: start, to: end)
        switch bytes[end] {
        case 0x20 where end == start, 0x09 where end == start:
            return "the response has a folded header line, or white space before its first field (RFC 9112 §5.2)"
        case 0x20, 0x09: return "the response has white space before the colon of the field “\(name)” (RFC 9112 §5.1)"
        case 0x0A, 0x0D: return "the response has a header line without a colon: “\(name)” (RFC 9112 §5)"
        case 0x3A: return "the response has a header field without a name (RFC 9110 §5.1)"
        default: return "the response has a field name that is not a token, after “\(name)” (RFC 9110 §5.1)"
        }
    }
}
