import Testing

@testable import FireweedTransport

@Suite("What is asked of every head")
struct ResponseHeadTests {
    private static let none: ResponseHead.Marks = []
    private static let unsound: ResponseHead.Marks = [.isFramed, .hasUnsoundLength]
    private static let sections: [(String, ResponseHead.Marks)] = [
        ("", none), ("Server: x\r\nDate: y\r\n", none), ("no colon\r\n", none), (":\r\n", none),
        ("Set-Cookie: a=b\r\n", .setsCookies), ("X: 1\nset-cookie:\n", .setsCookies), ("Set-Cookies: a\r\n", none),
        ("ETag: \"x\"\r\n", .mayBeWorthStoring), ("EXPIRES: 0", .mayBeWorthStoring), ("Date: x", none),
        ("Last-Modified: x\r\n", .mayBeWorthStoring), ("Cache-Control: no-store\r\n", .mayBeWorthStoring),
        ("Accept-Ranges: bytes\r\n", none), ("Content-Length: 5\r\n", .isFramed), ("Content-Length:5", .isFramed),
        ("Content-Length: 5, 5\r\nContent-Length: 5\r\n", .isFramed), ("Content-Length: 5, 6\r\n", unsound),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", unsound), ("Content-Length: \r\n", unsound),
        ("Content-Length: 5,\r\n", unsound), ("Content-Length: +5\r\n", unsound),
        ("Content-Length: 5 5\r\n", unsound), ("Content-Length: 999999999999999999\r\n", .isFramed),
        ("Content-Length: 9999999999999999999\r\n", unsound), ("transfer-encoding: chunked\r\n", .isFramed),
        ("Content-Encoding: gzip\r\n", .hasContentCoding), ("Content-Language: en\r\n", none),
        (
            "Set-Cookie: a\r\nContent-Length: x\r\nETag: y\r\n",
            [.setsCookies, .isFramed, .hasUnsoundLength, .mayBeWorthStoring]
        ),
    ]

    @Test("marks", arguments: sections)
    func marks(_ section: String, _ marks: ResponseHead.Marks) {
        #expect(ResponseHead(status: 200, version: "HTTP/1.1", section: Array(section.utf8)).marks == marks)
    }
}
