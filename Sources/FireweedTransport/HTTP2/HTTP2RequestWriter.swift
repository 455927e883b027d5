// The writer of the heads of HTTP/2 request messages.

/// The names and values of one HEADERS frame, in order.
package struct HTTP2FieldList {
    private(set) var bytes: [UInt8] = []
    private(set) var fields: [FieldRange] = []

    /// Makes an empty list.
    package init() {}

    /// Appends a field; `name` must be in lower case.
    package mutating func append(_ name: StaticString, _ value: some Collection<UInt8>) {
        let start = UInt32(bytes.count)
        bytes.append(name)
        finish(from: start, nameEnd: UInt32(bytes.count), value)
    }

    /// Appends a field, and converts its name to lower case (RFC 9113 §8.2.1).
    mutating func append(lowercasing name: some Collection<UInt8>, _ value: some Collection<UInt8>) {
        let start = UInt32(bytes.count)
        for byte in name { bytes.append(byte &- 0x41 < 26 ? byte | 0x20 : byte) }
        finish(from: start, nameEnd: UInt32(bytes.count), value)
    }

    private mutating func finish(from start: UInt32, nameEnd: UInt32, _ value: some Collection<UInt8>) {
        bytes.append(contentsOf: value)
        fields.append(
            FieldRange(nameStart: start, nameEnd: nameEnd, valueStart: nameEnd, valueEnd: UInt32(bytes.count)))
    }

    /// Appends all fields of another list.
    mutating func append(_ other: HTTP2FieldList) {
        let offset = UInt32(bytes.count)
        bytes += other.bytes
        for field in other.fields {
            fields.append(
                FieldRange(
                    nameStart: field.nameStart + offset, nameEnd: field.nameEnd + offset,
                    valueStart: field.valueStart + offset, valueEnd: field.valueEnd + offset))
        }
    }

    /// The fields as strings, for messages to people and for tests.
    var texts: [(name: String, value: String)] {
        bytes.withUnsafeBytes { bytes in
            fields.map {
                (
                    String(decoding: $0.name(in: bytes), as: UTF8.self),
                    String(decoding: $0.value(in: bytes), as: UTF8.self)
                )
            }
        }
    }

    /// The head in the format of HTTP/1.1, with its empty line, for observers that receive heads as bytes.
    var headText: [UInt8] {
        var head: [UInt8] = []
        var pseudo: [String: String] = [:]
        var lines = ""
        for (name, value) in texts {
            if name.utf8.first == 0x3A { pseudo[name] = value } else { lines += "\(name): \(value)\r\n" }
        }
        head += "\(pseudo[":method"] ?? "") \(pseudo[":path"] ?? "") HTTP/2\r\n".utf8
        if let authority = pseudo[":authority"] { head += "Host: \(authority)\r\n".utf8 }
        return head + Array((lines + "\r\n").utf8)
    }
}

/// Writes the heads of the request messages of one session (RFC 9113 §8.3.1).
///
/// Fields are checked as for HTTP/1.1. The writer keeps the last block of fields in its checked and converted form.
struct HTTP2RequestWriter {
    private var blocks: CheckedBlocks
    /// The last block, converted to HTTP/2 fields.
    private var prepared = HTTP2FieldList()
    private let acceptedCodings: String

    /// Makes a writer, with the same parameters as `HTTP1RequestWriter`.
    init(writing: FieldWriting? = nil, acceptedCodings: String = ContentDecoder.acceptedCodings) {
        blocks = CheckedBlocks(writing: writing)
        self.acceptedCodings = acceptedCodings
    }

    /// Returns the fields of a message's head, and the properties of the head that its connection depends on.
    ///
    /// Throws `badURL` with the name of the part that cannot be sent, and `dataLengthExceedsMaximum` for a head that is
    /// longer than `HTTP1RequestWriter.maximumHeadByteCount`.
    mutating func write(
        _ message: RequestMessage, to target: RequestTarget, contentLength: Int64?
    ) throws(TransferFailure) -> (HTTP2FieldList, HTTP1RequestWriter.Written) {
        try RequestMessage.check(method: message.method)
        let fields = try check(message.fields)
        let framing = try HTTP1RequestWriter.framing(of: message, contentLength: contentLength, fields)
        var list = HTTP2FieldList()
        list.append(":method", message.method.utf8)
        list.append(":scheme", target.isSecure ? "https".utf8 : "http".utf8)
        if fields.sendsHost {
            if let host = fields.host {
                list.append(":authority", host)
            } else {
                list.append(":authority", target.authority.utf8)
            }
        }
        list.append(":path", target.originForm.utf8)
        if !fields.hasAccept { list.append("accept", "*/*".utf8) }
        if !fields.hasAcceptEncoding, !acceptedCodings.isEmpty { list.append("accept-encoding", acceptedCodings.utf8) }
        list.append(prepared)
        // DATA frames delimit the content, but a known length is still sent (RFC 9113 §8.1.1).
        if case .length(let count) = framing { list.append("content-length", String(count).utf8) }
        let expectsContinue = fields.expectsContinue && framing != .none && framing != .length(0)
        if expectsContinue { list.append("expect", "100-continue".utf8) }
        guard list.bytes.count <= HTTP1RequestWriter.maximumHeadByteCount else { throw .longHead(list.bytes.count) }
        return (
            list,
            HTTP1RequestWriter.Written(
                framing: framing, expectsContinue: expectsContinue, closesConnection: fields.closesConnection,
                expectation: ResponseExpectation(method: message.method))
        )
    }

    private mutating func check(_ block: FieldBlock) throws(TransferFailure) -> CheckedFields {
        let isPrepared = blocks.hasLast(block)
        let checked = try blocks.fields(of: block)
        if isPrepared { return checked }
        prepared = HTTP2FieldList()
        checked.lines.withUnsafeBytes { lines in
            FieldLines.forEach(of: lines) { prepare($0, $1) }
        }
        return checked
    }

    private mutating func prepare(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        guard name.count == 6, name.isFieldName("cookie") else {
            prepared.append(lowercasing: name, value)
            return
        }
        // Each cookie becomes a separate field, so that HPACK's table still has the other cookies when one changes (RFC
        // 9113 §8.2.3).
        var start = 0
        for index in 0..<value.count where value[index] == 0x3B && index + 1 < value.count && value[index + 1] == 0x20 {
            prepared.append("cookie", value[start..<index])
            start = index + 2
        }
        prepared.append("cookie", value[start...])
    }
}

/// The field lines that `CheckedFields` writes: name, colon, space, value, CRLF.
private enum FieldLines {
    /// Calls `body` with each name and value; the value has no surrounding white space (RFC 9113 §8.2.1).
    static func forEach(
        of lines: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) {
        var start = 0
        while start < lines.count {
            var colon = start
            while lines[colon] != 0x3A { colon += 1 }
            var (first, next) = (colon + 1, colon + 1)
            while lines[next] != 0x0A { next += 1 }
            // Leaves out the CR before the LF.
            var last = next - 1
            while first < last, lines[first].isFieldSpace { first += 1 }
            while last > first, lines[last - 1].isFieldSpace { last -= 1 }
            body(
                UnsafeRawBufferPointer(rebasing: lines[start..<colon]),
                UnsafeRawBufferPointer(rebasing: lines[first..<last]))
            start = next + 1
        }
    }
}
