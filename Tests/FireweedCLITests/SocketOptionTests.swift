import FixtureServer
import Foundation
import Testing

@Suite("The options and the environment of fireweed ws", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SocketOptionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String..., environment: [String: String] = [:]) throws -> CommandResult {
        try Command.run(["ws"] + arguments, in: folder.url, input: "", environment: environment)
    }

    @Test("credentials answer Basic and Digest; wrong ones end it with the status")
    func credentials() throws {
        let server = try WebSocketServer.shared
        for path in ["/basic", "/digest?algorithm=SHA-256&qop=auth"] {
            let url = server.url(path).absoluteString
            let type = path == "/basic" ? "basic" : "digest"
            let right = try run(url, "--auth", "user:secret", "--auth-type", type)
            let fields = right.object as? [String: String]
            #expect(
                right.code == 0 && fields?["authorization"]?.lowercased().hasPrefix(type) == true, "\(right.errors)")
            let wrong = try run(url, "--auth", "user:wrong", "--auth-type", type)
            #expect(wrong.code == 6 && wrong.errors.contains("401"), "\(wrong.errors)")
        }
    }

    @Test("ws and wss take their proxy from the environment, with its credentials, and no_proxy excepts hosts")
    func environment() throws {
        let authority = try CertificateAuthority()
        let plain = try WebSocketServer.shared
        let secure = try WebSocketServer(certificate: authority.issue())
        let proxy = try HTTPProxyServer(user: "user", password: "secret")
        let address = "http://user:secret@127.0.0.1:\(proxy.port)"
        let clear = plain.url("/headers").absoluteString
        let covered = secure.url("/headers").absoluteString
        for (url, name) in [(clear, "http_proxy"), (covered, "https_proxy"), (clear, "all_proxy")] {
            let before = proxy.requests.count
            let result = try run(url, "--cacert", authority.certificate.path, environment: [name: address])
            #expect(result.code == 0 && result.object?["upgrade"] as? String == "websocket", "\(result.errors)")
            #expect(proxy.requests.count == before + 1, "\(name)")
        }
        let count = proxy.requests.count
        let direct = try run(clear, environment: ["http_proxy": address, "no_proxy": "127.0.0.1"])
        #expect(direct.code == 0 && proxy.requests.count == count)
        let other = try run(clear, environment: ["https_proxy": address])
        #expect(other.code == 0 && proxy.requests.count == count)
        let wrong = try run(clear, environment: ["http_proxy": "http://user:wrong@127.0.0.1:\(proxy.port)"])
        #expect(wrong.code != 0 && wrong.output.isEmpty)
        let socks = try SOCKSProxyServer()
        let led = try run(clear, environment: ["all_proxy": "socks5h://127.0.0.1:\(socks.port)"])
        #expect(led.code == 0 && socks.connectionCount == 1)
    }

    @Test("a subprotocol is offered, and pings go out by themselves")
    func options() throws {
        let pings = EventLog<Int>()
        let answer = WebSocketPeer.Answer(fields: ["Sec-WebSocket-Protocol": "chat"])
        let peer = try WebSocketPeer(answer: answer) { connection in
            for number in 0..<2 {
                let ping = try connection.receive()
                guard ping.opcode == 9 else { return }
                pings.note(number)
                try connection.send(.init(10, ping.payload))
            }
            try connection.send(.init(8, [0x03, 0xE8]))
            connection.waitForEnd()
        }
        let result = try run(
            peer.url.absoluteString, "--subprotocol", "chat,talk", "--ping", "1", "--wait", "60")
        #expect(result.code == 0 && pings.events == [0, 1], "\(result.errors)")
        let head = try #require(peer.handshakes.events.first)
        #expect(head.lowercased().split(whereSeparator: \.isNewline).contains("sec-websocket-protocol: chat,talk"))
    }
}
