// The derivation of a head with a few changed fields, without decoding the others.

extension ResponseHead {
    /// Returns this head with the fields for whose names `isKept` is true, and with `fields` at its end.
    package func keeping(
        _ isKept: (UnsafeRawBufferPointer) -> Bool, appending fields: [Field] = []
    ) -> ResponseHead {
        var (lines, ranges) = ([UInt8](), [FieldRange]())
        lines.reserveCapacity(sectionByteCount + 64)
        ranges.reserveCapacity(sectionByteCount / 32 + fields.count)
        forEachField { field, bytes in
            guard isKept(field.name(in: bytes)) else { return true }
            ranges.append(field.moved(to: lines.count))
            lines.append(contentsOf: bytes[Int(field.nameStart)..<Int(field.valueEnd)])
            lines.append(0x0D)
            lines.append(0x0A)
            return true
        }
        for field in fields {
            let valueStart = lines.count + field.name.utf8.count + 2
            ranges.append(
                FieldRange(
                    nameStart: UInt32(lines.count), nameEnd: UInt32(valueStart - 2), valueStart: UInt32(valueStart),
                    valueEnd: UInt32(valueStart + field.value.utf8.count)))
            lines.append(contentsOf: "\(field.name): \(field.value)\r\n".utf8)
        }
        return lines.withUnsafeBytes { bytes in
            var (marks, length) = (Marks(), AnnouncedLength())
            for field in ranges { marks.note(field.name(in: bytes), field.value(in: bytes), &length) }
            if !length.isSound { marks.insert(.hasUnsoundLength) }
            return ResponseHead(
                status: status, version: version, bytes: bytes, sectionStart: 0, fields: ranges, marks: marks)
        }
    }

    /// Returns this head with exactly one field of this name, which has this value.
    package func setting(_ name: String, to value: String) -> ResponseHead {
        keeping({ !Self.isName($0, name) }, appending: [Field(name: name, value: value)])
    }

    /// Whether bytes equal a field name, ignoring the case of ASCII letters.
    package static func isName(_ bytes: UnsafeRawBufferPointer, _ name: String) -> Bool {
        guard bytes.count == name.utf8.count else { return false }
        var name = name
        return name.withUTF8 { expected in
            for index in 0..<bytes.count {
                let (byte, other) = (bytes[index], expected[index])
                guard byte == other || (byte ^ other == 0x20 && (0x61...0x7A).contains(byte | 0x20)) else {
                    return false
                }
            }
            return true
        }
    }
}
