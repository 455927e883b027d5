import FireweedTesting
import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Content codings")
struct ContentDecoderTests {
    /// The decoded content; throws where it is refused, also for not being whole.
    private func decode(
        _ pieces: [ArraySlice<UInt8>], _ codings: String, outputByteCount: Int = 4096, endedByClose: Bool = false
    ) throws -> [UInt8] {
        let decoder = try #require(try ContentDecoder.make(for: codings, limits: Self.limits()))
        var turn = TurnBudget(start: 0, clock: { 0 })
        var content: [UInt8] = []
        try withUnsafeTemporaryAllocation(byteCount: outputByteCount, alignment: 1) { output in
            for piece in pieces {
                try Array(piece).withUnsafeBytes { bytes in
                    var rest = bytes
                    decoding: while true {
                        switch try decoder.decode(&rest, into: output, turn: &turn) {
                        case .bytes(let count): content += output[..<count]
                        case .paused: turn = TurnBudget(start: 0, clock: { 0 })
                        case .needsInput: break decoding
                        }
                    }
                    #expect(rest.isEmpty)
                }
            }
        }
        try decoder.finish(isEmpty: pieces.allSatisfy(\.isEmpty), endedByClose: endedByClose)
        return content
    }

    private static func limits(_ change: (inout TransportOptions) -> Void = { _ in }) -> ContentLimits {
        var options = TransportOptions()
        options.maximumContentCodingCount = 5
        change(&options)
        return ContentLimits(options)
    }

    /// Half of it compresses well, half of it hardly.
    private static let content =
        (0..<30_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 7) }
        + [UInt8](repeating: 7, count: 30_000)

    private static func coded(_ content: [UInt8], _ coding: String) throws -> [UInt8] {
        let data = Data(content)
        switch coding {
        case "gzip", "x-gzip": return Array(try #require(CodingEndpoints.gzip(data)))
        case "br": return Array(try #require(CodingEndpoints.brotli(data)))
        case "zstd": return Array(try #require(CodingEndpoints.zstd(data)))
        case "deflate": return Array(try #require(CodingEndpoints.deflate(data)))
        default: return Array(try #require(CodingEndpoints.bareDeflate(data)))
        }
    }

    private static let rows = [
        ("gzip", "gzip"), ("x-gzip", "X-GZIP"), ("deflate", "deflate"), ("bare", "Deflate"), ("br", "br"),
        ("zstd", "zstd"),
    ]

    @Test("are taken off, however the bytes come and however small the pieces are", arguments: rows)
    func decodes(kind: String, coding: String) throws {
        let coded = try Self.coded(Self.content, kind)
        for count in [4096, 7, 1, 60_000] {
            #expect(try decode([coded[...]], coding, outputByteCount: count) == Self.content, "\(count)")
        }
        var generator = SeededGenerator(seed: 16)
        #expect(try decode(coded.cut(by: &generator), coding, outputByteCount: 1000) == Self.content)
        #expect(try decode([coded[...]], coding, endedByClose: true) == Self.content)
        let small = try Self.coded(Array("hello".utf8), kind)
        #expect(try decode(small.indices.map { small[$0...$0] }, coding) == Array("hello".utf8))
        #expect(try decode([Self.coded([], kind)[...]], coding).isEmpty)
    }

    @Test("that are cut are an error at every byte", arguments: rows)
    func cut(kind: String, coding: String) throws {
        let coded = try Self.coded(Array("hello hello hello".utf8), kind)
        for count in 1..<coded.count {
            let error = #expect(throws: TransferFailure.self) { try decode([coded[..<count]], coding) }
            #expect(error?.urlError(failingURL: "").code == .cannotDecodeContentData, "\(count)")
            let closed = #expect(throws: TransferFailure.self) {
                try decode([coded[..<count]], coding, endedByClose: true)
            }
            #expect(closed?.urlError(failingURL: "").code == .networkConnectionLost, "\(count)")
        }
    }

    @Test("without a byte of content are whole, unless the close of the connection is the end", arguments: rows)
    func empty(kind: String, coding: String) throws {
        #expect(try decode([], coding).isEmpty)
        #expect(throws: TransferFailure.self) { try decode([], coding, endedByClose: true) }
    }

    @Test("are refused where something follows them that is not of them", arguments: rows)
    func trailing(kind: String, coding: String) throws {
        let coded = try Self.coded(Array("hello".utf8), kind)
        let garbage = coded + Array("garbage".utf8)
        #expect(throws: TransferFailure.self) { try decode([garbage[...]], coding) }
        #expect(throws: TransferFailure.self) { try decode([coded[...], garbage[coded.count...]], coding) }
        #expect(throws: TransferFailure.self) { try decode(garbage.indices.map { garbage[$0...$0] }, coding) }
        // Four bytes of a checksum without its header, which curl lets pass too.
        let four = coded + [1, 2, 3, 4]
        if kind == "bare" {
            #expect(try decode(four.indices.map { four[$0...$0] }, coding) == Array("hello".utf8))
        } else {
            #expect(throws: TransferFailure.self) { try decode([four[...]], coding) }
        }
    }

    @Test("that are gzip may have zeros behind them, as blocks of a tape have, and nothing behind the zeros")
    func padding() throws {
        let coded = try Self.coded(Array("hello".utf8), "gzip")
        for coding in ["gzip", "x-gzip"] {
            for count in [1, 3, 10_240, 65_536] {
                let padded = coded + [UInt8](repeating: 0, count: count)
                #expect(try decode([padded[...]], coding) == Array("hello".utf8))
                let wrong = padded + [1]
                #expect(throws: TransferFailure.self) { try decode([wrong[...]], coding) }
            }
            let padded = coded + [UInt8](repeating: 0, count: 300)
            #expect(try decode(padded.indices.map { padded[$0...$0] }, coding) == Array("hello".utf8))
            let member = padded + coded
            #expect(throws: TransferFailure.self) { try decode([member[...]], coding) }
            // Zeros without an end would keep a transfer busy for ever.
            let endless = coded + [UInt8](repeating: 0, count: 65_537)
            #expect(throws: TransferFailure.self) { try decode([endless[...]], coding) }
        }
        let zeros = [UInt8](repeating: 0, count: 100)
        #expect(throws: TransferFailure.self) { try decode([zeros[...]], "gzip") }
    }

    @Test("gzip members and Zstandard frames may follow one another", arguments: ["gzip", "zstd"])
    func members(coding: String) throws {
        let (one, two) = (try Self.coded([1, 2], coding), try Self.coded([3], coding))
        let both = one + two
        #expect(try decode([both[...]], coding) == [1, 2, 3])
        #expect(try decode(both.indices.map { both[$0...$0] }, coding) == [1, 2, 3])
        #expect(throws: TransferFailure.self) { try decode([both.dropLast()], coding) }
    }

    @Test("are refused where the bytes are not of them", arguments: rows)
    func malformed(kind: String, coding: String) throws {
        let bytes = [UInt8](repeating: 0xFF, count: 64)
        let error = #expect(throws: TransferFailure.self) { try decode([bytes[...]], coding) }
        #expect(error?.urlError(failingURL: "").code == .cannotDecodeContentData)
        var broken = try Self.coded(Self.content, kind)
        broken[broken.count / 2] ^= 0xFF
        #expect(throws: TransferFailure.self) {
            if try decode([broken[...]], coding) != Self.content { throw TransferFailure.cancelled }
        }
    }

    @Test("Zstandard's formats of before RFC 8878 are refused", arguments: [0x1E, 0x22, 0x25, 0x26, 0x27] as [UInt8])
    func formerFrames(first: UInt8) {
        let bytes = [first, 0xB5, 0x2F, 0xFD, 0x00, 0x09, 0xFB, 0x27, 0xB5]
        #expect(throws: TransferFailure.self) { try decode([bytes[...]], "zstd") }
        #expect(throws: TransferFailure.self) { try decode([bytes[..<1]], "zstd") }
    }

    @Test("are taken off in layers, the last of the list first")
    func layers() throws {
        let coded = try Self.coded(Self.coded(Self.coded(Self.content, "deflate"), "br"), "gzip")
        let list = "deflate, identity , br,,GZIP"
        #expect(try decode([coded[...]], list) == Self.content)
        #expect(try decode([coded[...]], list, outputByteCount: 10) == Self.content)
        var generator = SeededGenerator(seed: 5)
        #expect(try decode(coded.cut(by: &generator), list) == Self.content)
        for count in [1, coded.count / 2, coded.count - 1] {
            #expect(throws: TransferFailure.self) { try decode([coded[..<count]], list) }
        }
        // The outer layer is whole, and the inner one is not.
        let cut = try Self.coded(Self.coded(Self.content, "br").dropLast(), "gzip")
        #expect(throws: TransferFailure.self) { try decode([cut[...]], "br, gzip") }
    }

    @Test("that are not known are left on, and more than the limit are refused")
    func unknown() throws {
        let standard = ContentLimits(TransportOptions())
        for list in ["", "identity", "none", "compress", "gzip, compress", "aws-chunked", " , "] {
            #expect(try ContentDecoder.make(for: list, limits: standard) == nil, "\(list)")
        }
        #expect(try ContentDecoder.make(for: "gzip, identity, br", limits: standard) != nil)
        let error = #expect(throws: TransferFailure.self) {
            try ContentDecoder.make(for: "gzip, gzip, gzip", limits: standard)
        }
        #expect(error?.urlError(failingURL: "").code == .cannotDecodeContentData)
        let five = Array(repeating: "gzip", count: 5).joined(separator: ",")
        #expect(try ContentDecoder.make(for: five, limits: Self.limits()) != nil)
        #expect(throws: TransferFailure.self) { try ContentDecoder.make(for: five + ", gzip", limits: Self.limits()) }
        let none = Self.limits { $0.maximumContentCodingCount = 0 }
        #expect(throws: TransferFailure.self) { try ContentDecoder.make(for: "gzip", limits: none) }
        #expect(try ContentDecoder.make(for: "identity", limits: none) == nil)
    }

    /// Decodes until something other than bytes and pauses comes of it.
    private func refusal(of coded: [UInt8], _ codings: String, _ limits: ContentLimits) throws -> TransferFailure? {
        let decoder = try #require(try ContentDecoder.make(for: codings, limits: limits))
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 1)
        defer { output.deallocate() }
        var total = 0
        return coded.withUnsafeBytes { bytes in
            var rest = bytes
            while true {
                var turn = TurnBudget(start: 0, clock: { 0 })
                do throws(TransferFailure) {
                    let outcome = try decoder.decode(&rest, into: output, turn: &turn)
                    if outcome == .needsInput { return nil }
                    if case .bytes(let count) = outcome { total += count }
                } catch {
                    #expect(total <= 16 << 20 + 65536)
                    return error
                }
            }
        }
    }

    @Test("a few bytes that expand come out in bounded pieces, so that a limit ends them")
    func bomb() throws {
        let coded = try Self.coded(Self.coded([UInt8](repeating: 0, count: 40 << 20), "gzip"), "gzip")
        let failure = try refusal(of: coded, "gzip, gzip", Self.limits())
        guard case .refused(.expansion(limit: 200)) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        let limits = Self.limits { $0.maximumBodyByteCount = 10 }
        #expect(limits.refusal(decoded: 11, received: 11) == .bodyBytes(limit: 10))
        #expect(limits.refusal(decoded: 10, received: 1) == nil)
    }

    @Test("the limits hold for what every layer gives, though the last gives nothing")
    func layersOfNothing() throws {
        let coded = try NestedGzip.nothing(layers: 4)
        let codings = "gzip, gzip, gzip, gzip"
        let expansion = try refusal(of: coded, codings, Self.limits())
        guard case .refused(.expansion(limit: 200)) = expansion else {
            Issue.record("\(String(describing: expansion))")
            return
        }
        let limits = Self.limits {
            $0.maximumExpansionRatio = nil
            $0.maximumBodyByteCount = 20 << 20
        }
        let length = try refusal(of: coded, codings, limits)
        guard case .refused(.bodyBytes(limit: 20 << 20)) = length else {
            Issue.record("\(String(describing: length))")
            return
        }
    }

    @Test("decoding stops when the turn's bytes are used up, whichever layer they are of")
    func turns() throws {
        let coded = try NestedGzip.nothing(layers: 4)
        let decoder = try #require(
            try ContentDecoder.make(
                for: "gzip, gzip, gzip, gzip", limits: Self.limits { $0.maximumExpansionRatio = nil }))
        try withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 1) { output in
            try coded.withUnsafeBytes { bytes in
                var rest = bytes
                for _ in 0..<100 {
                    var turn = TurnBudget(start: 0, clock: { 0 })
                    let first = try decoder.decode(&rest, into: output, turn: &turn)
                    #expect(first == .paused && turn.isOver)
                    // A step is made even then, so that work gets ahead.
                    let second = try decoder.decode(&rest, into: output, turn: &turn)
                    #expect(second == .paused)
                }
                #expect(!rest.isEmpty)
                var late = TurnBudget(start: 0, clock: { TurnBudget.time })
                let last = try decoder.decode(&rest, into: output, turn: &late)
                #expect(last == .paused)
                #expect(late.isOver)
            }
        }
    }
}
