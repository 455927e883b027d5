import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("WebSocket authentication", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WebSocketAuthenticationTests {
    private let session = Session.isolated()

    /// The fields of the handshake that the Python server took.
    private func fields(_ request: WebSocketRequest) async throws -> [String: String] {
        for await message in request.webSocketTask().streamingMessages() {
            if case .string(let text) = message {
                return try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
            }
        }
        throw request.error ?? .explicitlyCancelled
    }

    /// What the end says: the transport's own sentence.
    private func detail(_ request: WebSocketRequest) async -> String {
        _ = await request.webSocketTask().sights()
        #expect(request.error?.urlErrorCode == .badServerResponse)
        return (request.error?.underlyingError as? URLError)?.userInfo[TransferFailure.engineDetailKey] as? String ?? ""
    }

    private static let queries = [
        "", "algorithm=MD5&qop=auth", "algorithm=SHA-256&qop=auth", "algorithm=SHA-512-256&qop=auth",
        "algorithm=SHA-256-sess&qop=auth,auth-int", "algorithm=MD5-sess&qop=auth-int",
        "algorithm=SHA-256&qop=auth&userhash=1",
        "qop=auth&stale=1", "qop=auth&stale=2&basic=1",
    ]

    @Test("Digest in all its forms is taken by a server that reckons for itself", arguments: queries)
    func digest(query: String) async throws {
        let url = try WebSocketServer.shared.url("/digest?\(query)")
        let seen = try await fields(
            session.webSocketRequest(to: url).authenticate(username: "user", password: "secret"))
        #expect(seen["authorization"]?.hasPrefix("Digest ") == true && seen["upgrade"] == "websocket")
        let inURL = url.absoluteString.replacing("ws://", with: "ws://user:secret@")
        #expect(try await fields(session.webSocketRequest(to: inURL))["authorization"]?.hasPrefix("Digest ") == true)
    }

    @Test("wrong credentials end in the 401, and the server is asked twice", arguments: queries)
    func wrong(query: String) async throws {
        let monitor = RecordingMonitor()
        let url = try WebSocketServer.shared.url("/digest?\(query)")
        let session = Session.isolated(eventMonitors: [monitor])
        let request = session.webSocketRequest(to: url).authenticate(username: "user", password: "wrong")
        #expect(await detail(request).hasSuffix("it refuses the credentials"))
        #expect(request.response?.statusCode == 401)
        #expect(monitor.all.count { $0 == "challenge" } == 2)
    }

    /// libmicrohttpd answers with 200 what it accepts: no WebSocket, but a verdict about the credentials.
    @Test(
        "libmicrohttpd accepts our answers to its challenges",
        arguments: ["/digest-auth/auth/u/p", "/digest-auth/auth/u/p/SHA-256"])
    func judged(path: String) async throws {
        let server = try FixtureServer.start()
        for (password, status) in [("p", 200), ("x", 401)] {
            let request = session.webSocketRequest(to: server.url(path)).authenticate(username: "u", password: password)
            _ = await request.webSocketTask().sights()
            #expect(request.response?.statusCode == status)
        }
    }

    @Test("credentials of the storage answer a challenge; an accepted one is stored")
    func storage() async throws {
        let server = try WebSocketServer.shared
        let url = server.url("/digest?qop=auth")
        for isRight in [true, false] {
            let session = Session.isolated { configuration in
                let space = URLProtectionSpace(
                    host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "x",
                    authenticationMethod: NSURLAuthenticationMethodHTTPDigest)
                let credential = URLCredential(
                    user: "user", password: isRight ? "secret" : "wrong", persistence: .forSession)
                configuration.urlCredentialStorage?.set(credential, for: space)
            }
            let seen = try? await fields(session.webSocketRequest(to: url))
            #expect((seen?["authorization"]?.hasPrefix("Digest ") == true) == isRight)
        }
        let remembering = Session.isolated()
        let first = remembering.webSocketRequest(to: url)
            .authenticate(username: "user", password: "secret", persistence: .forSession)
        _ = try await fields(first)
        #expect(try await fields(remembering.webSocketRequest(to: url))["authorization"]?.hasPrefix("Digest ") == true)
    }

    @Test("Basic alone goes with the first request; a field of the caller's own is left alone")
    func atOnce() async throws {
        let peer = try WebSocketPeer { $0.waitForEnd() }
        let credential = URLCredential(user: "u", password: "p", persistence: .none)
        let basic = session.webSocketRequest(to: peer.url).authenticate(with: credential, schemes: .basic)
        _ = await basic.webSocketTask().sights { if case .connected = $0.kind { basic.cancel() } }
        #expect(peer.handshakes.events.first?.contains("\r\nAuthorization: Basic dTpw\r\n") == true)
        let url = try WebSocketServer.shared.url("/basic")
        let own = session.webSocketRequest(to: url, headers: [.authorization(bearerToken: "t")])
            .authenticate(username: "user", password: "secret")
        _ = await detail(own)
        #expect(own.response?.statusCode == 401)
    }

    /// Type 2 with the names and without a clock, its content framed in every way.
    private static let framings = [
        "Content-Length: 5\r\n\r\nabcde", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Content-Length: 0\r\n\r\n",
    ]

    private static func challenging(_ framing: String) -> WebSocketPeer.Answer {
        WebSocketPeer.Answer { head in
            if head.contains("\r\nAuthorization: NTLM TlRMTVNTUAAD") { return nil }
            let names: [UInt8] = [2, 0, 4, 0, 68, 0, 49, 0, 0, 0, 0, 0]
            let fixed: [UInt8] =
                Array("NTLMSSP\0".utf8) + [2, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0, 5, 0x82, 8, 0] + [
                    1, 2, 3, 4, 5, 6, 7, 8,
                ]
                + [UInt8](repeating: 0, count: 8) + [12, 0, 12, 0, 48, 0, 0, 0]
            let token = Data(fixed + names).base64EncodedString()
            let isFirst = !head.contains("\r\nAuthorization:")
            return isFirst
                ? "HTTP/1.1 401 No\r\nWWW-Authenticate: NTLM\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
                : "HTTP/1.1 401 No\r\nWWW-Authenticate: NTLM \(token)\r\n\(framing)"
        }
    }

    @Test("NTLM's two rounds go on one connection, past the content of the refusal", arguments: framings)
    func ntlm(framing: String) async throws {
        let peer = try WebSocketPeer(answer: Self.challenging(framing)) { connection in
            try connection.send(.init(8, [0x03, 0xE8]))
            connection.waitForEnd()
        }
        let request = session.webSocketRequest(to: peer.url).authenticate(username: "D1\\user", password: "secret")
        let sights = await request.webSocketTask().sights()
        #expect(sights == [.connected(nil), .disconnected(1000, nil), .completed(nil)])
        #expect(peer.handshakes.events.count == 3)
        let keys = peer.handshakes.events.compactMap { head in
            head.components(separatedBy: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key") }
        }
        #expect(Set(keys).count == 3)
    }

    @Test(
        "where NTLM's connection is not kept, the end says so",
        arguments: ["Content-Length: 0\r\nConnection: close\r\n\r\n", "\r\n"])
    func unkept(framing: String) async throws {
        let peer = try WebSocketPeer(answer: Self.challenging(framing)) { $0.waitForEnd() }
        let request = session.webSocketRequest(to: peer.url).authenticate(username: "user", password: "secret")
        #expect(await detail(request).contains("NTLM needs the connection"))
    }

    @Test("Negotiate cannot be answered here, and the end says so")
    func negotiate() async throws {
        let answer = WebSocketPeer.Answer { _ in
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
        }
        let peer = try WebSocketPeer(answer: answer) { $0.waitForEnd() }
        let request = session.webSocketRequest(to: peer.url).authenticate(username: "user", password: "secret")
        #expect(await detail(request).hasSuffix("a WebSocket's handshake cannot use Negotiate"))
        #expect(peer.handshakes.events.count == 1)
    }

    @Test("credentials do not follow a redirect to another origin")
    func otherOrigin() async throws {
        let other = try WebSocketServer()
        let target = other.url("/digest?qop=auth").absoluteString
        let encoded = target.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let url = try WebSocketServer.shared.url("/redirect?to=\(encoded)")
        let request = session.webSocketRequest(to: url).authenticate(username: "user", password: "secret")
        _ = await request.webSocketTask().sights()
        #expect(request.response?.statusCode == 401 && request.response?.url?.port == Int(other.port))
    }
}
