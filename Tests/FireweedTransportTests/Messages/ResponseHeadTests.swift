import Testing

@testable import FireweedTransport

@Suite("Response head properties")
struct ResponseHeadTests {
    private static let none: ResponseHead.Marks = []
    private static let unsound: ResponseHead.Marks = .hasUnsoundLength
    private static let sections: [(String, ResponseHead.Marks)] = [
        ("", none), ("Server: x\r\nDate: y\r\n", none), ("no colon\r\n", none), (":\r\n", none),
        ("Set-Cookie: a=b\r\n", .setsCookies), ("X: 1\nset-cookie:\n", .setsCookies), ("Set-Cookies: a\r\n", none),
        ("ETag: \"x\"\r\n", .mayBeWorthStoring), ("EXPIRES: 0", .mayBeWorthStoring), ("Date: x", none),
        ("Last-Modified: x\r\n", .mayBeWorthStoring), ("Cache-Control: no-store\r\n", .mayBeWorthStoring),
        ("Accept-Ranges: bytes\r\n", none), ("Content-Length: 5\r\n", none), ("Content-Length:5", none),
        ("Content-Length: 5, 5\r\nContent-Length: 5\r\n", none), ("Content-Length: 5, 6\r\n", unsound),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", unsound), ("Content-Length: \r\n", unsound),
        ("Content-Length: 5,\r\n", unsound), ("Content-Length: +5\r\n", unsound),
        ("Content-Length: 5 5\r\n", unsound), ("Content-Length: 999999999999999999\r\n", none),
        ("Content-Length: 9999999999999999999\r\n", unsound), ("transfer-encoding: chunked\r\n", none),
        ("Content-Encoding: gzip\r\n", .hasContentCoding), ("Content-Language: en\r\n", none),
        (
            "Set-Cookie: a\r\nContent-Length: x\r\nETag: y\r\n",
            [.setsCookies, .hasUnsoundLength, .mayBeWorthStoring]
        ),
    ]

    private static let markedLines = [
        "ETag: a", "Expires: 0", "Set-Cookie: a=b", "Cache-Control: no-store", "Last-Modified: x",
        "Content-Encoding: gzip", "Strict-Transport-Security: max-age=1",
    ]

    @Test("a head that came over HTTP/1.1 has the marks of its fields", arguments: markedLines)
    func parsedMarks(line: String) throws {
        var parser = HTTP1ResponseParser()
        parser.expect(ResponseExpectation(method: "GET"))
        let bytes = Array("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n".utf8)
        let marks = try bytes.withUnsafeBytes { bytes in
            var rest = bytes
            guard case .head(let head, _) = try parser.next(&rest) else { throw CancellationError() }
            return head.marks
        }
        let section = Array("\(line)\r\n".utf8)
        #expect(!marks.isEmpty && marks == ResponseHead(status: 200, version: "HTTP/1.1", section: section).marks)
    }

    @Test("the values of a name are joined, or read one by one; names have no case")
    func values() {
        let head = ResponseHead(
            status: 200, fields: [Field(name: "Set-Cookie", value: "a=1"), Field(name: "set-cookie", value: "b=2")])
        #expect(head.value(of: "SET-COOKIE") == "a=1, b=2")
        #expect(head.values(of: "Set-Cookie") == ["a=1", "b=2"])
        #expect(head.contains("set-cookie") && !head.contains("set-cooki"))
    }

    @Test("a value that is not UTF-8 is read as ISO-8859-1 (RFC 9110 §5.5)")
    func octets() {
        let head = ResponseHead(status: 200, version: "HTTP/1.1", section: Array("A: ".utf8) + [0xFC, 0x0A])
        #expect(head.value(of: "A") == "ü")
    }

    @Test("marks", arguments: sections)
    func marks(_ section: String, _ marks: ResponseHead.Marks) {
        #expect(ResponseHead(status: 200, version: "HTTP/1.1", section: Array(section.utf8)).marks == marks)
    }
}
