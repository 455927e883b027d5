import Foundation
import Testing

@testable import FireweedTransport

@Suite("The opening handshake (RFC 6455 §4)")
struct OpeningHandshakeTests {
    private final class Deaf: WebSocketListener {
        func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?) {}
        func webSocketDidReceive(_ message: WebSocketMessage) -> Flow { .undecided }
        func webSocketDidClose(code: UInt16, reason: Data) {}
    }

    @Test("the answer to the RFC's own key is the RFC's own answer (§1.3)")
    func accept() {
        #expect(WebSocketKey(text: "dGhlIHNhbXBsZSBub25jZQ==").accept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(WebSocketKey() != WebSocketKey())
        #expect(Data(base64Encoded: WebSocketKey().text)?.count == 16)
    }

    @Test("the request has the handshake's fields once, and the user's besides")
    func request() throws {
        let message = RequestMessage(
            url: "http://example.com:8080/a%20b?c=d",
            fields: FieldBlock([
                Field(name: "upgrade", value: "h2c"), Field(name: "Sec-WebSocket-Key", value: "mine"),
                Field(name: "X-Token", value: "1"), Field(name: "Sec-WebSocket-Protocol", value: "a, b"),
            ]))
        let request = HandshakeRequest(
            message: message, key: WebSocketKey(text: "KEY"), compression: WebSocketCompression(),
            authorization: "Basic x")
        let lines = String(decoding: try request.bytes, as: UTF8.self).components(separatedBy: "\r\n")
        #expect(
            lines == [
                "GET /a%20b?c=d HTTP/1.1", "Host: example.com:8080", "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Key: KEY", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits", "Authorization: Basic x",
                "X-Token: 1", "Sec-WebSocket-Protocol: a, b", "", "",
            ])
        #expect(request.subprotocols == ["a", "b"])
    }

    @Test(
        "the scheme's own port is not said, and brackets stay",
        arguments: [
            ("http://h:80", "h", "/"), ("https://h:443/x", "h", "/x"), ("https://h:80", "h:80", "/"),
            ("http://[::1]:9/?q", "[::1]:9", "/?q"),
        ])
    func hosts(url: String, host: String, target: String) throws {
        let request = HandshakeRequest(message: RequestMessage(url: url), key: WebSocketKey(), compression: nil)
        let lines = String(decoding: try request.bytes, as: UTF8.self).components(separatedBy: "\r\n")
        #expect(lines[0] == "GET \(target) HTTP/1.1" && lines[1] == "Host: \(host)")
    }

    @Test(
        "text that could end a line is not sent",
        arguments: [
            ("A", "b\r\nC: d"), ("A\r\nB", "c"), ("A", "\u{1}"), ("Host", "h\r\nC: d"),
            ("Sec-WebSocket-Protocol", "a\n"),
        ])
    func controls(name: String, value: String) {
        let message = RequestMessage(url: "http://h/", fields: FieldBlock([Field(name: name, value: value)]))
        #expect(throws: TransferFailure.self) {
            try HandshakeRequest(message: message, key: WebSocketKey(), compression: nil).bytes
        }
        #expect(throws: TransferFailure.self) {
            try HandshakeRequest(
                message: RequestMessage(url: "http://h/"), key: WebSocketKey(), compression: nil,
                authorization: "Digest username=\"a\r\nB: c\""
            ).bytes
        }
    }

    private static let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nA:b\r\n\r\n"

    @Test("a head is read however it is cut, and what comes behind it is kept", arguments: [1, 2, 3, 7, 1000])
    func pieces(size: Int) {
        var reader = HandshakeReader(limit: 1000)
        var rest = Array((Self.head + "frames").utf8)[...]
        var heads: [(Int, String?)] = []
        var behind: [UInt8] = []
        while !rest.isEmpty {
            if !heads.isEmpty {
                behind += rest
                break
            }
            if case .head(let head, let kept) = reader.append(rest.prefix(size)) {
                heads.append((head.status, head.value(of: "a")))
                behind += kept
            }
            rest = rest.dropFirst(size)
        }
        #expect(heads.count == 1 && heads[0] == (101, "b"))
        #expect(String(decoding: behind, as: UTF8.self) == "frames")
    }

    @Test("interim responses are told apart from 101")
    func interim() {
        var reader = HandshakeReader(limit: 1000)
        guard
            case .interim(let early, let rest) = reader.append(
                Array("HTTP/1.1 103 Early\r\nLink: x\r\n\r\n\(Self.head)".utf8))
        else {
            Issue.record("no interim response")
            return
        }
        #expect(early.status == 103)
        guard case .head(let head, _) = reader.append(rest) else {
            Issue.record("no response")
            return
        }
        #expect(head.status == 101)
    }

    @Test(
        "what is no strict head is refused",
        arguments: [
            "HTTP/2 101 x\r\n\r\n", "HTTP/1.0 101 x\r\nA: b\r\n\r\n", "SSH-2.0-x", "HTTP/1.1 1x1 x\r\n\r\n",
            "HTTP/1.1 101x\r\n\r\n", "HTTP/1.1 101 x\r\nA b\r\n\r\n", "HTTP/1.1 101 x\r\n: b\r\n\r\n",
            "HTTP/1.1 101 x\r\nA: b\r\n folded\r\n\r\n", "HTTP/1.1 101 x\r\nA : b\r\n\r\n",
            "HTTP/1.1 101 x\r\nA: b\nC: d\r\n\r\n", "HTTP/1.1 101 x\r\nA: \u{0}\r\n\r\n",
        ])
    func malformed(text: String) {
        var reader = HandshakeReader(limit: 1000)
        guard case .malformed = reader.append(Array(text.utf8)) else {
            Issue.record("taken: \(text)")
            return
        }
    }

    @Test("a head that is longer than the limit is refused before its end")
    func tooLong() {
        var reader = HandshakeReader(limit: 100)
        let text = "HTTP/1.1 101 x\r\nA: \(String(repeating: "b", count: 200))"
        guard case .tooLong = reader.append(Array(text.utf8)) else {
            Issue.record("taken")
            return
        }
    }

    private static let key = WebSocketKey(text: "dGhlIHNhbXBsZSBub25jZQ==")
    private static let right = [
        Field(name: "Upgrade", value: "WebSocket"), Field(name: "Connection", value: "keep-alive, Upgrade"),
        Field(name: "Sec-WebSocket-Accept", value: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
    ]

    private func agreement(_ fields: [Field], status: Int = 101) throws -> HandshakeAgreement {
        try HandshakeAnswer.agreement(
            head: ResponseHead(status: status, fields: fields), key: Self.key, subprotocols: ["chat", "echo"],
            compression: nil)
    }

    @Test("a right answer is taken, with the subprotocol it chose")
    func rightAnswer() throws {
        #expect(try agreement(Self.right).subprotocol == nil)
        let chosen = try agreement(Self.right + [Field(name: "Sec-WebSocket-Protocol", value: "echo")])
        #expect(chosen.subprotocol == "echo")
    }

    @Test("an answer that misses a demand of §4.1 is refused", arguments: 0..<8)
    func wrongAnswer(row: Int) {
        var fields = Self.right
        switch row {
        case 0: fields[0].value = "h2c"
        case 1: fields[1].value = "close"
        case 2: fields[2].value = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo"
        case 3: fields.append(fields[2])
        case 4: fields.append(Field(name: "Sec-WebSocket-Protocol", value: "other"))
        case 5: fields.append(Field(name: "Sec-WebSocket-Extensions", value: "permessage-deflate"))
        case 6: fields.remove(at: 2)
        default: fields.remove(at: 1)
        }
        #expect(throws: HandshakeFault.self) { try agreement(fields) }
        #expect(throws: HandshakeFault.self) { try agreement(Self.right, status: 200) }
    }
}
