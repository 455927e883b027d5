import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Digest without a challenge for each message (RFC 7616 §3.3)", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DigestReuseTests {
    private let session = Session.isolated()

    private static let welcome = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func refusal(_ nonce: String, _ rest: String = "") -> String {
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"\(nonce)\", qop=\"auth\"\(rest)\r\n"
            + "Content-Length: 2\r\n\r\nno"
    }

    /// Nonce, count and URI of each answer that came; a message without one is `none`.
    private func answers(_ server: ScriptedServer) -> [String] {
        server.events.events.compactMap { event in
            guard case .head(_, let head) = event else { return nil }
            let line = head.split(separator: "\r\n").first { $0.hasPrefix("Authorization: ") }
            let parameters = line.flatMap { HTTPChallenge.all(in: String($0.dropFirst(15))).first?.parameters }
            guard let parameters else { return "none" }
            return ["nonce", "nc", "uri"].map { parameters[$0] ?? "" }.joined(separator: " ")
        }
    }

    private func status(_ request: DataRequest) async -> Int? {
        await request.serializingData(emptyResponseCodes: Set(100..<600)).response.response?.statusCode
    }

    @Test("a server that counts takes every message after the first without a challenge", arguments: ["", "/SHA-256"])
    func counting(algorithm: String) async throws {
        let server = try FixtureServer.start()
        let url = server.url("/digest-auth/auth/u/p\(algorithm)")
        for _ in 0..<5 {
            #expect(await status(session.request(url).authenticate(username: "u", password: "p")) == 200)
        }
        #expect(server.requests.count == 6)
        // Another user is another one, and so is a wrong password.
        #expect(await status(session.request(url).authenticate(username: "v", password: "p")) == 401)
        #expect(await status(session.request(url).authenticate(username: "u", password: "wrong")) == 401)
        #expect(server.requests.count == 10)
        #expect(await status(session.request(url).authenticate(username: "u", password: "p")) == 200)
        #expect(server.requests.count == 11)
    }

    @Test("messages at the same time use counts of their own")
    func concurrent() async throws {
        let server = try FixtureServer.start()
        server.route("/guarded") { request in
            guard request.field("Authorization") == nil else { return .text("in") }
            return FixtureResponse(
                status: 401, fields: [("WWW-Authenticate", "Digest realm=\"x\", nonce=\"n\", qop=\"auth\"")])
        }
        let url = server.url("/guarded")
        #expect(await status(session.request(url).authenticate(username: "u", password: "p")) == 200)
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<16 {
                group.addTask { await status(session.request(url).authenticate(username: "u", password: "p")) }
            }
            for await status in group { #expect(status == 200) }
        }
        let counts = server.requests.map { request in
            request.field("Authorization").flatMap { HTTPChallenge.all(in: $0).first?.parameters["nc"] }
                .flatMap { Int($0, radix: 16) } ?? 0
        }
        #expect(counts.sorted() == Array(0...17))
    }

    @Test("a stale nonce costs one message, and the new one is used from then on")
    func stale() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.refusal("a")), .receiveHead, .send(Self.welcome),
            .receiveHead, .send(Self.welcome),
            .receiveHead, .send(Self.refusal("b", ", stale=true")), .receiveHead, .send(Self.welcome),
            .receiveHead, .send(Self.welcome), .hold,
        ])
        for path in ["/1", "/2", "/3", "/4?q"] {
            let request = session.request(server.url(path)).authenticate(username: "u", password: "p")
            #expect(await status(request) == 200)
        }
        #expect(
            answers(server) == [
                "none", "a 00000001 /1", "a 00000002 /2", "a 00000003 /3", "b 00000001 /3", "b 00000002 /4?q",
            ])
    }

    @Test("a server that forgets its nonces without calling them stale is answered as at first")
    func forgotten() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.refusal("a")), .receiveHead, .send(Self.welcome),
            .receiveHead, .send(Self.refusal("b")), .receiveHead, .send(Self.welcome),
            .receiveHead, .send(Self.refusal("b")), .receiveHead, .send(Self.refusal("b")),
            .receiveHead, .send(Self.refusal("b")), .hold,
        ])
        for expected in [200, 200, 401] {
            let request = session.request(server.url()).authenticate(username: "u", password: "p")
            #expect(await status(request) == expected)
        }
        // Credentials that were refused are sent after a challenge only.
        _ = session.request(server.url()).authenticate(username: "u", password: "p").response { _ in }
        try await server.events.nth(7) { if case .head = $0 { true } else { false } }
        #expect(
            answers(server) == [
                "none", "a 00000001 /", "a 00000002 /", "b 00000001 /", "b 00000002 /", "b 00000001 /", "none",
            ])
    }

    @Test("content that can be read once goes out with the answer")
    func oneShot() async throws {
        let server = try FixtureServer.start()
        let url = server.url("/digest-auth/auth/u/p")
        func upload() async -> DataResponse<Data, AFError> {
            await session.upload(InputStream(data: Data(count: 300_000)), to: url, method: .put)
                .authenticate(username: "u", password: "p").serializingData().response
        }
        #expect(await upload().error?.urlErrorCode == .requestBodyStreamExhausted)
        // The server's nonces are for one method each.
        let first = session.upload(Data("a".utf8), to: url, method: .put).authenticate(username: "u", password: "p")
        #expect(await status(first) == 200)
        let response = await upload()
        #expect(response.error == nil && response.response?.statusCode == 200)
    }

    @Test("outside of the domain of the challenge a message waits for one")
    func domain() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.refusal("a", ", domain=\"/in\"")), .receiveHead, .send(Self.welcome),
            .receiveHead, .send(Self.welcome), .receiveHead, .send(Self.welcome), .hold,
        ])
        for path in ["/in", "/out", "/in/side"] {
            let request = session.request(server.url(path)).authenticate(username: "u", password: "p")
            #expect(await status(request) == 200)
        }
        #expect(answers(server) == ["none", "a 00000001 /in", "none", "a 00000002 /in/side"])
    }

    @Test("the target of a redirect within the origin gets an answer of its own")
    func redirected() async throws {
        let found = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.refusal("a")), .receiveHead, .send(found), .receiveHead, .send(Self.welcome),
            .hold,
        ])
        let request = session.request(server.url("/a")).authenticate(username: "u", password: "p")
        #expect(await status(request) == 200)
        #expect(answers(server) == ["none", "a 00000001 /a", "a 00000002 /b"])
    }
}
