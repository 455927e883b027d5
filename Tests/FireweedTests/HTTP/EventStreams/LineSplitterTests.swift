import Foundation
import Testing

@testable import Fireweed

/// Every way to cut bytes into two pieces, byte by byte, and whole.
func cuts(of bytes: [UInt8]) -> [[[UInt8]]] {
    let twos = (0...bytes.count).map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
    return twos + [bytes.map { [$0] }]
}

@Suite("Line splitter")
struct LineSplitterTests {
    private func lines(
        _ pieces: [[UInt8]], _ terminator: LineSplitter.Terminator, limit: Int = 100
    ) throws -> [String] {
        var splitter = LineSplitter(terminator: terminator, maximumByteCount: limit)
        var lines: [String] = []
        for piece in pieces {
            splitter.append(piece)
            while let line = try splitter.next() { lines.append(String(decoding: line, as: UTF8.self)) }
        }
        if let last = splitter.finish() { lines.append(String(decoding: last, as: UTF8.self)) }
        return lines
    }

    @Test(
        "lines end with CR, LF or CRLF, however the bytes were cut",
        arguments: [
            ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r", ["a"]), ("a\r\n", ["a"]), ("\n", [""]), ("\r\n", [""]),
            ("\r\r", ["", ""]), ("\n\r", ["", ""]), ("\r\n\r\n", ["", ""]), ("a\nb", ["a", "b"]),
            ("a\rb\r\nc\n\nd", ["a", "b", "c", "", "d"]), ("é\n∮😀\r", ["é", "∮😀"]),
            ("a\u{2028}b\u{85}c\n", ["a\u{2028}b\u{85}c"]),  // no line ends for us
            ("\u{FEFF}a\n\u{FEFF}b", ["a", "\u{FEFF}b"]),  // one mark, at the start of the content
            ("\u{FEFF}", []), ("\u{FEFF}\r\n", [""]),
        ])
    func anyTerminator(text: String, expected: [String]) throws {
        #expect(try cuts(of: Array(text.utf8)).filter { try lines($0, .any) != expected } == [])
    }

    @Test(
        "lines of JSON end with LF alone",
        arguments: [
            ("1\r\n2\n", ["1\r", "2"]), ("[1,\r2]\n", ["[1,\r2]"]), ("\u{FEFF}1\n\n2", ["1", "", "2"]), ("\r", ["\r"]),
        ])
    func lineFeed(text: String, expected: [String]) throws {
        #expect(try cuts(of: Array(text.utf8)).filter { try lines($0, .lineFeed) != expected } == [])
    }

    @Test("half a byte order mark at the very end is content")
    func halfMark() throws {
        var splitter = LineSplitter(terminator: .any, maximumByteCount: 10)
        splitter.append([0xEF, 0xBB])
        #expect(try splitter.next() == nil)
        #expect(splitter.finish().map(Array.init) == [0xEF, 0xBB])
    }

    @Test("a line may be as long as the limit, and no longer, with or without its end", arguments: ["\n", "\r", ""])
    func limit(end: String) throws {
        for pieces in cuts(of: Array("12345\(end)".utf8)) { #expect(try lines(pieces, .any, limit: 5) == ["12345"]) }
        for pieces in cuts(of: Array("123456\(end)".utf8)) {
            #expect(throws: StreamedContentError.lineTooLong(limit: 5)) { try lines(pieces, .any, limit: 5) }
        }
    }

    @Test("after a restart nothing of what came before is left")
    func restart() throws {
        var splitter = LineSplitter(terminator: .any, maximumByteCount: 10)
        splitter.append(Array("a\rhalf".utf8))
        #expect(try splitter.next() == Array("a".utf8)[...])
        splitter.restart()
        splitter.append(Array("\u{FEFF}\nb\n".utf8))
        #expect(try splitter.next()?.isEmpty == true)
        #expect(try splitter.next().map(Array.init) == Array("b".utf8))
        #expect(try splitter.next() == nil)
    }

    @Test("a long line in small pieces is looked at once")
    func longLine() throws {
        var splitter = LineSplitter(terminator: .any, maximumByteCount: 1 << 20)
        let piece = [UInt8](repeating: 0x61, count: 64)
        var lines = 0
        for _ in 0..<1 << 14 {
            splitter.append(piece)
            if try splitter.next() != nil { lines += 1 }
        }
        #expect(lines == 0)
        splitter.append([0x0A])
        #expect(try splitter.next()?.count == 1 << 20)
    }
}
