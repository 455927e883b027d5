// Inputs taken apart.

extension ArraySlice<UInt8> {
    /// The bytes as text; what is no UTF-8 becomes U+FFFD.
    var text: String { String(decoding: self, as: UTF8.self) }

    /// The lines, at line feeds alone, without their ends.
    var textLines: [String] {
        split(separator: 0x0A, omittingEmptySubsequences: false).map(\.text)
    }

    /// Takes the first byte; 0 when there is none.
    mutating func takeByte() -> UInt8 { popFirst() ?? 0 }

    /// Takes what comes before the first empty line, which goes too; everything when there is none.
    mutating func takeParagraph() -> ArraySlice<UInt8> {
        var index = startIndex
        while index + 1 < endIndex {
            if self[index] == 0x0A, self[index + 1] == 0x0A {
                defer { self = self[(index + 2)...] }
                return self[..<index]
            }
            index += 1
        }
        defer { self = self[endIndex...] }
        return self
    }

    /// The ways to cut the bytes into pieces under which a parser has to find the same: whole, one by one, and at
    /// places that follow from the bytes themselves.
    var cuttings: [[ArraySlice<UInt8>]] {
        var seed = reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var pieces: [ArraySlice<UInt8>] = []
        var rest = self
        while !rest.isEmpty {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let piece = rest.prefix(1 + Int(seed >> 33) % 23)
            pieces.append(piece)
            rest = rest[piece.endIndex...]
        }
        return [[self], indices.map { self[$0...$0] }, pieces]
    }
}

extension String {
    /// True when there is a character in it that ends a line, ends a string in C, or steers a terminal.
    var hasControls: Bool {
        unicodeScalars.contains { $0.value < 0x20 && $0 != "\t" || (0x7F...0x9F).contains($0.value) }
    }

    /// With ASCII's letters in lower case, and nothing else changed.
    var asciiLowercased: String {
        String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// With ASCII's letters in upper case, and nothing else changed.
    var asciiUppercased: String {
        String(decoding: utf8.map { (0x61...0x7A).contains($0) ? $0 ^ 0x20 : $0 }, as: UTF8.self)
    }

    /// True when the byte is there, whatever characters it is a part of.
    func hasByte(_ character: Unicode.Scalar) -> Bool {
        utf8.contains { $0 == character.value }
    }
}
