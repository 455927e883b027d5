import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

/// Messages in clear text go to an HTTP proxy in absolute form, and so do the answers to its challenges (RFC 9110
/// §11.7).
@Suite("Challenges of proxies without a tunnel", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ProxyChallengeTests {
    private static let digest = "Proxy-Authenticate: Digest realm=\"p\", nonce=\"n\", qop=\"auth\"\r\n"
    private static let ntlm = "Proxy-Authenticate: NTLM\r\n"
    /// The second message of NTLM: signature, number, target, flags, challenge (MS-NLMP §2.2.1.2).
    private static let ntlmToken = Data(
        Array("NTLMSSP\0".utf8) + [2, 0, 0, 0] + [UInt8](repeating: 0, count: 8) + [5, 0x82, 8, 0] + Array(1...8)
    ).base64EncodedString()

    private static func challenge(_ field: String, _ rest: String = "Content-Length: 2\r\n\r\nno") -> String {
        "HTTP/1.1 407 Proxy Authentication Required\r\n\(field)\(rest)"
    }

    private func heads(_ server: ScriptedServer) -> [(connection: Int, head: String)] {
        server.events.events.compactMap { if case .head(let number, let head) = $0 { (number, head) } else { nil } }
    }

    private func answer(_ head: String) -> String? {
        head.split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization: ") }.map { String($0.dropFirst(21)) }
    }

    private func play(
        _ server: ScriptedServer, _ schemes: AuthenticationSchemes, limit: Int = 6,
        _ body: (EngineStage, URL) async throws -> Void
    ) async throws {
        let proxy = Proxy(
            host: "127.0.0.1", port: Int(server.port), user: "user", password: "secret", authentication: schemes)
        try await TLSStage.play(limit: limit, { $0.proxy = proxy }) { stage in
            try await body(stage, try #require(URL(string: "http://origin.test:81/a?b#c")))
        }
    }

    /// The rest of a challenge's head with its content.
    private static let contents = [
        "Content-Length: 0\r\n\r\n", "Content-Length: 2\r\n\r\nno",
        "Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\nA: b\r\n\r\n",
    ]

    @Test("Digest is answered on the connection of the challenge, for the absolute form", arguments: contents)
    func digest(content: String) async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .receive(byteCount: 4), .send(Self.challenge(Self.digest, content)), .receiveHead,
            .receive(byteCount: 4), .send(Answer.small), .hold,
        ])
        try await play(server, .password) { stage, url in
            let transfer = try await stage.end(url) {
                $0.method = "POST"
                $0.body = .data(Data("body".utf8))
            }
            #expect(transfer.code == nil, "\(transfer.failureText)")
            #expect(transfer.record.head?.status == 200 && transfer.record.content == Data("hello".utf8))
            let heads = heads(server)
            #expect(heads.map(\.connection) == [0, 0] && answer(heads[0].head) == nil)
            let field = try #require(answer(heads[1].head))
            #expect(field.hasPrefix("Digest username=\"user\"") && field.contains("uri=\"http://origin.test:81/a?b\""))
            let report = try #require(transfer.record.end?.report)
            #expect(report.requestBodyByteCount == 4 && report.responseBodyByteCount == 5)
            #expect(report.requestHeaderByteCount == heads.reduce(0) { $0 + Int64($1.head.utf8.count) })
            #expect(report.requestStart <= report.responseStart)
        }
    }

    @Test("a nonce that the proxy has accepted goes out with the next message, until the proxy calls it stale")
    func nonceReuse() async throws {
        let stale = "Proxy-Authenticate: Digest realm=\"p\", nonce=\"m\", qop=\"auth\", stale=true\r\n"
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.challenge(Self.digest)), .receiveHead, .send(Answer.small),
            .receiveHead, .receive(byteCount: 5), .send(Answer.small),
            .receiveHead, .send(Self.challenge(stale)), .receiveHead, .send(Answer.small), .hold,
        ])
        try await play(server, .password) { stage, url in
            for isOneShot in [false, true, false] {
                let transfer = try await stage.end(url) { message in
                    guard isOneShot else { return }
                    message.method = "POST"
                    message.body = .once(CountingReader(byteCount: 5, announces: true))
                }
                #expect(transfer.code == nil && transfer.record.head?.status == 200, "\(transfer.failureText)")
            }
            let answers = heads(server).map { answer($0.head).flatMap { HTTPChallenge.all(in: $0).first?.parameters } }
            #expect(answers.map { $0?["nonce"] } == [nil, "n", "n", "n", "m"])
            #expect(answers.map { $0?["nc"] } == [nil, "00000001", "00000002", "00000003", "00000001"])
        }
    }

    @Test("so it does with the next CONNECT")
    func nonceReuseByTunnels() async throws {
        let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.challenge(Self.digest)), .receiveHead, .send(busy), .hold],
            [.receiveHead, .send(busy), .hold])
        try await play(server, .digest) { stage, _ in
            for _ in 0..<2 {
                let transfer = try await stage.end(try #require(URL(string: "https://origin.test/")))
                #expect(transfer.code == .cannotConnectToHost)
            }
            let answers = heads(server).map { answer($0.head).flatMap { HTTPChallenge.all(in: $0).first?.parameters } }
            #expect(answers.map { $0?["nc"] } == [nil, "00000001", "00000002"])
        }
    }

    @Test("a proxy that closes after its challenge is answered on another connection")
    func closed() async throws {
        let closings = [
            "Connection: close\r\nContent-Length: 2\r\n\r\nno", "Proxy-Connection: close\r\nContent-Length: 0\r\n\r\n",
            "\r\nuntil the end",
        ]
        for closing in closings {
            let server = try ScriptedServer.start(
                [.receiveHead, .send(Self.challenge(Self.digest, closing)), .close],
                [.receiveHead, .send(Answer.small), .hold])
            try await play(server, .digest) { stage, url in
                let transfer = try await stage.end(url)
                #expect(transfer.code == nil && transfer.record.head?.status == 200, "\(transfer.failureText)")
                #expect(heads(server).map(\.connection) == [0, 1])
                #expect(answer(heads(server)[1].head)?.hasPrefix("Digest ") == true)
                let earlier = transfer.record.end?.earlierReports ?? []
                let head = Self.challenge(Self.digest, closing).firstRange(of: "\r\n\r\n")?.upperBound
                let headByteCount = head.map { Self.challenge(Self.digest, closing)[..<$0].utf8.count } ?? 0
                #expect(earlier.map(\.responseHeaderByteCount) == [Int64(headByteCount)])
            }
        }
    }

    @Test("an upload that the proxy stops with its challenge is sent whole on another connection")
    func upload() async throws {
        // More than the buffers of both sockets take.
        let content = Data(repeating: 7, count: 32 << 20)
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.challenge(Self.digest)), .hold],
            [.receiveHead, .receive(byteCount: content.count), .send(Answer.small), .hold])
        try await play(server, .digest) { stage, url in
            let transfer = try await stage.end(url) {
                $0.method = "PUT"
                $0.body = .data(content)
            }
            #expect(transfer.code == nil && transfer.record.head?.status == 200, "\(transfer.failureText)")
            #expect(transfer.record.end?.report.requestBodyByteCount == Int64(content.count))
        }
    }

    @Test("NTLM is answered on its connection, whose later messages need no credentials")
    func ntlm() async throws {
        let second = Self.challenge("Proxy-Authenticate: NTLM \(Self.ntlmToken)\r\n")
        let server = try ScriptedServer.start([
            .receiveHead, .send(second), .receiveHead, .send(Answer.small), .receiveHead, .send(Answer.small), .hold,
        ])
        try await play(server, .ntlm) { stage, url in
            for _ in 0..<2 {
                let transfer = try await stage.end(url)
                #expect(transfer.code == nil && transfer.record.head?.status == 200, "\(transfer.failureText)")
            }
            let fields = heads(server).map { answer($0.head) }
            #expect(heads(server).map(\.connection) == [0, 0, 0] && fields.count == 3)
            #expect(fields[0]?.hasPrefix("NTLM TlRMTVNTUAABAAAA") == true)
            #expect(fields[1]?.hasPrefix("NTLM TlRMTVNTUAADAAAA") == true)
            #expect(fields[2] == nil)
        }
    }

    @Test("where several schemes are allowed, NTLM begins after the challenge")
    func ntlmAmongOthers() async throws {
        let second = Self.challenge("Proxy-Authenticate: NTLM \(Self.ntlmToken)\r\n")
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.challenge(Self.ntlm)), .receiveHead, .send(second), .receiveHead,
            .send(Answer.small), .hold,
        ])
        try await play(server, .password) { stage, url in
            let transfer = try await stage.end(url)
            #expect(transfer.code == nil && transfer.record.head?.status == 200, "\(transfer.failureText)")
            #expect(
                heads(server).map { answer($0.head)?.prefix(20) } == [
                    nil, "NTLM TlRMTVNTUAABAAA", "NTLM TlRMTVNTUAADAAA",
                ])
        }
    }

    @Test("a proxy that forgets whom a connection belongs to is told again")
    func forgotten() async throws {
        let second = Self.challenge("Proxy-Authenticate: NTLM \(Self.ntlmToken)\r\n")
        let server = try ScriptedServer.start([
            .receiveHead, .send(second), .receiveHead, .send(Answer.small),
            .receiveHead, .send(Self.challenge(Self.ntlm)), .receiveHead, .send(second), .receiveHead,
            .send(Answer.small), .hold,
        ])
        try await play(server, .ntlm) { stage, url in
            for _ in 0..<2 {
                let transfer = try await stage.end(url)
                #expect(transfer.code == nil && transfer.record.head?.status == 200, "\(transfer.failureText)")
            }
            #expect(heads(server).map { answer($0.head) != nil } == [true, true, false, true, true])
        }
    }

    /// What is allowed, and what the proxy answers, again and again.
    private static let refusals: [(schemes: AuthenticationSchemes, challenge: String, count: Int)] = [
        (.basic, challenge("Proxy-Authenticate: Basic realm=x\r\n"), 1),
        (.password, challenge("Proxy-Authenticate: Basic realm=x\r\n"), 2), (.password, challenge(digest), 2),
        (.digest, challenge(ntlm), 1), (.ntlm, challenge(ntlm), 1),
        // NTLM needs the connection.
        (
            .ntlm,
            challenge(
                "Proxy-Authenticate: NTLM \(ntlmToken)\r\n", "Connection: close\r\nContent-Length: 2\r\n\r\nno"), 1
        ),
    ]

    @Test("a proxy that does not accept the answer, or cannot be answered, ends in its 407", arguments: refusals)
    func refused(row: (schemes: AuthenticationSchemes, challenge: String, count: Int)) async throws {
        let rounds: [ScriptedServer.Action] = (0..<4).flatMap { _ in [.receiveHead, .send(row.challenge)] }
        let server = try ScriptedServer.start(rounds + [.hold])
        try await play(server, row.schemes) { stage, url in
            let transfer = try await stage.end(url)
            #expect(transfer.code == nil && transfer.record.head?.status == 407)
            #expect(transfer.record.content == Data("no".utf8))
            #expect(heads(server).count == row.count)
        }
    }

    @Test("a challenge whose content does not end is not read for ever")
    func endless() async throws {
        let head = Self.challenge(Self.digest, "Content-Length: 1000000000\r\n\r\n")
        let server = try ScriptedServer.start(
            [.receiveHead, .send(head), .sendRepeatedly(String(repeating: "x", count: 10_000), count: 10_000)],
            [.receiveHead, .send(Answer.small), .hold])
        try await play(server, .digest) { stage, url in
            let transfer = try await stage.end(url)
            #expect(transfer.code == nil && transfer.record.head?.status == 200, "\(transfer.failureText)")
        }
    }
}
