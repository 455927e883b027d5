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
        let end = try #require(ContentCodingEnd(coding: coding))
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
        for coding in ["br", "zstd", "identity", "gzip, gzip", "gzip, br", ""] {
            #expect(ContentCodingEnd(coding: coding) == nil)
        }
    }
}
