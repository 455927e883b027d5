import FireweedTesting
import Foundation
import Testing

@testable import FireweedTransport

@Suite("The chunked transfer coding")
struct ChunkedDecoderTests {
    /// The content and what follows the last chunk, or why there is none.
    private func decode(_ pieces: [ArraySlice<UInt8>], limit: Int = 1000) -> (
        content: [UInt8], failure: String?, isAtEnd: Bool
    ) {
        var decoder = ChunkedDecoder(framingLimit: limit)
        var content: [UInt8] = []
        do {
            for piece in pieces {
                let isAtEnd = try Array(piece).withUnsafeBufferPointer { (buffer) throws(TransferFailure) -> Bool in
                    var bytes = UnsafeRawBufferPointer(buffer)
                    while true {
                        switch try decoder.next(&bytes) {
                        case .needsMore: return false
                        case .content(let piece): content += piece
                        case .lastChunk: return true
                        }
                    }
                }
                if isAtEnd { return (content, nil, true) }
            }
        } catch {
            return (content, error.urlError(failingURL: "").localizedDescription, false)
        }
        return (content, nil, false)
    }

    @Test(
        "is refused where it could be read in two ways (RFC 9112 §7.1), wherever it is cut",
        arguments: [
            ("\r\n", "no size"), (" 5\r\nhello", "no size"), ("-1\r\n", "no size"), ("+1\r\na", "no size"),
            ("0x1\r\na", "no hexadecimal digit"), ("5 5\r\nhello", "no hexadecimal digit"),
            ("5\nhello", "no hexadecimal digit"),
            ("5\rhello", "CR"), ("5;a\nhello", "bare LF"), ("5;a\0\r\nhello", "NUL"), ("5\r\nhello!", "longer"),
            ("5\r\nhello\n", "longer"), ("5\r\nhello\r\r", "longer"), ("g\r\n", "no size"), (";a\r\n", "no size"),
            ("1000000000000000\r\n", "too large"), ("0000000000000001\r\na", "too large"),
            ("fffffffffffffffff\r\n", "too large"), ("5;a\rb\r\nhello", "CR"),
        ])
    func refused(text: String, word: String) {
        let bytes = Array(text.utf8)
        let whole = decode([bytes[...]])
        #expect(whole.failure?.contains(word) == true, "\(whole.failure ?? "accepted")")
        #expect(decode(bytes.indices.map { bytes[$0...$0] }) == whole)
    }

    @Test("lines may not outweigh content by more than a limit, wherever they are cut")
    func framingLimit() {
        let long = Array("5;\(String(repeating: "a", count: 2000))\r\nhello\r\n".utf8)
        #expect(decode([long[...]]).failure?.contains("no content") == true)
        #expect(decode(long.indices.map { long[$0...$0] }).failure?.contains("no content") == true)
        let chatty = Array(String(repeating: "1;aaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n", count: 100).utf8)
        #expect(decode([chatty[...]]).failure?.contains("no content") == true)
        let small = Array(String(repeating: "1\r\nx\r\n", count: 10_000).utf8)
        #expect(decode([small[...]]).content.count == 10_000)
    }

    @Test("what the encoder writes is read again, however it is cut")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<100 {
            var (bytes, content): ([UInt8], [UInt8]) = ([], [])
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                let count = Int.random(in: 1...300, using: &generator)
                let piece = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                ChunkedEncoder.appendSize(piece.count, to: &bytes)
                bytes += piece + ChunkedEncoder.chunkEnd
                content += piece
            }
            try ChunkedEncoder.appendEnd(to: &bytes)
            #expect(decode([bytes[...]]) == (content, nil, true))
            #expect(decode(bytes.cut(by: &generator)) == (content, nil, true))
        }
    }

    @Test("trailers are checked")
    func trailers() throws {
        var bytes: [UInt8] = []
        try ChunkedEncoder.appendEnd(trailers: FieldBlock([Field(name: "Digest", value: "1")]), to: &bytes)
        #expect(bytes == Array("0\r\nDigest: 1\r\n\r\n".utf8))
        for field in [
            Field(name: "Content-Length", value: "1"), Field(name: "Host", value: "a"), Field(name: "A b", value: "1"),
            Field(name: "Transfer-Encoding", value: "chunked"), Field(name: "A", value: "1\r\n"),
        ] {
            #expect(throws: TransferFailure.self, "\(field)") {
                try ChunkedEncoder.appendEnd(trailers: FieldBlock([field]), to: &bytes)
            }
        }
    }
}
