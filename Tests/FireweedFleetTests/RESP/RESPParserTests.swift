// Replies of Redis, whole, cut and wrong.

import FireweedFleet
import Testing

@Suite("RESP")
struct RESPParserTests {
    /// Parses text that comes in pieces of a size.
    private func parse(
        _ text: String, pieces: Int = .max, limits: RESPParser.Limits = RESPParser.Limits()
    ) throws -> [RESPValue] {
        var parser = RESPParser(limits: limits)
        var values: [RESPValue] = []
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + min(pieces, bytes.count))
            bytes[start..<end].withUnsafeBytes { parser.append($0) }
            while let value = try parser.next() { values.append(value) }
            start = end
        }
        return values
    }

    static let samples: [(String, RESPValue)] = [
        ("+OK\r\n", .simple("OK")),
        ("-ERR unknown command\r\n", .error(RESPError("ERR unknown command"))),
        (":-42\r\n", .integer(-42)),
        (":-9223372036854775808\r\n", .integer(.min)),
        ("$5\r\nhe\r\no\r\n", .bulk(Array("he\r\no".utf8))),
        ("$0\r\n\r\n", .bulk([])),
        ("$-1\r\n", .null),
        ("*-1\r\n", .null),
        ("*0\r\n", .array([])),
        ("*2\r\n*1\r\n:1\r\n$-1\r\n", .array([.array([.integer(1)]), .null])),
        ("_\r\n", .null),
        ("#t\r\n", .boolean(true)),
        (",1.5e3\r\n", .double(1500)),
        (",-inf\r\n", .double(-.infinity)),
        ("(3492890328409238509324850943850943825024385\r\n", .bigNumber("3492890328409238509324850943850943825024385")),
        ("!9\r\nOOM a b c\r\n", .error(RESPError("OOM a b c"))),
        ("=8\r\ntxt:text\r\n", .bulk(Array("text".utf8))),
        ("%1\r\n+a\r\n:1\r\n", .map([RESPPair(key: .simple("a"), value: .integer(1))])),
        ("~2\r\n+a\r\n+b\r\n", .set([.simple("a"), .simple("b")])),
        (">2\r\n+invalidate\r\n*0\r\n", .push([.simple("invalidate"), .array([])])),
        ("|1\r\n+ttl\r\n:3\r\n*1\r\n|1\r\n+a\r\n+b\r\n:7\r\n", .array([.integer(7)])),
    ]

    @Test("every type is read, in one piece and byte by byte", arguments: samples)
    func types(text: String, value: RESPValue) throws {
        for size in [1, 2, 3, Int.max] { #expect(try parse(text + text, pieces: size) == [value, value]) }
    }

    @Test("pushes are bounded between two replies, in one piece and byte by byte", arguments: [1, 7, Int.max])
    func pushes(size: Int) throws {
        // 13 bytes each.
        let push = ">1\r\n$3\r\nabc\r\n"
        var limits = RESPParser.Limits()
        limits.pushByteCount = 3 * push.utf8.count
        func count(_ text: String) throws -> Int {
            var parser = RESPParser(limits: limits)
            var count = 0
            for start in stride(from: 0, to: text.utf8.count, by: min(size, text.utf8.count)) {
                let piece = Array(text.utf8.dropFirst(start).prefix(size))
                piece.withUnsafeBytes { parser.append($0) }
                while try parser.next() != nil { count += 1 }
            }
            return count
        }
        let three = String(repeating: push, count: 3)
        #expect(try count("\(three):1\r\n\(three)*1\r\n+a\r\n\(three)") == 11)
        #expect(throws: RESPSyntaxError.self) { try count(three + push) }
        #expect(throws: RESPSyntaxError.self) { try count(">100\r\n" + String(repeating: ":1\r\n", count: 100)) }
        #expect(throws: RESPSyntaxError.self) { try count(String(repeating: ">0\r\n", count: 100)) }
    }

    @Test(
        "bytes that are no reply are an error, and never a trap or a large allocation",
        arguments: [
            "\r\n", "x\r\n", "+O\rK\r\n", ":\r\n", ":-\r\n", ":1x\r\n", ":9223372036854775808\r\n",
            "$-2\r\n", "$99999999999999999999\r\n", "$2\r\nabc\r\n", "*-2\r\n", "*1000000\r\n",
            "%50001\r\n", "*9223372036854775807\r\n", "$9223372036854775807\r\n", "!-1\r\n", "=2\r\nab\r\n",
            "#x\r\n", "_x\r\n", ",0x10\r\n", ",\r\n", "(1.5\r\n", "*1\r\n>1\r\n:1\r\n", "$?\r\n", "*?\r\n",
            String(repeating: "*1\r\n", count: 17), String(repeating: "|1\r\n", count: 17), "|1\r\n+a\r\n+b\r\n>0\rx",
        ])
    func malformed(text: String) {
        for size in [1, Int.max] { #expect(throws: RESPSyntaxError.self) { try parse(text, pieces: size) } }
    }

    @Test("limits hold for the values and the bytes of one reply")
    func limits() throws {
        var limits = RESPParser.Limits()
        limits.valueCount = 4
        limits.byteCount = 40
        limits.lineByteCount = 16
        #expect(try parse("*3\r\n:1\r\n:2\r\n:3\r\n:4\r\n", limits: limits).count == 2)
        #expect(throws: RESPSyntaxError.self) { try parse("*2\r\n*2\r\n:1\r\n:1\r\n:1\r\n", limits: limits) }
        #expect(throws: RESPSyntaxError.self) { try parse("$41\r\n", limits: limits) }
        #expect(throws: RESPSyntaxError.self) {
            try parse("*2\r\n$20\r\n01234567890123456789\r\n$20\r\n", limits: limits)
        }
        #expect(throws: RESPSyntaxError.self) { try parse("+01234567890123456", limits: limits) }
    }

    @Test("half a reply is nothing yet")
    func half() throws {
        for (text, _) in Self.samples { #expect(try parse(String(text.dropLast(1))).isEmpty) }
    }

    @Test("after an error every call fails")
    func stays() throws {
        var parser = RESPParser()
        Array("x\r\n:1\r\n".utf8).withUnsafeBytes { parser.append($0) }
        #expect(throws: RESPSyntaxError.self) { try parser.next() }
        Array(":1\r\n".utf8).withUnsafeBytes { parser.append($0) }
        #expect(throws: RESPSyntaxError.self) { try parser.next() }
    }

    @Test("commands are arrays of strings, and numbers read both ways")
    func arguments() {
        let bytes = RESPArgument.encode(["SET", "a b", RESPArgument([0, 13, 10]), 5])
        #expect(bytes == Array("*4\r\n$3\r\nSET\r\n$3\r\na b\r\n$3\r\n\0\r\n\r\n$1\r\n5\r\n".utf8))
        #expect(RESPValue.bulk(Array("17".utf8)).integer == 17)
        #expect(RESPValue.integer(17).integer == 17)
        #expect(RESPScript("return 1").digest == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
    }
}
