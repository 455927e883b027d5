import FireweedTesting
import Foundation
import Testing

@testable import FireweedTransport

@Suite("HTTP/1.1 responses")
struct HTTP1ResponseParserTests {
    @Test("a head is kept as it came: reason, order, case and duplicates")
    func headAsItCame() {
        let lines = "HTTP/1.1 203 Not  Mine!\r\nserver: a\r\nX-Two:\t 1 \t\r\nx-two: 2\r\nEmpty:\r\n"
        let found = ParsedResponse("\(lines)Content-Length: 2\r\n\r\nok")
        #expect(found.failure == nil)
        #expect(found.status == 203)
        #expect(found.reason == "Not  Mine!")
        #expect(found.lines == Array("\(lines)Content-Length: 2\r\n".utf8))
        #expect(
            found.fields == [
                Field(name: "server", value: "a"), Field(name: "X-Two", value: "1"), Field(name: "x-two", value: "2"),
                Field(name: "Empty", value: ""), Field(name: "Content-Length", value: "2"),
            ])
        #expect(found.text == "ok")
        #expect(found.isAtEnd && found.isPersistent)
    }

    struct Framed: Sendable, CustomTestStringConvertible {
        var clause: String
        var response: String
        var method = "GET"
        var framing: ContentFraming
        var content = ""
        var rest = ""
        var isPersistent = true
        var testDescription: String { clause }
    }

    @Test(
        "content is framed by the first rule that applies (RFC 9112 §6.3)",
        arguments: [
            Framed(
                clause: "1: HEAD has no content", response: "200 OK\r\nContent-Length: 5\r\n\r\n", method: "HEAD",
                framing: .none),
            Framed(
                clause: "1: HEAD, chunked", response: "200 OK\r\nTransfer-Encoding: chunked\r\n\r\nHTTP",
                method: "HEAD",
                framing: .none, rest: "HTTP"),
            Framed(clause: "1: 204", response: "204 No\r\n\r\nabc", framing: .none, rest: "abc"),
            Framed(clause: "1: 304", response: "304 No\r\nContent-Length: 10\r\n\r\n", framing: .none),
            Framed(
                clause: "2: CONNECT", response: "200 OK\r\nContent-Length: 5, 6\r\n\r\n\u{16}\u{3}", method: "CONNECT",
                framing: .tunnel, rest: "\u{16}\u{3}", isPersistent: false),
            Framed(
                clause: "2: CONNECT refused", response: "407 No\r\nContent-Length: 2\r\n\r\nno", method: "CONNECT",
                framing: .length(2), content: "no"),
            Framed(
                clause: "4: chunked", response: "200 OK\r\ntransfer-encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                framing: .chunked, content: "abc"),
            Framed(
                clause: "4: empty members of the list",
                response: "200 OK\r\nTransfer-Encoding: ,chunked ,\r\n\r\n0\r\n\r\n", framing: .chunked),
            Framed(
                clause: "5: equal lengths", response: "200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nokHT",
                framing: .length(2), content: "ok", rest: "HT"),
            Framed(clause: "6: length", response: "200 OK\r\nContent-Length:0\r\n\r\n", framing: .length(0)),
            Framed(
                clause: "8: until the close", response: "200 OK\r\n\r\nall of it", framing: .untilClose,
                content: "all of it", isPersistent: false),
        ])
    func framing(row: Framed) {
        let found = ParsedResponse("HTTP/1.1 \(row.response)", to: ResponseExpectation(method: row.method))
        #expect(found.failure == nil)
        #expect(found.framing == row.framing)
        #expect(found.text == row.content)
        #expect(String(decoding: found.rest, as: UTF8.self) == row.rest)
        #expect(found.isPersistent == row.isPersistent)
        #expect(found.isAtEnd)
    }

    @Test(
        "a connection persists as version and options say (RFC 9112 §9.3)",
        arguments: [
            ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false), ("HTTP/1.0", "", false),
            ("HTTP/1.1", "Connection: x, Close\r\n", false), ("HTTP/1.0", "Connection: keep-alive\r\n", true),
            ("HTTP/1.0", "Connection: keep-alive\r\nConnection: close\r\n", false), ("HTTP/1.7", "", true),
        ])
    func persistence(version: String, fields: String, isPersistent: Bool) {
        let found = ParsedResponse("\(version) 200 OK\r\nContent-Length: 0\r\n\(fields)\r\n")
        #expect(found.failure == nil)
        #expect(found.isPersistent == isPersistent)
    }

    @Test(
        "a server says how long it keeps a connection",
        arguments: [
            ("timeout=5, max=100", 5), ("max=3,Timeout=15", 15), ("timeout=", nil), ("timeout=-1", nil),
            ("timeout=9999999999999", nil), ("300", nil),
        ])
    func keepAlive(value: String, seconds: Int?) {
        let found = ParsedResponse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: \(value)\r\n\r\n")
        #expect(found.keepAliveSeconds == seconds)
    }

    @Test(
        "is accepted where it does no harm",
        arguments: [
            ("§4: no reason", "HTTP/1.1 200 \r\n\r\n"), ("§4: no reason and no space", "HTTP/1.1 200\r\n\r\n"),
            ("§2.2: LF alone in a head", "HTTP/1.1 200 OK\nA: b\n\n"),
            ("9110 §2.5: a higher minor version", "HTTP/1.3 200 OK\r\n\r\n"),
            ("9110 §5.5: obs-text", "HTTP/1.1 200 \u{e9}\r\nA: \u{e9}\r\n\r\n"),
            ("9110 §5.5: controls that a recipient may keep", "HTTP/1.1 200 OK\r\nA: \u{1}b\r\n\r\n"),
            ("9110 §15: an unknown status", "HTTP/1.1 999 Huh\r\n\r\n"),
            ("§5: a tab", "HTTP/1.1 200 OK\r\nA:\t\r\n\r\n"), ("§4: spaces", "HTTP/1.1   200   OK\r\n\r\n"),
            ("§5.2: a fold", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"),
            ("9110 §5.1: every token", "HTTP/1.1 200 OK\r\n!#$%&'*+-.^_`|~09AZaz: b\r\n\r\n"),
        ])
    func accepted(clause: String, head: String) {
        let found = ParsedResponse("\(head)content")
        #expect(found.failure == nil, "\(clause)")
        #expect(found.text == "content")
    }

    @Test(
        "a fold in a head is read as spaces, wherever the head is cut",
        arguments: [
            ("A: b\r\n c\r\nD: e\r\n", "b   c"), ("A:\r\n\t b \r\n", "b"), ("A: b \r\n \r\n c", nil),
            ("A: b\n c\n\td\n", "b  c  d"), ("A: \r\n Content-Lengths: 1\r\n", "Content-Lengths: 1"),
        ])
    func folds(section: String, value: String?) {
        let text = Array("HTTP/1.1   200   OK\r\n\(section)\r\ncontent".utf8)
        let whole = ParsedResponse([text[...]])
        #expect(whole.fields.first?.value == value && (whole.failure == nil) == (value != nil))
        #expect(value == nil || whole.text == "content" && whole.reason == "OK" && whole.status == 200)
        for cut in text.indices {
            #expect(ParsedResponse([text[..<cut], text[cut...]]) == whole, "cut at \(cut)")
        }
    }

    static let refusals: [(clause: String, response: String, word: String)] = [
        ("§2.3: another protocol", "SSH-2.0-OpenSSH\r\n", "begin with"),
        ("§2.3: a line without an end", "HTTPS and more, for ever", "begin with"),
        ("§2.3: lower case", "http/1.1 200 OK\r\n\r\n", "begin with"),
        ("§2.3: HTTP/2", "HTTP/2 200\r\n\r\n", "begin with"),
        ("§2.3: a space in the version", "HTTP/ 1.1 200 OK\r\n\r\n", "begin with"),
        ("§2.3: a field first", "A: 1\r\n\r\n", "begin with"), ("§4: no status", "HTTP/1.1 \r\n\r\n", "short"),
        ("§4: two digits and a letter", "HTTP/1.1 20x\r\n\r\n", "three digits"),
        ("§2.3: no digit", "HTTP/1.x 200 OK\r\n\r\n", "version"), ("§2.3: two", "HTTP/1.10 200 OK\r\n\r\n", "version"),
        ("§2.2: an empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", "begin with"),
        ("§4: a tab in front", "HTTP/1.1 \t200 OK\r\n\r\n", "three digits"),
        ("§4: no space", "HTTP/1.1200 OK\r\n\r\n", "version"),
        ("§4: spaces without a status", "HTTP/1.1     \r\n\r\n", "short"),
        ("§4: short", "HTTP/1.1 20\r\n\r\n", "three digits"),
        ("§2.3: shorter", "HTTP/1.\nHTTP/1.1 200 OK\r\n\r\n", "short"),
        ("§4: two digits", "HTTP/1.1 20 OK\r\n\r\n", "three digits"),
        ("§4: four digits", "HTTP/1.1 2000 OK\r\n\r\n", "three digits"),
        ("§4: letters", "HTTP/1.1 2o0 OK\r\n\r\n", "three digits"),
        ("§4: zero", "HTTP/1.1 099 No\r\n\r\n", "three digits"),
        ("§4: a tab", "HTTP/1.1 200\tOK\r\n\r\n", "three digits"), ("§2.2: CR", "HTTP/1.1 200 O\rK\r\n\r\n", "CR"),
        ("§4: NUL", "HTTP/1.1 200 O\0K\r\n\r\n", "NUL"),
        ("§5.2: an empty fold", "HTTP/1.1 200 OK\r\nA: b\r\n \r\n\r\n", "folded"),
        ("§5.2: a folded length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n 7\r\n\r\n", "folded"),
        ("§5.2: a folded coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", "folded"),
        ("§5.2: a folded option", "HTTP/1.1 200 OK\r\nConnection: a,\r\n close\r\n\r\n", "folded"),
        ("§5.2: a length in a fold", "HTTP/1.1 200 OK\r\nA: b\r\n\tContent-Length : 1\r\n\r\n", "folded"),
        ("§2.2: white space first", "HTTP/1.1 200 OK\r\n A: b\r\n\r\n", "folded"),
        ("§5.1: before the colon", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "before the colon of the field “A”"),
        ("§5: no colon", "HTTP/1.1 200 OK\r\nAbc\r\n\r\n", "without a colon: “Abc”"),
        ("9110 §5.1: no name", "HTTP/1.1 200 OK\r\n: b\r\n\r\n", "without a name"),
        ("9110 §5.1: no token", "HTTP/1.1 200 OK\r\nA(: b\r\n\r\n", "not a token"),
        ("9110 §5.1: NUL in a name", "HTTP/1.1 200 OK\r\nA\0: b\r\n\r\n", "not a token"),
        ("9110 §5.5: NUL", "HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", "NUL"),
        ("§2.2: CR in a value", "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", "CR"),
        ("§2.2: CR CR LF", "HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n", "CR"),
        ("§6.3: two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "differ"),
        ("§6.3: two lengths in a list", "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", "differ"),
        ("§6.3: the same length otherwise", "HTTP/1.1 200 OK\r\nContent-Length: 1, 01\r\n\r\n", "differ"),
        ("9110 §8.6: a sign", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "lengths"),
        ("9110 §8.6: hexadecimal", "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n", "lengths"),
        ("9110 §8.6: none", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "lengths"),
        ("9110 §8.6: a comma at the end", "HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n\r\n", "lengths"),
        ("9110 §8.6: a space", "HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n", "lengths"),
        ("9110 §8.6: too large", "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n", "lengths"),
        ("9110 §8.6: in a 304 too", "HTTP/1.1 304 No\r\nContent-Length: x\r\n\r\n", "lengths"),
        (
            "§6.3: length and chunked", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "Content-Length and is chunked"
        ),
        ("§6.1: in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.0"),
        ("§6.1: another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "“gzip”"),
        ("§7.4: one not asked for", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "“gzip”"),
        ("§6.1: chunked not last", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", "after “chunked”"),
        (
            "§7.1: twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            "after “chunked”"
        ), ("§7: a parameter", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;a=b\r\n\r\n", "“chunked;a=b”"),
        ("§7: nearly", "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n", "“xchunked”"),
        ("§6.1: identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", "“identity”"),
        ("§6.1: none", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\n", "without a coding"),
        ("9110 §15.2.2: unasked", "HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\n", "unasked"),
    ]

    @Test("is refused with a sentence, wherever it is cut", arguments: refusals)
    func refused(clause: String, response: String, word: String) {
        let bytes = Array(response.utf8)
        let whole = ParsedResponse([bytes[...]])
        #expect(whole.failure?.contains(word) == true, "\(clause): \(whole.failure ?? "accepted")")
        #expect(whole.status == nil)
        #expect(ParsedResponse(bytes.indices.map { bytes[$0...$0] }) == whole)
        for cut in bytes.indices { #expect(ParsedResponse([bytes[..<cut], bytes[cut...]]) == whole) }
    }

    @Test("a 101 that was asked for is the head, and what follows belongs to the other protocol")
    func upgrade() {
        let expectation = ResponseExpectation(method: "GET", offersUpgrade: true)
        let found = ParsedResponse("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n\r\n\u{1}", to: expectation)
        #expect(found.status == 101)
        #expect(found.framing == .tunnel)
        #expect(found.rest == [1])
        #expect(!found.isPersistent)
    }

    private static let whole = [
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nServer: s\r\n"
            + "Content-Length: 11\r\n\r\nhello world",
        "HTTP/1.1 200 OK\nETag: \"1\"\nTransfer-Encoding: chunked\n\n5;a=\"b\"\r\nhello\r\n006 \t\r\n world\r\n"
            + "0\r\nDigest: 1\r\nDigest: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0;last\r\n\r\n",
    ]

    @Test("a response is the same wherever it is cut, and never whole before its last byte", arguments: whole)
    func everyCut(text: String) {
        let bytes = Array(text.utf8)
        let whole = ParsedResponse([bytes[...]], closes: false)
        #expect(whole.isAtEnd && whole.text == "hello world")
        for cut in bytes.indices {
            #expect(ParsedResponse([bytes[..<cut], bytes[cut...]], closes: false) == whole)
            let short = ParsedResponse([bytes[..<cut]])
            #expect(short.failure?.hasPrefix("the connection closed") == true, "\(cut) bytes")
        }
        var generator = SeededGenerator(seed: 16)
        for _ in 0..<200 { #expect(ParsedResponse(bytes.cut(by: &generator), closes: false) == whole) }
        #expect(
            ParsedResponse([bytes[...], Array("HTTP/1.1".utf8)[...]], closes: false).rest == Array("HTTP/1.1".utf8))
    }

    @Test("trailers are kept apart from the head, and lengths among them frame nothing (RFC 9110 §6.5.1)")
    func trailers() {
        let found = ParsedResponse(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\nX: \t1 \r\n\r\nrest")
        #expect(found.trailers == [Field(name: "Content-Length", value: "5"), Field(name: "X", value: "1")])
        #expect(found.fields.map(\.name) == ["Transfer-Encoding"])
        #expect(found.rest == Array("rest".utf8))
    }

    @Test("a fold in trailers is refused (RFC 9112 §5.2)")
    func foldedTrailer() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n c\r\n\r\n"
        #expect(ParsedResponse(text).failure?.contains("folded") == true)
    }

    @Test(
        "limits hold for all heads and trailers together, wherever they are cut",
        arguments: [
            "HTTP/1.1 200 OK\r\nA: \(String(repeating: "a", count: 200))\r\n\r\n",
            "HTTP/1.1 200 \(String(repeating: "a", count: 200))",
            "HTTP/1.1 100 Go\r\nA: b\r\n\r\nHTTP/1.1 100 Go\r\nA: b\r\n\r\nHTTP/1.1 100 Go\r\nA: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: \(String(repeating: "a", count: 50))\r\n\r\n",
        ])
    func byteLimit(text: String) {
        var limits = ResponseLimits()
        limits.maximumHeaderByteCount = 70
        let bytes = Array(text.utf8)
        let whole = ParsedResponse([bytes[...]], limits: limits)
        #expect(whole.failure?.contains("limit of 70 bytes") == true)
        #expect(ParsedResponse(bytes.indices.map { bytes[$0...$0] }, limits: limits) == whole)
        for cut in bytes.indices { #expect(ParsedResponse([bytes[..<cut], bytes[cut...]], limits: limits) == whole) }
    }

    @Test("a head may be exactly as long as the limit, and have as many fields")
    func limitsReached() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nB: c\r\n\r\n"
        var limits = ResponseLimits()
        limits.maximumHeaderByteCount = text.utf8.count
        limits.maximumHeaderFieldCount = 2
        #expect(ParsedResponse(text, limits: limits).isAtEnd)
        limits.maximumHeaderFieldCount = 1
        #expect(ParsedResponse(text, limits: limits).failure?.contains("more fields than the limit of 1") == true)
        limits = .init()
        limits.maximumHeaderByteCount = text.utf8.count - 1
        #expect(ParsedResponse(text, limits: limits).failure?.contains("limit of") == true)
    }

    @Test("the table of token bytes says what the rule says (RFC 9110 §5.6.2)")
    func tokens() {
        for byte in UInt8.min...UInt8.max { #expect(TokenTable.contains(byte) == byte.isTokenByte, "\(byte)") }
        let marks = "!#$%&'*+-.^_`|~"
        for byte in UInt8.min...UInt8.max {
            let scalar = Character(Unicode.Scalar(byte))
            #expect(
                byte.isTokenByte == (scalar.isASCII && (scalar.isLetter || scalar.isNumber || marks.contains(scalar))))
        }
    }

    @Test("interim responses are limited")
    func interimLimit() {
        var limits = ResponseLimits()
        limits.maximumInterimResponseCount = 2
        let interim = "HTTP/1.1 102 Wait\r\n\r\n"
        let rest = "HTTP/1.1 204 No\r\n\r\n"
        #expect(ParsedResponse(interim + interim + rest, limits: limits).interim == [102, 102])
        let found = ParsedResponse(interim + interim + interim + rest, limits: limits)
        #expect(found.failure?.contains("more interim responses") == true)
    }

    @Test("one parser reads the responses of a connection one after the other")
    func severalResponses() {
        var parser = HTTP1ResponseParser()
        let bytes = Array("HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nnoHTTP/1.1 204 Ok\r\n\r\n".utf8)
        bytes.withUnsafeBytes { whole in
            var rest = whole
            for status in [404, 204] {
                parser.expect(ResponseExpectation(method: "GET"))
                #expect(!parser.hasBegun)
                guard case .head(let head, _)? = try? parser.next(&rest) else {
                    Issue.record("no head")
                    return
                }
                #expect(head.status == status)
                #expect(parser.hasBegun)
                #expect(parser.remainingContentByteCount == (status == 404 ? 2 : nil))
                while case .content? = try? parser.next(&rest) {}
                #expect(parser.isAtEnd)
            }
            #expect(rest.isEmpty)
        }
    }
}
