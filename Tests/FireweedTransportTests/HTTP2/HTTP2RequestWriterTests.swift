import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Heads of requests over HTTP/2 (RFC 9113 §8.3.1)")
struct HTTP2RequestWriterTests {
    private func lines(
        _ fields: [(String, String)], method: String = "GET", url: String = "https://example.com/a?b",
        length: Int64? = 0,
        body: BodySource = .none
    ) throws -> [String] {
        var writer = HTTP2RequestWriter(acceptedCodings: "")
        let message = RequestMessage(
            url: url, method: method, fields: FieldBlock(fields.map { Field(name: $0, value: $1) }), body: body)
        let (list, _) = try writer.write(message, to: RequestTarget(url), contentLength: length)
        return list.texts.map { "\($0.name)=\($0.value)" }
    }

    @Test("pseudo-header fields come first")
    func pseudo() throws {
        #expect(
            try lines([("Accept", "a/b")])
                == [":method=GET", ":scheme=https", ":authority=example.com", ":path=/a?b", "accept=a/b"])
        #expect(
            try lines([("Accept", "a/b")], url: "http://example.com:8080")[1...3]
                == [":scheme=http", ":authority=example.com:8080", ":path=/"])
    }

    /// Fields of the message, and what goes out behind the pseudo-header fields.
    private static let rows: [(given: [(String, String)], sent: [String])] = [
        ([("X-Some", "  value\t")], ["accept=*/*", "x-some=value"]),  // §8.2.1: lower case, no white space around
        ([("Cookie", "a=1; b=2;c=3; ")], ["accept=*/*", "cookie=a=1", "cookie=b=2;c=3;"]),  // §8.2.3
        ([("Connection", "close"), ("TE", "trailers")], ["accept=*/*", "te=trailers"]),  // §8.2.2
        ([("Connection", "keep-alive"), ("Proxy-Authorization", "secret")], ["accept=*/*"]),
        ([("Content-Length", "0")], ["accept=*/*", "content-length=0"]),
        ([("A", "1"), ("a", "2")], ["accept=*/*", "a=1", "a=2"]),
    ]

    @Test("the connection's fields stay, the others are put into their form", arguments: rows)
    func fields(row: (given: [(String, String)], sent: [String])) throws {
        let sent = try lines(row.given).dropFirst(4)
        #expect(Array(sent) == row.sent)
    }

    @Test("a user's Host is the authority")
    func host() throws {
        #expect(try lines([("Host", "other.example")])[2] == ":authority=other.example")
    }

    @Test(
        "what cannot be sent is refused by its name",
        arguments: [
            ("Upgrade", "h2c"), ("Keep-Alive", "5"), ("HTTP2-Settings", "x"), ("Proxy-Connection", "close"),
            ("TE", "gzip"),
            (":path", "/"), ("a b", "c"), ("Transfer-Encoding", "gzip"), ("X", "a\r\nb"),
        ])
    func refused(name: String, value: String) throws {
        #expect(throws: TransferFailure.self) { try lines([(name, value)]) }
    }

    @Test("a head that is too long is refused")
    func longHead() throws {
        let value = String(repeating: "a", count: HTTP1RequestWriter.maximumHeadByteCount)
        #expect(throws: TransferFailure.self) { try lines([("A", value)]) }
    }

    @Test("a length is told where it is known")
    func length() throws {
        let body = BodySource.data(Data("hello".utf8))
        #expect(try lines([], method: "PUT", length: 5, body: body).last == "content-length=5")
        #expect(try lines([], method: "PUT", length: nil, body: .reader { SmallReader() }).last == "accept=*/*")
        #expect(
            try lines([("Expect", "100-continue")], method: "PUT", length: 5, body: body).suffix(2)
                == ["content-length=5", "expect=100-continue"])
    }
}
