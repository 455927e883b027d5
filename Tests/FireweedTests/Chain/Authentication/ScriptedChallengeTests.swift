import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// Challenges that no correct server sends, and those that take several rounds.
@Suite("Challenges over the wire", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ScriptedChallengeTests {
    private let session = Session.isolated()

    private static func refusal(_ challenges: [String], status: Int = 401) -> String {
        let name = status == 407 ? "Proxy-Authenticate" : "WWW-Authenticate"
        let fields = challenges.map { "\(name): \($0)\r\n" }.joined()
        return "HTTP/1.1 \(status) No\r\n\(fields)Content-Length: 2\r\n\r\nno"
    }

    private static let welcome = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func heads(_ server: ScriptedServer) -> [String] {
        server.events.events.compactMap { if case .head(_, let text) = $0 { text } else { nil } }
    }

    private func authorization(_ head: String, _ name: String = "Authorization") -> String? {
        head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(name.lowercased()):") }.map(String.init)
    }

    @Test(
        "a hostile challenge ends in its response, in few rounds, with credentials from anywhere",
        arguments: [
            "", " ", ",", ",,,,", "=", "==", "\"", "\"\"", "Basic", "Basic ", "Basic realm", "Basic realm=",
            "Basic realm=\"",
            "Basic realm=\"unterminated", "Basic realm=\"\\", "Basic realm=\"a\"b\"c", "Basic realm=x realm=y",
            "Basic =x",
            "Basic realm=\"\(String(repeating: "x", count: 50_000))\"", "bAsIc ReAlM=\u{E9}\u{1F600}", "Digest",
            "Digest ",
            "Digest nonce=", "Digest realm=\"x\"", "Digest realm=\"x\", nonce=\"\"", "Digest realm=\"x\", nonce",
            "Digest realm=\"x\", nonce=\"n\", algorithm=UNKNOWN", "Digest realm=\"x\", nonce=\"n\", algorithm=",
            "Digest realm=\"x\", nonce=\"n\", qop=\"auth-int\"", "Digest realm=\"x\", nonce=\"n\", qop=\"\"",
            "Digest realm=\"x\", nonce=\"n\", qop=\",,,auth\"", "Digest realm=\"x\", nonce=\"n\", stale=true",
            "Digest realm=\"x\", nonce=\"n\", stale=maybe, userhash=true, algorithm=SHA-256-sess, qop=\"auth\"",
            "Digest realm=\"x\", nonce=\"n\", algorithm=SHA-512-256, qop=auth, opaque=\"\\\"\"",
            "Digest realm=\"x\", nonce=\"\(String(repeating: "n", count: 20_000))\"", "Digest, Digest, Digest",
            "NTLM", "NTLM ", "NTLM =", "NTLM TlRMTVNTUAAC", "NTLM TlRMTVNTUAACAAAAAAAAAAD/////", "NTLM not base64!",
            "NTLM TlRMTVNTUAADAAAA", "Negotiate", "Negotiate !!!", "Negotiate YII=",
            "Negotiate \(String(repeating: "A", count: 9_999))",
            "Bearer", "Bearer error=\"x\"", "Unknown", "Unknown token68==",
            "NTLM, Basic realm=x, Digest nonce=n, Negotiate",
            "Basic realm=\"x\", Basic realm=\"y\", Basic realm=\"z\"", String(repeating: "Basic, ", count: 2_000),
            String(repeating: "x=", count: 5_000), "Basic\trealm=x", "\t", "Basic realm=\"\u{7F}\"",
        ])
    func hostile(value: String) async throws {
        let answer: [ScriptedServer.Action] = Array(
            repeating: [.receiveHead, .send(Self.refusal([value]))], count: 20
        ).flatMap { $0 }
        let server = try ScriptedServer.start(answer)
        let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
        let monitor = RecordingMonitor()
        let session = Session.isolated(eventMonitors: [monitor]) { configuration in
            let space = URLProtectionSpace(
                host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: nil,
                authenticationMethod: NSURLAuthenticationMethodDefault)
            configuration.urlCredentialStorage?.set(credential, for: space)
        }
        let own = session.request(server.url()).authenticate(with: credential)
        let response = await own.serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401 && response.error == nil, "\(String(describing: response.error))")
        #expect(monitor.all.contains("challenge"))
        let found = await session.request(server.url()).serializingData(emptyResponseCodes: [401]).response
        #expect(found.response?.statusCode == 401 && found.error == nil, "\(String(describing: found.error))")
        #expect(heads(server).count <= 20)
    }

    @Test(
        "without a Kerberos ticket the scheme after Negotiate is tried",
        arguments: [
            (
                ["Negotiate", "Digest realm=\"x\", nonce=\"n\", qop=\"auth\"", "Basic realm=x"],
                "Authorization: Digest "
            ),
            (["Negotiate", "Basic realm=x"], "Authorization: Basic dTpw"), (["Negotiate"], nil),
        ] as [([String], String?)])
    func withoutTicket(challenges: [String], answer: String?) async throws {
        let refusal = ScriptedServer.Action.send(Self.refusal(challenges))
        // A message that may use Negotiate has a connection of its own.
        let server = try ScriptedServer.start(
            [.receiveHead, refusal, .receiveHead, .send(Self.welcome), .hold], [.receiveHead, refusal, .hold])
        let credential = URLCredential(user: "u", password: "p", persistence: .none)
        let request = session.request(server.url()).authenticate(
            with: credential, schemes: [.negotiate, .digest, .basic])
        let response = await request.serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == (answer == nil ? 401 : 200), "\(response)")
        let sent = heads(server).map { authorization($0)?.prefix(answer?.count ?? 0) }
        #expect(sent == (answer == nil ? [nil, nil] : [nil, nil, answer?[...]]))
    }

    @Test("a server that calls every nonce stale is given up, with its 401")
    func staleForEver() async throws {
        let steps = (0..<50).flatMap { number -> [ScriptedServer.Action] in
            [.receiveHead, .send(Self.refusal(["Digest realm=\"x\", nonce=\"n\(number)\", stale=true, qop=\"auth\""]))]
        }
        let server = try ScriptedServer.start(steps)
        let request = session.request(server.url()).authenticate(username: "u", password: "p")
        let response = await request.serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401 && response.error == nil)
        #expect((3...10).contains(heads(server).count))
    }

    @Test("a stale nonce is answered with the new one (RFC 7616 §3.3)")
    func stale() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.refusal(["Digest realm=\"x\", nonce=\"old\", qop=\"auth\""])),
            .receiveHead, .send(Self.refusal(["Digest realm=\"x\", nonce=\"new\", qop=\"auth\", stale=true"])),
            .receiveHead, .send(Self.welcome), .hold,
        ])
        let request = session.request(server.url()).authenticate(username: "u", password: "p")
        #expect(try await request.serializingString().value == "ok")
        let answers = heads(server).map { authorization($0) }
        #expect(answers.count == 3 && answers[0] == nil)
        #expect(answers[1]?.contains("nonce=\"old\"") == true && answers[2]?.contains("nonce=\"new\"") == true)
    }

    @Test(
        "the strongest scheme on offer is used",
        arguments: [
            (["Basic realm=x", "Digest realm=x, nonce=n, qop=auth"], "Digest"), (["Basic realm=x", "NTLM"], "NTLM"),
            (["Negotiate", "Basic realm=x"], "Basic"), (["Unknown", "Basic realm=x"], "Basic"),
        ])
    func strongest(challenges: [String], scheme: String) async throws {
        for isStored in [false, true] {
            let steps: [ScriptedServer.Action] = Array(
                repeating: [.receiveHead, .send(Self.refusal(challenges))], count: 8
            ).flatMap { $0 }
            let server = try ScriptedServer.start(steps)
            let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
            let session = Session.isolated { configuration in
                let space = URLProtectionSpace(
                    host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: nil,
                    authenticationMethod: NSURLAuthenticationMethodDefault)
                if isStored { configuration.urlCredentialStorage?.set(credential, for: space) }
            }
            let request = session.request(server.url())
            if !isStored { request.authenticate(with: credential) }
            _ = await request.serializingData().response
            let first = heads(server).compactMap { authorization($0) }.first
            #expect(first?.hasPrefix("Authorization: \(scheme)") == true, "\(String(describing: first))")
        }
    }

    @Test(
        "Digest is answered by every algorithm and quality of protection of RFC 7616, with content and without",
        arguments: ["MD5", "SHA-256", "SHA-512-256", "SHA-512-256-sess"], ["auth", "auth-int", nil])
    func digest(algorithm: String, quality: String?) async throws {
        let parameters = quality.map { ", qop=\"\($0)\"" } ?? ""
        let challenge = "Digest realm=\"r\", nonce=\"n\", algorithm=\(algorithm)\(parameters)"
        let credentials = RequestMessage.Credentials(user: "u", password: "p")
        for content in ["", "content"] {
            let server = try ScriptedServer.start([
                .receiveHead, .receive(byteCount: content.utf8.count), .send(Self.refusal([challenge])), .receiveHead,
                .receive(byteCount: content.utf8.count), .send(Self.welcome), .hold,
            ])
            let request = session.upload(Data(content.utf8), to: server.url("/a%20b?c"), method: .put)
                .authenticate(username: "u", password: "p")
            #expect(try await request.serializingString().value == "ok")
            let answers = heads(server).map { authorization($0) }
            #expect(answers.count == 2 && answers[0] == nil)
            let answer = try #require(answers.last ?? nil)
            let own = HTTPChallenge.all(in: String(answer.dropFirst("Authorization: ".count))).first
            let expected = DigestAnswer.strongest(of: HTTPChallenge.all(in: challenge))?.field(
                credentials, method: "PUT", target: "/a%20b?c", clientNonce: own?.parameters["cnonce"] ?? "",
                content: Data(content.utf8))
            #expect(answer == "Authorization: \(expected ?? "")")
        }
    }

    @Test("an empty user and password stand for a ticket: Negotiate is tried first, then the next scheme")
    func ticketFirst() async throws {
        let steps: [ScriptedServer.Action] = Array(
            repeating: [.receiveHead, .send(Self.refusal(["Basic realm=x", "Negotiate"]))], count: 4
        ).flatMap { $0 }
        for isStored in [false, true] {
            // A message that may use Negotiate has a connection of its own.
            let server = try ScriptedServer.start(steps, steps, steps)
            let credential = URLCredential(user: "", password: "", persistence: .forSession)
            let delegate = TicketDelegate(isStored ? nil : credential)
            let configuration = URLSessionConfiguration.af.ephemeral
            if isStored {
                let space = URLProtectionSpace(
                    host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: nil,
                    authenticationMethod: NSURLAuthenticationMethodDefault)
                configuration.urlCredentialStorage?.set(credential, for: space)
            }
            let session = Session(configuration: configuration, delegate: delegate)
            _ = await session.request(server.url()).serializingData(emptyResponseCodes: [401]).response
            let sent = heads(server).map { authorization($0) }
            // Without a ticket here, Negotiate sends nothing.
            #expect(sent.prefix(3) == [nil, nil, "Authorization: Basic Og=="], "stored \(isStored): \(sent)")
        }
    }

    @Test(
        "an unknown algorithm is ignored (RFC 7616 §3.3)",
        arguments: [
            (["Digest realm=r, nonce=n, algorithm=SHA3, qop=auth", "Basic realm=r"], "Basic dTpw"),
            (["Digest realm=r, nonce=n, algorithm=SHA3, Basic realm=r"], "Basic dTpw"),
            (["Digest realm=r, nonce=n, qop=other, NTLM, Basic realm=r"], "NTLM "),
            (["Digest realm=r, nonce=a, algorithm=X", "Digest realm=r, nonce=b, algorithm=md5"], "Digest "),
            (["Digest realm=r, nonce=n, algorithm=SHA3"], nil),
        ] as [([String], String?)])
    func unknownAlgorithm(challenges: [String], answer: String?) async throws {
        let steps: [ScriptedServer.Action] = Array(
            repeating: [.receiveHead, .send(Self.refusal(challenges))], count: 8
        ).flatMap { $0 }
        let server = try ScriptedServer.start(steps)
        let request = session.request(server.url()).authenticate(username: "u", password: "p")
        let response = await request.serializingData().response
        #expect(response.response?.statusCode == 401)
        let answers = heads(server).map { authorization($0) }
        #expect(answers.first == .some(nil))
        if let answer {
            #expect(answers.dropFirst().first??.hasPrefix("Authorization: \(answer)") == true, "\(answers)")
        } else {
            #expect(answers.count == 1)
        }
    }

    @Test("Negotiate alone, without a ticket, ends in the 401")
    func noTicket() async throws {
        let steps: [ScriptedServer.Action] = Array(
            repeating: [.receiveHead, .send(Self.refusal(["Negotiate"]))], count: 8
        ).flatMap { $0 }
        let server = try ScriptedServer.start(steps)
        let request = session.request(server.url())
            .authenticate(with: URLCredential(user: "", password: "", persistence: .none))
        let response = await request.serializingData().response
        #expect(response.response?.statusCode == 401 && heads(server).count <= 3)
    }

    // MARK: Proxies

    @Test("a proxy is told who we are: Basic at once, Digest after its challenge")
    func proxies() async throws {
        let target = "http://service.example/"
        let basic = try ScriptedServer.start([.receiveHead, .send(Self.welcome), .hold])
        var options = TransportOptions()
        options.proxy = Proxy(host: "127.0.0.1", port: Int(basic.port), user: "u", password: "p")
        let session = Session.isolated(transportOptions: options)
        #expect(try await session.request(target).serializingString().value == "ok")
        #expect(heads(basic).map { authorization($0, "Proxy-Authorization") } == ["Proxy-Authorization: Basic dTpw"])

        let digest = try ScriptedServer.start([
            .receiveHead, .send(Self.refusal(["Digest realm=\"x\", nonce=\"n\", qop=\"auth\""], status: 407)),
            .receiveHead, .send(Self.welcome), .hold,
        ])
        options.proxy = Proxy(
            host: "127.0.0.1", port: Int(digest.port), user: "u", password: "p", authentication: .password)
        let careful = Session.isolated(transportOptions: options)
        #expect(try await careful.request(target).serializingString().value == "ok")
        let answers = heads(digest).map { authorization($0, "Proxy-Authorization") }
        #expect(answers.count == 2 && answers[0] == nil)
        #expect(answers[1]?.hasPrefix("Proxy-Authorization: Digest username=\"u\"") == true)
    }

    @Test("a proxy that refuses us ends in the 407")
    func refusedByProxy() async throws {
        let steps: [ScriptedServer.Action] = Array(
            repeating: [.receiveHead, .send(Self.refusal(["Basic realm=x"], status: 407))], count: 8
        ).flatMap { $0 }
        for authentication in [AuthenticationSchemes.basic, .password] {
            let server = try ScriptedServer.start(steps)
            var options = TransportOptions()
            options.proxy = Proxy(
                host: "127.0.0.1", port: Int(server.port), user: "u", password: "p", authentication: authentication)
            let session = Session.isolated(transportOptions: options)
            let response = await session.request("http://service.example/").serializingData().response
            #expect(response.response?.statusCode == 407 && heads(server).count <= 3)
        }
    }
}

/// Answers challenges with one credential, or as a session without a delegate does.
private final class TicketDelegate: SessionDelegate, @unchecked Sendable {
    // SAFETY: its one stored property is a `let`, and never changes what it holds.
    private let credential: URLCredential?

    init(_ credential: URLCredential?) {
        self.credential = credential
        super.init()
    }

    override func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        if let credential { return completionHandler(.useCredential, credential) }
        super.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
    }
}
