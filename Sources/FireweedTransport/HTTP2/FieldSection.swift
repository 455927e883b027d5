// The fields of one HEADERS frame, as nghttp2 passes them.

import Glibc

/// Collects the fields of a response's head or trailers, and stores them as HTTP/1.1 field lines, the format of
/// `ResponseHead`.
///
/// nghttp2 has checked names and values (RFC 9113 §8.2.1) and the order of pseudo-header fields. This type throws an
/// error for a status that is not three digits.
struct FieldSection {
    private(set) var stream: Int32 = 0
    private(set) var status: Int?
    private var lines: [UInt8] = []
    private var fields: [FieldRange] = []
    private var marks = ResponseHead.Marks()
    private var length = AnnouncedLength()
    /// The size of the section, computed as in RFC 9113 §6.5.2.
    private(set) var listByteCount = 0

    /// The octets that each field adds to that size, besides its name and its value.
    static let fieldOverhead = 32

    var fieldCount: Int { fields.count }

    /// Begins another section; keeps the capacity of the buffers.
    mutating func begin(stream: Int32) {
        self.stream = stream
        status = nil
        lines.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        marks = []
        length = AnnouncedLength()
        listByteCount = 0
    }

    /// Adds a field, or stores the status if the field is a pseudo-header field.
    mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(TransferFailure) {
        listByteCount += name.count + value.count + Self.fieldOverhead
        guard name.first != 0x3A else {
            status = try Self.status(value)
            return
        }
        let start = UInt32(lines.count)
        lines.append(contentsOf: name)
        lines.append(contentsOf: [0x3A, 0x20])
        lines.append(contentsOf: value)
        lines.append(contentsOf: [0x0D, 0x0A])
        let nameEnd = start + UInt32(name.count)
        let valueStart = nameEnd + 2
        fields.append(
            FieldRange(
                nameStart: start, nameEnd: nameEnd, valueStart: valueStart,
                valueEnd: valueStart + UInt32(value.count)))
        if name.count > 0 { marks.note(name, value, &length) }
    }

    /// Parses a status: three digits, the first of which is not zero (RFC 9110 §15).
    private static func status(_ value: UnsafeRawBufferPointer) throws(TransferFailure) -> Int {
        guard value.count == 3, value.allSatisfy({ 0x30...0x39 ~= $0 }), value[0] != 0x30 else {
            let text = FieldBytes.excerpt(value, from: 0, to: value.count)
            throw .badResponse("the response has the status “\(text)”, which is not three digits (RFC 9113 §8.3.2)")
        }
        return value.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Returns the head made of these fields.
    func head(status: Int) -> ResponseHead {
        var marks = marks
        if !length.isSound { marks.insert(.hasUnsoundLength) }
        return lines.withUnsafeBytes {
            ResponseHead(
                status: status, version: "HTTP/2", bytes: $0, sectionStart: 0, fields: fields, marks: marks)
        }
    }

    /// The trailers made of these fields; `nil` if there are none.
    var trailers: FieldBlock? {
        fields.isEmpty ? nil : FieldBlock(head(status: 200).fields)
    }
}
