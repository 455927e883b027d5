import FireweedTesting
import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("HTTP/1.1 requests")
struct HTTP1RequestWriterTests {
    private func write(
        _ message: RequestMessage, form: HTTP1RequestWriter.Form = .origin, length: Int64? = 0,
        writing: FieldWriting? = nil
    ) throws -> (head: String, written: HTTP1RequestWriter.Written) {
        var bytes: [UInt8] = []
        var writer = HTTP1RequestWriter(writing: writing, acceptedCodings: "gzip")
        let target = try RequestTarget(message.url)
        let written = try writer.write(message, to: target, form: form, contentLength: length, into: &bytes)
        return (String(decoding: bytes, as: UTF8.self), written)
    }

    private func message(_ fields: [Field], method: String = "GET", body: BodySource = .none) -> RequestMessage {
        RequestMessage(url: "http://a.example/p?q#f", method: method, fields: FieldBlock(fields), body: body)
    }

    @Test("the head has the request line, Host, the transport's fields, the message's, and the framing")
    func plain() throws {
        let get = try write(message([Field(name: "X", value: "1"), Field(name: "x", value: "")]))
        let common = "Host: a.example\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n"
        #expect(get.head == "GET /p?q HTTP/1.1\r\n\(common)X: 1\r\nx: \r\n\r\n")
        #expect(get.written.framing == .none)
        let post = try write(message([], method: "POST", body: .data(Data("abc".utf8))), length: 3)
        #expect(post.head == "POST /p?q HTTP/1.1\r\n\(common)Content-Length: 3\r\n\r\n")
        #expect(post.written.framing == .length(3))
        #expect(try write(message([], method: "PUT")).head.hasSuffix("\r\nContent-Length: 0\r\n\r\n"))
        let chunked = try write(message([], method: "POST", body: .data(Data())), length: nil)
        #expect(chunked.head.hasSuffix("Transfer-Encoding: chunked\r\n\r\n"))
        #expect(chunked.written.framing == .chunked)
        #expect(try write(message([], method: "HEAD")).written.expectation.isHead)
    }

    @Test("a proxy for clear text gets the absolute form and its credentials; an origin never does")
    func proxy() throws {
        let fields = [Field(name: "Proxy-Authorization", value: "secret"), Field(name: "Host", value: "b:81")]
        let proxied = try write(message(fields), form: .proxy(lines: Array("Proxy-X: y\r\n".utf8))).head
        #expect(proxied.hasPrefix("GET http://a.example/p?q HTTP/1.1\r\nHost: b:81\r\nProxy-X: y\r\n"))
        #expect(proxied.contains("Proxy-Authorization: secret\r\n"))
        #expect(try !write(message(fields)).head.contains("secret"))
    }

    @Test(
        "fields that the transport understands are taken into account, and sent once",
        arguments: [
            ("Content-Length", "3", Int64(3), "Content-Length: 3\r\n\r\n"),
            ("Transfer-Encoding", "Chunked", 3, "Transfer-Encoding: chunked\r\n\r\n"),
            ("Expect", "100-Continue", 3, "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"),
            ("Connection", "keep-alive, Close", 3, "Content-Length: 3\r\nConnection: close\r\n\r\n"),
            ("TE", "trailers", 3, "TE: trailers\r\nContent-Length: 3\r\nConnection: TE\r\n\r\n"),
        ])
    func ownFields(name: String, value: String, length: Int64, end: String) throws {
        let sent = message([Field(name: name, value: value)], method: "POST", body: .data(Data(count: 3)))
        let (head, written) = try write(sent, length: length)
        #expect(head.hasSuffix(end))
        #expect(head.components(separatedBy: "\(name):").count == 2)
        #expect(written.expectsContinue == (name == "Expect"))
        #expect(written.closesConnection == (name == "Connection"))
    }

    @Test(
        "fields that would contradict the content or steer the connection are refused by name",
        arguments: [
            ("Content-Length", "4"), ("Content-Length", "x"), ("Content-Length", "+3"), ("Content-Length", ""),
            ("Transfer-Encoding", "gzip"), ("Transfer-Encoding", "gzip, chunked"), ("Transfer-Encoding", "chunked "),
            ("Host", "a b"), ("Host", "a/b"), ("Host", "u@a"), ("Host", "a, b"), ("Connection", "X-Forwarded-For"),
            ("Connection", "Upgrade"), ("Upgrade", "h2c"), ("TE", "gzip"), ("Keep-Alive", "1"), ("Trailer", "X"),
            ("Proxy-Connection", "close"), ("HTTP2-Settings", "x"), ("Expect", "something"), (":path", "/"),
            ("A b", "c"), ("A:", "c"), ("", "c"), ("\u{e9}", "c"), ("A", "b\r\nC: d"), ("A", "b\nc"), ("A", "b\rc"),
            ("A", "b\0c"), ("A\r\nB", "c"), ("A", "b\u{1}c"), ("A", "\u{1B}[2J"), ("A", "b\u{7F}"), ("A", "\u{8}"),
        ])
    func refusedFields(name: String, value: String) {
        let sent = message([Field(name: name, value: value)], method: "POST", body: .data(Data(count: 3)))
        let shown = String(String.UnicodeScalarView(name.unicodeScalars.map { 0x20...0x7E ~= $0.value ? $0 : "." }))
        #expect {
            try write(sent, length: 3)
        } throws: {
            ($0 as? TransferFailure)?.urlError(failingURL: "").localizedDescription.contains("“\(shown)”") == true
        }
    }

    /// Lines of source that put text and the end of a line together, and why they make no head that is sent.
    private static let otherLines = [
        "Messages/ResponseHead.swift": 1,  // a response's, for transports that do not read from the wire
        "Messages/ResponseHead+Editing.swift": 1,  // a response's
        "HTTP2/HTTP2RequestWriter.swift": 3,  // shown to an observer
        "Connections/HTTP2Connection.swift": 2,  // shown to an observer
    ]

    @Test("a writer that has written other heads writes the same one as a new writer")
    func reused() throws {
        var generator = SystemRandomNumberGenerator()
        let shared = [
            FieldBlock([]), FieldBlock([Field(name: "X-A", value: "1")]),
            FieldBlock([Field(name: "Host", value: "other"), Field(name: "Connection", value: "close")]),
            FieldBlock([Field(name: "Content-Length", value: "0")]),
        ]
        let more = shared.flatMap { block in shared.map { FieldBlock(block, adding: $0.fields) } }
        let blocks = shared + more + more.map { FieldBlock($0, adding: [Field(name: "X-B", value: "\n")]) }
        let urls = ["http://a/", "http://a/b?c", "https://a/", "http://a:443/", "https://a:80/", "http://b/b?c"]
        var writer = HTTP1RequestWriter()
        for _ in 0..<2_000 {
            let method = try #require(["GET", "GET", "HEAD", "POST"].randomElement(using: &generator))
            let hasContent = Int.random(in: 0..<4, using: &generator) == 0
            let message = RequestMessage(
                url: try #require(urls.randomElement(using: &generator)), method: method,
                fields: try #require(blocks.randomElement(using: &generator)),
                body: hasContent ? .data(Data("x".utf8)) : .none)
            let isForProxy = Int.random(in: 0..<5, using: &generator) == 0
            let form: HTTP1RequestWriter.Form = isForProxy ? .proxy(lines: Array("Via: p\r\n".utf8)) : .origin
            let extra = Int.random(in: 0..<5, using: &generator) == 0 ? Array("X-Extra: 1\r\n".utf8) : []
            func write(_ writer: inout HTTP1RequestWriter, _ message: RequestMessage) -> String {
                var bytes: [UInt8] = Array("before".utf8)
                do {
                    let written = try writer.write(
                        message, to: RequestTarget(message.url), form: form, contentLength: hasContent ? 1 : nil,
                        extra: extra, into: &bytes)
                    return "\(String(decoding: bytes, as: UTF8.self)) \(written)"
                } catch {
                    return "\(String(decoding: bytes, as: UTF8.self)) \(error)"
                }
            }
            var new = HTTP1RequestWriter()
            var whole = message
            whole.fields = FieldBlock(message.fields.fields)
            #expect(write(&writer, message) == write(&new, whole))
        }
    }

    @Test("heads that are sent get their lines in one place (FieldLine.swift)")
    func onePlace() throws {
        let root = Repository.root.appending(path: "Sources/FireweedTransport")
        var found: [String: Int] = [:]
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }
        for path in paths {
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            let count = text.split(separator: "\n").count { line in
                guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { return false }
                // Text with an interpolation or a separator, and the end of a line.
                let makesLine = line.contains(#"\r\n"#) && (line.contains(#"\("#) || line.contains("separator:"))
                return makesLine || line.contains(#") HTTP/1.1""#)
            }
            if count > 0 { found[path] = count }
        }
        #expect(paths.count > 100 && found == Self.otherLines)
    }

    @Test("two of a field that there is one of are refused, and lengths without content")
    func contradictions() {
        for name in ["Host", "Content-Length", "Transfer-Encoding"] {
            let value = name == "Content-Length" ? "3" : "chunked"
            let field = Field(name: name, value: value)
            #expect(throws: TransferFailure.self, "\(name)") {
                try write(message([field, field], method: "POST", body: .data(Data(count: 3))), length: 3)
            }
        }
        #expect(throws: TransferFailure.self) {
            try write(message([Field(name: "Transfer-Encoding", value: "chunked")]))
        }
        #expect(throws: TransferFailure.self) { try write(message([Field(name: "Content-Length", value: "1")])) }
        let both = [Field(name: "Content-Length", value: "3"), Field(name: "Transfer-Encoding", value: "chunked")]
        #expect(throws: TransferFailure.self) { try write(message(both, body: .data(Data(count: 3))), length: 3) }
        #expect(throws: TransferFailure.self) {
            try write(message([Field(name: "Content-Length", value: "3")], body: .data(Data(count: 3))), length: nil)
        }
    }

    @Test("an expectation goes with content alone (RFC 9110 §10.1.1)")
    func expectationWithoutContent() throws {
        #expect(try !write(message([Field(name: "Expect", value: "100-continue")])).head.contains("Expect"))
    }

    @Test("a head that is too long is refused, and nothing of it is written")
    func longHead() throws {
        var bytes: [UInt8] = [1]
        var writer = HTTP1RequestWriter(acceptedCodings: "")
        let overhead =
            try write(message([Field(name: "A", value: "")])).head.utf8.count - "gzip".utf8.count
            - "Accept-Encoding: \r\n".utf8.count
        for excess in [0, 1] {
            let count = HTTP1RequestWriter.maximumHeadByteCount - overhead + excess
            let message = message([Field(name: "A", value: String(repeating: "a", count: count))])
            let target = try RequestTarget(message.url)
            if excess == 0 {
                var whole: [UInt8] = []
                _ = try writer.write(message, to: target, contentLength: 0, into: &whole)
                #expect(whole.count == HTTP1RequestWriter.maximumHeadByteCount)
            } else {
                #expect(throws: TransferFailure.self) {
                    try writer.write(message, to: target, contentLength: 0, into: &bytes)
                }
            }
        }
        #expect(bytes == [1])
    }

    @Test("methods are tokens", arguments: ["", "GE T", "GET\r\n", "G\u{e9}T", "GET:"])
    func methods(method: String) {
        #expect(throws: TransferFailure.self) { try write(message([], method: method)) }
    }

    @Test("fields that are not to be sent are left out, those of the transport too")
    func omitted() throws {
        var writing = FieldWriting()
        writing.omittedNames = ["host", "Accept", "ACCEPT-ENCODING"]
        #expect(try write(message([]), writing: writing).head == "GET /p?q HTTP/1.1\r\n\r\n")
    }

    @Test("octets that are not UTF-8 go out as they are")
    func octets() throws {
        var field = Field(name: "A", value: "\u{e9}")
        field.octets = [0xE9]
        var bytes: [UInt8] = []
        var writer = HTTP1RequestWriter(acceptedCodings: "")
        _ = try writer.write(message([field]), to: RequestTarget("http://a/"), contentLength: 0, into: &bytes)
        #expect(bytes.contains(0xE9))
    }

    @Test("what is written is read again as it was")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 3)
        let tokens = Array("!#$%&'*+-.^_`|~09AZaz")
        for _ in 0..<200 {
            let fields = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                Field(
                    name: "x" + String((0..<5).map { _ in tokens.randomElement(using: &generator) ?? "a" }),
                    value: String((0..<7).map { _ in "azAZ09\"%\u{e9}".randomElement(using: &generator) ?? "a" }))
            }
            let head = try write(message(fields), writing: nil).head
            // The same grammar, with another start line.
            let lines = head.components(separatedBy: "\r\n").dropFirst(4)
            let found = ParsedResponse("HTTP/1.1 204 No\r\n" + lines.joined(separator: "\r\n"))
            #expect(found.failure == nil)
            #expect(found.fields == fields)
        }
    }
}

@Suite("The target of a request message")
struct RequestTargetTests {
    @Test(
        "is read from a URL",
        arguments: [
            ("http://a.example", "a.example:80", "/"), ("HTTPS://A.example:8443/x?y#z", "A.example:8443", "/x?y"),
            ("http://u:p@a:81?q", "a:81", "/?q"), ("http://a.example:80/", "a.example:80", "/"),
            ("https://[2001:DB8::1]/", "[2001:db8::1]:443", "/"), ("http://[fe80::1%25eth0]:8/", "[fe80::1]:8", "/"),
            ("http://127.1/", "127.0.0.1:80", "/"), ("http://b\u{fc}cher.example/", "xn--bcher-kva.example:80", "/"),
            ("http://a.example./", "a.example.:80", "/"), ("http://a_b/", "a_b:80", "/"), ("http://a:/", "a:80", "/"),
            ("http://1.example/", "1.example:80", "/"), ("http://a@b@c/%20", "c:80", "/%20"),
        ])
    func reads(url: String, authority: String, path: String) throws {
        let target = try RequestTarget(url)
        #expect(target.authorityForm == authority)
        #expect(target.originForm == path)
    }

    @Test(
        "keeps the zone of an address for this machine alone (RFC 6874)",
        arguments: [
            ("http://[fe80::1%25eth0]:8/", "fe80::1%eth0"), ("http://[FE80::0:1%eth0]/", "fe80::1%eth0"),
            ("http://[fe80::1%2525]/", "fe80::1%25"), ("http://[fe80::1%25en%2D1]/", "fe80::1%en-1"),
            ("http://[fe80::1]/", "fe80::1"),
        ])
    func zone(url: String, host: String) throws {
        let target = try RequestTarget(url)
        #expect(target.canonicalHost == host && target.host == "[fe80::1]")
        #expect(OriginKey(target, proxy: nil).host == host)
        #expect(OriginKey(target, proxy: Proxy(host: "proxy.test", port: 1)).host == "fe80::1")
    }

    @Test("leaves a scheme's own port out of Host")
    func authority() throws {
        #expect(try RequestTarget("https://a:443/").authority == "a")
        #expect(try RequestTarget("https://a:80/").authority == "a:80")
        #expect(try RequestTarget("http://u@a:80/x#y").absoluteForm == "http://a/x")
    }

    @Test(
        "is refused where it would not be a target",
        arguments: [
            "http:///x", "http:a", "a", "ftp://a/", "http://a:65536/", "http://a:x/", "http://a:-1/", "http://a/ b",
            "http://a/\r\nb", "http://a/\u{e9}", "http://a b/", "http://[::1/", "http://[a]/", "http://[::1]x/",
            "http://a%0d/", "http://a%2fb/", "http://:80/", "http://a:8080808080/", "http://a\\b/",
            "http://[fe80::1%25]/",
            "http://[fe80::1%25a%00b]/", "http://[fe80::1%25a%2525]/",
        ])
    func refused(url: String) {
        #expect(throws: TransferFailure.self) { try RequestTarget(url) }
    }
}
