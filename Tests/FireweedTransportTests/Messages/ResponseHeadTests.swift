import Testing

@testable import FireweedTransport

@Suite("What is asked of every head")
struct ResponseHeadTests {
    private static let none: ResponseHead.Marks = []
    private static let sections: [(String, ResponseHead.Marks)] = [
        ("", none), ("Server: x\r\nDate: y\r\n", none), ("no colon\r\n", none), (":\r\n", none),
        ("Set-Cookie: a=b\r\n", .setsCookies), ("X: 1\nset-cookie:\n", .setsCookies), ("Set-Cookies: a\r\n", none),
        ("ETag: \"x\"\r\n", .mayBeWorthStoring), ("EXPIRES: 0", .mayBeWorthStoring), ("Date: x", none),
        ("Last-Modified: x\r\n", .mayBeWorthStoring), ("Cache-Control: no-store\r\n", .mayBeWorthStoring),
        ("Accept-Ranges: bytes\r\n", none), ("Content-Length: 5\r\n", none), ("Content-Length:5", none),
        ("Content-Length: 5, 5\r\nContent-Length: 5\r\n", none), ("Content-Length: 5, 6\r\n", .hasUnsoundLength),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", .hasUnsoundLength),
        ("Content-Length: \r\n", .hasUnsoundLength), ("Content-Length: 5,\r\n", .hasUnsoundLength),
        ("Content-Length: +5\r\n", .hasUnsoundLength), ("Content-Length: 5 5\r\n", .hasUnsoundLength),
        ("Content-Length: 999999999999999999\r\n", none),
        ("Content-Length: 9999999999999999999\r\n", .hasUnsoundLength),
        (
            "Set-Cookie: a\r\nContent-Length: x\r\nETag: y\r\n",
            [.setsCookies, .hasUnsoundLength, .mayBeWorthStoring]
        ),
    ]

    @Test("marks", arguments: sections)
    func marks(_ section: String, _ marks: ResponseHead.Marks) {
        #expect(ResponseHead(status: 200, version: "HTTP/1.1", section: Array(section.utf8)).marks == marks)
    }
}
