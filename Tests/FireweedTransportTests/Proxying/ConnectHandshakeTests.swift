import Foundation
import Testing

@testable import FireweedTransport

@Suite("CONNECT")
struct ConnectHandshakeTests {
    private enum Outcome: Equatable {
        case open, established, failed
        case refused(Int, String)
    }

    private struct Course: Equatable {
        var sent: [String] = []
        var reconnects = 0
        var outcome = Outcome.open
        var rest = ""
        var code: URLError.Code?
    }

    private func course(
        _ pieces: [ArraySlice<UInt8>], schemes: AuthenticationSchemes? = nil, closes: Bool = false
    ) throws -> Course {
        let credentials = schemes.map { RequestMessage.Credentials(user: "u", password: "p", schemes: $0) }
        var handshake = ConnectHandshake(to: try RequestTarget("https://a.example/x"), credentials: credentials)
        var course = Course(sent: [String(decoding: try handshake.begin(), as: UTF8.self)])
        func take(_ event: ConnectHandshake.Event, _ bytes: UnsafeRawBufferPointer) throws -> Bool {
            switch event {
            case .needsMore: return false
            case .send(let bytes): course.sent.append(String(decoding: bytes, as: UTF8.self))
            case .reconnect:
                course.reconnects += 1
                course.sent.append(String(decoding: try handshake.begin(), as: UTF8.self))
            case .established:
                course.outcome = .established
                course.rest += String(decoding: bytes, as: UTF8.self)
                return false
            case .refused(let refusal):
                course.outcome = .refused(refusal.head.status, String(decoding: refusal.content, as: UTF8.self))
                course.code = refusal.failure.urlError(failingURL: "").code
                return false
            }
            return true
        }
        do {
            for piece in pieces where course.outcome == .open || course.outcome == .established {
                try Array(piece).withUnsafeBytes { buffer in
                    var bytes = buffer
                    while try take(try handshake.next(&bytes), bytes) {}
                }
            }
            if closes, course.outcome == .open {
                _ = try take(try handshake.finish(), UnsafeRawBufferPointer(start: nil, count: 0))
            }
        } catch {
            course.outcome = .failed
            course.code = (error as? TransferFailure)?.urlError(failingURL: "").code
        }
        return course
    }

    private func course(_ text: String, schemes: AuthenticationSchemes? = nil, closes: Bool = false) throws -> Course {
        let bytes = Array(text.utf8)
        let whole = try course([bytes[...]], schemes: schemes, closes: closes)
        // Digest has random text of ours.
        guard !whole.sent.contains(where: { $0.contains("Digest") }) else { return whole }
        for cut in bytes.indices {
            #expect(try course([bytes[..<cut], bytes[cut...]], schemes: schemes, closes: closes) == whole)
        }
        return whole
    }

    @Test(
        "a user with a line break or another control character is not sent", arguments: ["u\r\nX: y", "u\u{1}", "u\n"])
    func controls(user: String) throws {
        let credentials = RequestMessage.Credentials(user: user, password: "p", schemes: .digest)
        var handshake = ConnectHandshake(to: try RequestTarget("https://a.example/x"), credentials: credentials)
        _ = try handshake.begin()
        let challenge = Array(
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\nContent-Length: 0\r\n\r\n"
                .utf8)
        #expect {
            try challenge.withUnsafeBytes { buffer in
                var bytes = buffer
                _ = try handshake.next(&bytes)
            }
        } throws: {
            let failure = ($0 as? TransferFailure)?.urlError(failingURL: "")
            return failure?.code == .badURL && failure?.localizedDescription.contains("Proxy-Authorization") == true
        }
    }

    private static let plain =
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Connection: Keep-Alive\r\n\r\n"

    @Test("a 2xx is a tunnel: its framing is ignored, and bytes behind its head are the tunnel's")
    func established() throws {
        let answer = "HTTP/1.0 100 Wait\r\n\r\nHTTP/1.0 299 Yes\r\nContent-Length: 3\r\nTransfer-Encoding: x\r\n\r\nTLS"
        #expect(try course(answer) == Course(sent: [Self.plain], outcome: .established, rest: "TLS"))
    }

    @Test("a refusal keeps status and content")
    func refused() throws {
        let found = try course("HTTP/1.1 503 Not\u{1B} now\r\nContent-Length: 4\r\n\r\nbusy")
        #expect(found.outcome == .refused(503, "busy"))
        #expect(found.code == .cannotConnectToHost)
        let open = try course("HTTP/1.1 403 No\r\n\r\nbecause", closes: true)
        #expect(open.outcome == .refused(403, "because"))
        let long = "HTTP/1.1 403 No\r\n\r\n" + String(repeating: "a", count: 20_000)
        guard case .refused(403, let content) = try course([Array(long.utf8)[...]]).outcome else {
            Issue.record("not refused")
            return
        }
        #expect(content.utf8.count == 16 * 1024)
        let head = ResponseHead(status: 503, fields: [])
        let refusal = TunnelRefusal(head: head, content: Array("a\u{1B}[0m\nb".utf8), complaint: nil)
        let detail = refusal.failure.urlError(failingURL: "").localizedDescription
        #expect(detail == "CONNECT tunnel failed, response 503; the proxy says: a [0m b")
        let page = ResponseHead(status: 503, fields: [Field(name: "Content-Type", value: "text/HTML; charset=utf-8")])
        let failure = TunnelRefusal(head: page, content: Array("<html>".utf8), complaint: nil).failure
        #expect(failure.urlError(failingURL: "").localizedDescription == "CONNECT tunnel failed, response 503")
    }

    @Test(
        "a refusal that repeats our credentials is shown without its content", arguments: ["dTpw4oKsdw==", "p€w", "no"])
    func echo(word: String) throws {
        var handshake = ConnectHandshake(
            to: try RequestTarget("https://a.example/x"),
            credentials: RequestMessage.Credentials(user: "u", password: "p€w", schemes: .basic))
        _ = try handshake.begin()
        let page = "<pre>\(word)</pre>"
        let answer = Array("HTTP/1.1 407 Who\r\nContent-Length: \(page.utf8.count)\r\n\r\n\(page)".utf8)
        let event = try answer.withUnsafeBytes { bytes in
            var rest = bytes
            return try handshake.next(&rest)
        }
        guard case .refused(let refusal) = event else {
            Issue.record("\(event)")
            return
        }
        #expect(refusal.content.isEmpty == (word != "no"))
    }

    @Test("Basic alone goes out at once, and is not sent twice")
    func basic() throws {
        let found = try course(
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno", schemes: .basic)
        #expect(found.sent.count == 1 && found.sent[0].contains("Proxy-Authorization: Basic dTpw\r\n"))
        #expect(found.outcome == .refused(407, "no"))
        #expect(found.code == .userAuthenticationRequired)
    }

    @Test("a challenge is answered on the same connection, or on another one where the proxy closes it")
    func challenges() throws {
        let challenge = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 2\r\n"
        let yes = "HTTP/1.1 200 Yes\r\n\r\n"
        let same = try course("\(challenge)\r\nno\(yes)", schemes: .password)
        #expect(same.outcome == .established && same.reconnects == 0 && same.sent.count == 2)
        #expect(same.sent[0] == Self.plain && same.sent[1].contains("Proxy-Authorization: Basic dTpw"))
        for close in ["Connection: close", "Proxy-Connection: close"] {
            let other = try course("\(challenge)\(close)\r\n\r\nno\(yes)", schemes: .password)
            #expect(other.outcome == .established && other.reconnects == 1 && other.sent == same.sent)
        }
        let unframed = try course(
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=x\r\n\r\n\(yes)", schemes: .password)
        #expect(unframed.reconnects == 1)
        let digest = try course(
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm=\"x\", nonce=\"n\", qop=\"auth\"\r\nContent-Length: 0\r\n\r\n"
                + yes, schemes: [.basic, .digest])
        #expect(digest.outcome == .established)
        #expect(digest.sent[1].contains("uri=\"a.example:443\""))
    }

    @Test("a proxy that asks for ever is refused after a few rounds")
    func rounds() throws {
        let round = (0..<20).map {
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm=\"x\", nonce=\"\($0)\", stale=true\r\nContent-Length: 0\r\n\r\n"
        }
        let found = try course(round.joined(), schemes: .digest)
        #expect(found.outcome == .refused(407, ""))
        #expect(found.sent.count <= 8)
    }

    @Test("what is no answer is an error", arguments: ["HTTP/1.1 200 Yes\r\nA", "", "SSH-2.0"])
    func cut(text: String) throws {
        let found = try course(text, closes: true)
        #expect(found.outcome == .failed)
        #expect(found.code == (text == "SSH-2.0" ? .badServerResponse : .cannotConnectToHost))
    }

    @Test("a nonce that the proxy has accepted is used for the next tunnel, until the proxy refuses it")
    func nonceReuse() throws {
        let sessions = DigestSessions()
        let challenge = """
            HTTP/1.1 407 No\r
            Proxy-Authenticate: Digest realm="p", nonce="NONCE", qop="auth"\r

            """
        func handshake(_ answers: [String]) throws -> [String] {
            var handshake = ConnectHandshake(
                to: try RequestTarget("https://a.example/x"),
                credentials: .init(user: "u", password: "p", schemes: .password))
            handshake.reuseDigest(of: sessions, for: "proxy")
            var sent = [String(decoding: try handshake.begin(), as: UTF8.self)]
            for answer in answers {
                try Array("\(answer)Content-Length: 0\r\n\r\n".utf8).withUnsafeBytes { buffer in
                    var bytes = buffer
                    if case .send(let bytes) = try handshake.next(&bytes) {
                        sent.append(String(decoding: bytes, as: UTF8.self))
                    }
                }
            }
            return sent.map { head in
                let parameters = HTTPChallenge.all(
                    in: String(head.split(separator: "Proxy-Authorization: ").last ?? "")
                )
                .first?.parameters
                return "\(parameters?["nonce"] ?? "none") \(parameters?["nc"] ?? "")"
            }
        }
        let tunnel = "HTTP/1.1 200 Yes\r\n"
        let (old, new) = (challenge.replacing("NONCE", with: "old"), challenge.replacing("NONCE", with: "new"))
        #expect(try handshake([old, tunnel]) == ["none ", "old 00000001"])
        #expect(try handshake([tunnel]) == ["old 00000002"])
        #expect(try handshake([new, tunnel]) == ["old 00000003", "new 00000001"])
        #expect(try handshake(["HTTP/1.1 503 Busy\r\n"]) == ["new 00000002"])
        #expect(try handshake([new, new]) == ["new 00000003", "new 00000001"])
        // Refused credentials leave nothing behind.
        #expect(try handshake([]) == ["none "])
    }
}
