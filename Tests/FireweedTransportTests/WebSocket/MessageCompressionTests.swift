import Testing

@testable import FireweedTransport

@Suite("Message compression (RFC 7692 §7.2)")
struct MessageCompressionTests {
    private func text(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7 ^ $0) }
    }

    private func inflated(_ inflater: MessageInflater, _ bytes: [UInt8], size: Int = .max) throws -> [UInt8] {
        var output: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            try rest.prefix(size).withUnsafeBytes { try inflater.append($0, to: &output) }
            rest = rest.dropFirst(size)
        }
        try inflater.finish(&output)
        return output
    }

    @Test("what is compressed comes back, with and without context takeover", arguments: [true, false], [9, 12, 15])
    func roundTrip(takesContextOver: Bool, bits: Int) throws {
        let deflater = try #require(MessageDeflater(windowBits: bits, takesContextOver: takesContextOver))
        let inflater = try #require(
            MessageInflater(windowBits: bits, takesContextOver: takesContextOver, limit: 1 << 21))
        for count in [1, 5, 100, 100, 65_536, 1_000_000, 5] {
            let compressed = text(count).withUnsafeBytes(deflater.compress)
            #expect(try inflated(inflater, compressed, size: 1000) == text(count))
        }
    }

    @Test("a repeated message is shorter with context takeover, and no shorter without")
    func takeover() throws {
        let message = (0..<200).map { _ in UInt8.random(in: 0...255) }
        for takes in [true, false] {
            let deflater = try #require(MessageDeflater(windowBits: 15, takesContextOver: takes))
            let first = message.withUnsafeBytes(deflater.compress).count
            let second = message.withUnsafeBytes(deflater.compress).count
            #expect(takes ? second < first / 4 : second == first)
        }
    }

    @Test(
        "the RFC's own examples are read (§7.2.3)",
        arguments: [
            ([0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], "one block"),
            ([0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00], "no compression"),
            ([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], "BFINAL set"),
            ([0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], "two blocks"),
        ] as [([UInt8], String)])
    func examples(bytes: [UInt8], name: String) throws {
        let inflater = try #require(MessageInflater(windowBits: 15, takesContextOver: true, limit: 100))
        #expect(try inflated(inflater, bytes) == Array("Hello".utf8))
        #expect(try inflated(inflater, bytes, size: 1) == Array("Hello".utf8), "again, byte by byte")
    }

    @Test("a message that grows past the limit is refused while it grows, and bytes that are no deflate are refused")
    func faults() throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, takesContextOver: false))
        let bomb = [UInt8](repeating: 0, count: 50_000_000).withUnsafeBytes(deflater.compress)
        #expect(bomb.count < 60_000)
        let inflater = try #require(MessageInflater(windowBits: 15, takesContextOver: true, limit: 1 << 20))
        var output: [UInt8] = []
        #expect(throws: MessageInflater.Fault.tooLong) {
            try bomb.withUnsafeBytes { try inflater.append($0, to: &output) }
        }
        #expect(output.count < 1 << 21)
        let other = try #require(MessageInflater(windowBits: 15, takesContextOver: true, limit: 1 << 20))
        #expect(throws: MessageInflater.Fault.malformed) { try inflated(other, [0xFF, 0xFF, 0xFF]) }
    }

    @Test("a window of 8 bits, which zlib cannot make, is left unused")
    func smallestWindow() {
        #expect(MessageDeflater(windowBits: 8, takesContextOver: true) == nil)
    }
}
