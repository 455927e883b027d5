import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("The end of coded content")
struct ContentCodingEndTests {
    private static let codings = [
        ("gzip", "H4sIAAAAAAACA0tUKEmtKFEoyUgsUcgsVsjJz0tXSM3LL03P0EHmAABKX7JCJwAAAA=="),
        ("X-GZIP", "H4sIAAAAAAACA0tUKEmtKFEoyUgsUcgsVsjJz0tXSM3LL03P0EHmAABKX7JCJwAAAA=="),
        ("deflate", "eJxLVChJrShRKMlILFHILFbIyc9LV0jNyy9Nz9BB5gAAF0QOLA=="),
        ("deflate", "S1QoSa0oUSjJSCxRyCxWyMnPS1dIzcsvTc/QQeYAAA=="),  // without zlib's header, as some servers send it
    ]

    private func isWhole(_ bytes: some Collection<UInt8>, _ coding: String, inPiecesOf size: Int) throws -> Bool {
        let end = try #require(ContentCodingEnd.end(of: coding))
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            rest.prefix(size).withUnsafeBytes { end.append($0) }
            rest = rest.dropFirst(size)
        }
        return end.isWhole
    }

    @Test("is found at the last byte and at no other one, however the bytes come", arguments: codings)
    func everyCut(coding: String, text: String) throws {
        let bytes = try #require(Data(base64Encoded: text))
        for size in [1, 2, 7, bytes.count] {
            for count in 0..<bytes.count {
                #expect(try !isWhole(bytes.prefix(count), coding, inPiecesOf: size), "\(count) bytes")
            }
            #expect(try isWhole(bytes, coding, inPiecesOf: size))
            #expect(try isWhole(bytes + [0, 0], coding, inPiecesOf: size))
        }
    }

    @Test("is left to the decoder where the content is malformed, and not looked for in other codings")
    func others() throws {
        #expect(try isWhole(Array("no gzip at all".utf8), "gzip", inPiecesOf: 4))
        #expect(try isWhole(Array("no frame at all".utf8), "zstd", inPiecesOf: 4))
        #expect(try isWhole(Array(repeating: 0xFF, count: 40), "br", inPiecesOf: 4))
        for coding in ["identity", "compress", "gzip, gzip", "gzip, br", ""] {
            #expect(ContentCodingEnd.end(of: coding) == nil)
        }
    }

    @Test("of brotli and Zstandard is found at the last byte and at no other one", arguments: [10, 100_000])
    func otherLibraries(byteCount: Int) throws {
        // Half of it compresses well, half of it hardly: several blocks of each kind.
        let noise = (0..<byteCount / 2).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 7) }
        let content = Data(noise) + Data(repeating: 7, count: byteCount / 2)
        for (coding, made) in [("br", CodingEndpoints.brotli(content)), ("zstd", CodingEndpoints.zstd(content))] {
            let bytes = try #require(made)
            let cuts = byteCount > 1_000 ? Array(stride(from: 0, to: bytes.count - 1, by: 977)) : Array(0..<bytes.count)
            for count in cuts + [bytes.count - 1] {
                #expect(try !isWhole(bytes.prefix(count), coding, inPiecesOf: 4_096), "\(count) bytes of \(coding)")
            }
            for size in [1, 4_096, bytes.count] { #expect(try isWhole(bytes, coding, inPiecesOf: size)) }
        }
    }

    @Test("of Zstandard content that has several frames is the end of the last one")
    func severalFrames() throws {
        let frame = try #require(CodingEndpoints.zstd(Data("a frame".utf8)))
        for size in [1, 5, 2 * frame.count] {
            #expect(try isWhole(frame + frame, "zstd", inPiecesOf: size))
            #expect(try !isWhole(frame + frame.dropLast(), "zstd", inPiecesOf: size))
        }
    }
}
