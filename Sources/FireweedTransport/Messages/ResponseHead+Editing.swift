// The derivation of a head with a few changed fields, without decoding the others.

extension ResponseHead {
    /// Returns this head with the fields for whose names `isKept` is true, and with `fields` at its end.
    package func keeping(
        _ isKept: (UnsafeRawBufferPointer) -> Bool, appending fields: [Field] = []
    ) -> ResponseHead {
        var lines: [UInt8] = []
        lines.reserveCapacity(section.count + 64)
        forEachLine { name, value in
            if isKept(name) {
                lines.append(contentsOf: name)
                lines.append(contentsOf: [0x3A, 0x20])
                lines.append(contentsOf: value)
                lines.append(contentsOf: [0x0D, 0x0A])
            }
            return true
        }
        for field in fields { lines.append(contentsOf: "\(field.name): \(field.value)\r\n".utf8) }
        return ResponseHead(status: status, version: version, section: lines)
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
