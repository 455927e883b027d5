import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Exchanges through proxies", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ProxiedExchangeTests {
    private func peer() throws -> SecurePeer { try SecurePeer(TLSStage.chain, role: .answering(TLSStage.ok)) }

    private func proxy(_ server: ScriptedServer, user: String? = nil) -> Proxy {
        Proxy(host: "localhost", port: server.url().port ?? 0, user: user, password: user.map { _ in "secret" })
    }

    @Test("a message in clear text is told to an HTTP proxy in the absolute form, with its credentials")
    func absoluteForm() async throws {
        let exchange: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small)]
        let server = try ScriptedServer.start(exchange + exchange + [.hold])
        try await TLSStage.play({ $0.proxy = proxy(server, user: "user") }) { stage in
            for index in 0..<2 {
                let transfer = try await stage.end(try #require(URL(string: "http://origin.test:81/path?a=b#c")))
                #expect(transfer.code == nil && transfer.record.content == Data("hello".utf8))
                #expect(transfer.record.end?.report.isReusedConnection == (index > 0))
            }
            let heads = server.events.events.compactMap { if case .head(_, let head) = $0 { head } else { nil } }
            #expect(heads.count == 2)
            for head in heads {
                #expect(head.hasPrefix("GET http://origin.test:81/path?a=b HTTP/1.1\r\nHost: origin.test:81\r\n"))
                #expect(head.contains("\r\nProxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"))
            }
        }
    }

    @Test("a proxy that always tunnels does so for clear text, whose origin sees no credentials of the proxy")
    func alwaysTunnels() async throws {
        let exchange: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small)]
        let tunnel: [ScriptedServer.Action] = [.receiveHead, .send("HTTP/1.1 200 OK\r\n\r\n")]
        let server = try ScriptedServer.start(tunnel + exchange + exchange + [.hold])
        try await TLSStage.play({
            $0.proxy = proxy(server, user: "user")
            $0.proxy?.alwaysTunnels = true
        }) { stage in
            for index in 0..<2 {
                let transfer = try await stage.end(try #require(URL(string: "http://origin.test:81/path")))
                #expect(transfer.code == nil && transfer.record.content == Data("hello".utf8))
                #expect(transfer.record.end?.report.isReusedConnection == (index > 0))
            }
            let heads = server.events.events.compactMap { if case .head(_, let head) = $0 { head } else { nil } }
            #expect(heads.first?.hasPrefix("CONNECT origin.test:81 HTTP/1.1\r\nHost: origin.test:81\r\n") == true)
            #expect(heads.first?.contains("\r\nProxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n") == true)
            #expect(heads.count == 3)
            for head in heads.dropFirst() {
                #expect(head.hasPrefix("GET /path HTTP/1.1\r\nHost: origin.test:81\r\n"))
                #expect(!head.contains("Proxy-"))
            }
        }
    }

    @Test("a host that is bypassed is reached directly")
    func bypass() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        let nowhere = Proxy(host: "localhost", port: 1).bypassing(["127.0.0.1"])
        try await TLSStage.play({ $0.proxy = nowhere }) { stage in
            let url = try #require(URL(string: "http://127.0.0.1:\(server.url().port ?? 0)/"))
            #expect(try await stage.end(url).code == nil)
            let transfer = try await stage.end(try #require(URL(string: "http://other.test/")))
            #expect(transfer.code == .cannotConnectToHost)
            #expect(transfer.failureText.contains("cannot connect to the proxy localhost port 1"))
        }
        let unknown = Proxy(host: "proxy.invalid", port: 80)
        try await EngineStage.play(
            parts: EngineParts(
                resolver: NameResolver(lookUp: { _ in .failed(LookupFailure(isExhaustion: false, text: "unknown")) })),
            { $0.proxy = unknown }
        ) { stage in
            let transfer = try await stage.end(try #require(URL(string: "http://other.test/")))
            #expect(transfer.code == .cannotConnectToHost && transfer.failureText.contains("proxy.invalid"))
        }
    }

    @Test("an https origin is reached through CONNECT, with HTTP and HTTPS proxies", arguments: ["http", "https"])
    func tunnel(scheme: String) async throws {
        let peer = try peer()
        let plain = try HTTPProxyServer()
        let secure = try SecurePeer(TLSStage.chain, role: .proxy)
        let port = scheme == "http" ? plain.port : secure.port
        try await TLSStage.play({ $0.proxy = Proxy("\(scheme)://localhost:\(port)") }) { stage in
            for _ in 0..<3 {
                let transfer = try await stage.end(peer.url())
                #expect(transfer.code == nil, "\(transfer.failureText)")
                #expect(transfer.record.content == Data("hello".utf8))
                #expect(transfer.record.end?.report.tls != nil)
            }
            try await peer.waits(for: 3, of: "connected")
        }
    }

    /// What a proxy answers to CONNECT, the failure's code, and words of its sentence.
    private static let refusals: [(answer: String, code: URLError.Code, words: String)] = [
        (
            "HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nnot today", .cannotConnectToHost,
            "CONNECT tunnel failed, response 403 Forbidden; the proxy says: not today"
        ),
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\n"
                + "Content-Length: 0\r\n\r\n", .userAuthenticationRequired, "response 407"
        ),
        ("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", .cannotConnectToHost, "response 502"),
    ]

    @Test("a refusal of CONNECT is the failure", arguments: refusals)
    func refused(row: (answer: String, code: URLError.Code, words: String)) async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(row.answer), .hold])
        try await TLSStage.play({ $0.proxy = proxy(server) }) { stage in
            let transfer = try await stage.end(try #require(URL(string: "https://origin.test/")))
            #expect(transfer.code == row.code && transfer.failureText.contains(row.words), "\(transfer.failureText)")
            try await server.events.next(.closedByPeer(0))
        }
    }

    @Test("a proxy that closes instead of an answer is the failure")
    func closed() async throws {
        let server = try ScriptedServer.start([.receiveHead, .close])
        try await TLSStage.play({ $0.proxy = proxy(server) }) { stage in
            let transfer = try await stage.end(try #require(URL(string: "https://origin.test/")))
            #expect(transfer.code == .cannotConnectToHost)
        }
    }

    @Test("a proxy that closes after its challenge is connected to again")
    func challenged() async throws {
        let challenge =
            "HTTP/1.1 407 Proxy Authentication Required\r\n"
            + "Proxy-Authenticate: Digest realm=\"p\", nonce=\"n\", qop=\"auth\"\r\nConnection: close\r\n"
            + "Content-Length: 0\r\n\r\n"
        let server = try ScriptedServer.start(
            [.receiveHead, .send(challenge), .close],
            [.receiveHead, .send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), .hold])
        let port = server.url().port ?? 0
        let proxy = Proxy(host: "localhost", port: port, user: "user", password: "secret", authentication: .digest)
        try await TLSStage.play({ $0.proxy = proxy }) { stage in
            let transfer = try await stage.end(try #require(URL(string: "https://origin.test/")))
            #expect(transfer.code == .cannotConnectToHost, "\(transfer.failureText)")
            let heads = server.events.events.compactMap { if case .head(_, let head) = $0 { head } else { nil } }
            #expect(heads.count == 2 && heads.last?.contains("Proxy-Authorization: Digest ") == true)
        }
    }

    /// Notes what it is shown.
    private final class Observer: WireObserver {
        let lines = EventLog<String>()

        func didSend(head: [UInt8]) { lines.note("> " + String(decoding: head, as: UTF8.self)) }
        func didReceive(headLines: [UInt8]) { lines.note("< " + String(decoding: headLines, as: UTF8.self)) }
        func didNote(_ text: String) {}
    }

    @Test("an observer is shown CONNECT and its answers, byte for byte")
    func observed() async throws {
        let answers = [
            "HTTP/1.1 407 Who  are you\r\nproxy-AUTHENTICATE: Digest realm=\"p\", nonce=\"n\", qop=\"auth\"\r\n"
                + "Content-Length: 0\r\n\r\n",
            "HTTP/1.1 103 Wait\r\nA: b\r\n\r\n", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        ]
        let server = try ScriptedServer.start([
            .receiveHead, .send(answers[0]), .receiveHead, .send(answers[1]), .send(answers[2]), .hold,
        ])
        let observer = Observer()
        let proxy = Proxy(
            host: "localhost", port: Int(server.port), user: "user", password: "secret", authentication: .digest)
        try await TLSStage.play({
            $0.proxy = proxy
            $0.wireObserver = observer
        }) { stage in
            _ = try await stage.end(try #require(URL(string: "https://origin.test/")))
            let heads = server.events.events.compactMap { if case .head(_, let head) = $0 { head } else { nil } }
            let expected = ["> " + heads[0], "< " + answers[0], "> " + heads[1], "< " + answers[1], "< " + answers[2]]
            #expect(observer.lines.events == expected)
        }
    }

    @Test("a message's own credentials for a proxy go with CONNECT, and no other message uses their tunnel")
    func ownCredentials() async throws {
        let peer = try SecurePeer(TLSStage.chain, role: .answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        let proxy = try HTTPProxyServer(user: "user", password: "secret")
        try await TLSStage.play({ $0.proxy = Proxy(host: "localhost", port: Int(proxy.port)) }) { stage in
            let own = [Field(name: "Proxy-Authorization", value: "Basic dXNlcjpzZWNyZXQ=")]
            let known = try await stage.end(peer.url()) { $0.fields = FieldBlock(own) }
            #expect(known.code == nil, "\(known.failureText)")
            let other = try await stage.end(peer.url())
            #expect(other.code == .userAuthenticationRequired, "\(other.failureText)")
        }
    }

    @Test(
        "SOCKS proxies are told a name or an address",
        arguments: [
            ("socks4://me@", "4 me 127.0.0.1"), ("socks4a://me@", "4a me localhost"), ("socks5://", "5 127.0.0.1"),
            ("socks5h://", "5 localhost"),
        ])
    func socks(row: (scheme: String, request: String)) async throws {
        let proxy = try SOCKSProxyServer()
        let peer = try peer()
        let plain = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        try await TLSStage.play({ $0.proxy = Proxy("\(row.scheme)localhost:\(proxy.port)") }) { stage in
            let secure = try await stage.end(peer.url())
            #expect(secure.code == nil, "\(secure.failureText)")
            let url = try #require(URL(string: "http://localhost:\(plain.url().port ?? 0)/"))
            let clear = try await stage.end(url)
            #expect(clear.code == nil && clear.record.content == Data("hello".utf8), "\(clear.failureText)")
            #expect(proxy.requests == [row.request, row.request])
        }
    }

    @Test("the address guard judges what a SOCKS proxy is told, and refuses names that it cannot judge")
    func guarded() async throws {
        let proxy = try SOCKSProxyServer()
        let refused = try #require(IPNetwork("::1/128"))
        let cases = [("socks5", URLError.Code.resourceUnavailable, "::1"), ("socks5h", .cannotConnectToHost, "guard")]
        for (scheme, code, words) in cases {
            try await TLSStage.play({
                $0.proxy = Proxy("\(scheme)://127.0.0.1:\(proxy.port)")
                $0.addressOverrides = ["origin.test": ["::1"]]
                $0.addressGuard = AddressGuard(refusing: [refused])
            }) { stage in
                let transfer = try await stage.end(try #require(URL(string: "http://origin.test/")))
                #expect(transfer.code == code && transfer.failureText.contains(words), "\(transfer.failureText)")
            }
        }
        #expect(proxy.requests.isEmpty)
    }
}
