import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Challenges that the engine answers", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ChallengeTests {
    /// A server's second message of NTLM, without target information.
    private static let ntlmChallenge = Data(
        Array("NTLMSSP\0".utf8) + [2, 0, 0, 0] + [UInt8](repeating: 0, count: 8) + [0x05, 0x82, 0x08, 0]
            + [1, 2, 3, 4, 5, 6, 7, 8] + [UInt8](repeating: 0, count: 16)
    ).base64EncodedString()

    private static func refusal(_ status: Int, _ challenge: String, content: String = "no") -> String {
        let name = status == 407 ? "Proxy-Authenticate" : "WWW-Authenticate"
        return
            "HTTP/1.1 \(status) No\r\n\(name): \(challenge)\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)"
    }

    private static func credentials(_ schemes: AuthenticationSchemes) -> RequestMessage.Credentials {
        RequestMessage.Credentials(user: "u", password: "p", schemes: schemes)
    }

    /// The value of a field in each head that a server got; `nil` where there was none.
    private func values(of name: String, in server: ScriptedServer) -> [String?] {
        server.events.events.compactMap { event in
            guard case .head(_, let head) = event else { return nil }
            return .some(
                head.components(separatedBy: "\r\n").first { $0.hasPrefix("\(name): ") }?
                    .dropFirst(name.count + 2).description)
        }
    }

    private func connections(of server: ScriptedServer) -> Int {
        server.events.events.count { if case .accepted = $0 { true } else { false } }
    }

    @Test("Basic goes out with the first message")
    func basic() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url()) { $0.credentials = Self.credentials(.basic) }
            #expect(transfer.record.head?.status == 200)
        }
        #expect(values(of: "Authorization", in: server) == ["Basic dTpw"])
    }

    private static let negotiateRows: [(schemes: AuthenticationSchemes, token: String?, sent: [String?], status: Int)] =
        [
            // Alone it goes out at once; a token counts once, so that a refusal of it is the end.
            (.negotiate, "token", ["Negotiate dG9rZW4="], 401),
            (.negotiate, nil, [nil], 401),
            ([.negotiate, .basic], "token", [nil, "Negotiate dG9rZW4="], 401),
            ([.negotiate, .basic], nil, [nil, "Basic dTpw"], 401),
        ]

    @Test("Negotiate is answered with the user's ticket, once, and before other schemes", arguments: negotiateRows)
    func negotiate(
        row: (schemes: AuthenticationSchemes, token: String?, sent: [String?], status: Int)
    ) async throws {
        let refusal = ScriptedServer.Action.send(Self.refusal(401, "Negotiate, Basic realm=x"))
        let server = try ScriptedServer.start([.receiveHead, refusal, .receiveHead, refusal, .hold])
        var parts = EngineParts()
        let hosts = EventLog<String>()
        parts.negotiateToken = { host in
            hosts.note(host)
            return row.token.map { Array($0.utf8) }
        }
        try await EngineStage.play(parts: parts) { stage in
            let transfer = try await stage.end(server.url()) { $0.credentials = Self.credentials(row.schemes) }
            #expect(transfer.record.head?.status == row.status)
        }
        #expect(values(of: "Authorization", in: server) == row.sent)
        #expect(hosts.events == ["127.0.0.1"])
    }

    @Test("an exchange that waits for a ticket can be cancelled and suspended")
    func negotiateControl() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        let gate = DispatchGroup()
        gate.enter()
        var parts = EngineParts()
        parts.negotiateToken = { _ in
            gate.wait()
            return [1]
        }
        try await EngineStage.play(parts: parts) { stage in
            let cancelled = stage.transfer(server.url()) { $0.credentials = Self.credentials(.negotiate) }
            cancelled.start()
            cancelled.cancel()
            #expect(try await cancelled.end().isCancelled)
            let transfer = stage.transfer(server.url()) { $0.credentials = Self.credentials(.negotiate) }
            transfer.start()
            gate.leave()
            try await transfer.end()
            #expect(transfer.record.head?.status == 200)
        }
    }

    @Test("NTLM goes over one connection, without content until the server has asked")
    func ntlm() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.refusal(401, "NTLM \(Self.ntlmChallenge)")), .receiveHead,
            .receive(byteCount: 7), .send(Answer.small), .receiveHead, .send(Answer.small), .hold,
        ])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url()) {
                $0.method = "POST"
                $0.body = .data(Data("content".utf8))
                $0.credentials = Self.credentials(.ntlm)
            }
            #expect(transfer.record.head?.status == 200)
            #expect(transfer.record.content == Data("hello".utf8))
            #expect(transfer.record.challenges.map(\.status) == [401])
            #expect(transfer.record.end?.report.requestBodyByteCount == 7)
            // The connection is authenticated: the next message with the same credentials needs none.
            let next = try await stage.end(server.url()) { $0.credentials = Self.credentials(.ntlm) }
            #expect(next.record.head?.status == 200)
        }
        let sent = values(of: "Authorization", in: server)
        #expect(sent.count == 3)
        #expect(sent.first == "NTLM \(Data(NTLMMessages.negotiate).base64EncodedString())")
        #expect(sent.dropFirst().first??.hasPrefix("NTLM TlRMTVNTUAAD") == true)
        #expect(sent.last == .some(nil))
        #expect(values(of: "Content-Length", in: server) == ["0", "7", nil])
        #expect(connections(of: server) == 1)
    }

    @Test("an authenticated connection serves only its own user")
    func othersConnection() async throws {
        let script: [ScriptedServer.Action] = [
            .receiveHead, .send(Self.refusal(401, "NTLM \(Self.ntlmChallenge)")), .receiveHead, .send(Answer.small),
            .hold,
        ]
        let server = try ScriptedServer.start(
            script, [.receiveHead, .send(Answer.small), .hold], script)
        try await EngineStage.play { stage in
            _ = try await stage.end(server.url()) { $0.credentials = Self.credentials(.ntlm) }
            _ = try await stage.end(server.url())
            _ = try await stage.end(server.url()) {
                $0.credentials = RequestMessage.Credentials(user: "other", password: "p", schemes: .ntlm)
            }
        }
        #expect(connections(of: server) == 3)
    }

    @Test("a server that refuses what NTLM has proved gives the response", arguments: [true, false])
    func refusedNTLM(keepsConnection: Bool) async throws {
        let second = Self.refusal(401, "NTLM", content: "still no")
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.refusal(401, "NTLM \(Self.ntlmChallenge)")), .receiveHead, .send(second),
            keepsConnection ? .hold : .close,
        ])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url()) { $0.credentials = Self.credentials(.ntlm) }
            #expect(transfer.record.head?.status == 401)
            #expect(transfer.record.content == Data("still no".utf8))
            #expect(transfer.code == nil)
        }
    }

    @Test(
        "a proxy that takes the absolute form gets what it asks for",
        arguments: [
            ("Digest realm=r, nonce=n, qop=auth", AuthenticationSchemes.password, "Digest username=\"u\""),
            ("NTLM", .password, "NTLM "), ("Basic realm=r", .password, "Basic dTpw"),
        ])
    func proxy(challenge: String, schemes: AuthenticationSchemes, answer: String) async throws {
        let isNTLM = challenge == "NTLM"
        let rounds: [ScriptedServer.Action] =
            isNTLM
            ? [.receiveHead, .send(Self.refusal(407, "NTLM \(Self.ntlmChallenge)"))] : []
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.refusal(407, challenge))] + rounds + [.receiveHead, .send(Answer.small), .hold])
        let port = Int(server.port)
        try await EngineStage.play {
            $0.proxy = Proxy(host: "127.0.0.1", port: port, user: "u", password: "p", authentication: schemes)
        } _: { stage in
            let transfer = try await stage.end(URL(string: "http://origin.test/path?q")!)
            #expect(transfer.record.head?.status == 200)
        }
        let sent = values(of: "Proxy-Authorization", in: server)
        #expect(sent.count == (isNTLM ? 3 : 2))
        #expect(sent.first == .some(nil))
        #expect(sent.dropFirst().allSatisfy { $0?.hasPrefix(answer) == true })
        if challenge.hasPrefix("Digest") {
            #expect(sent.last??.contains("uri=\"http://origin.test/path?q\"") == true)
        }
        #expect(connections(of: server) == 1)
    }

    @Test("a challenge whose connection closes is answered on another one")
    func closedConnection() async throws {
        let close = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=r\r\nConnection: close\r\n\r\nno"
        let server = try ScriptedServer.start(
            [.receiveHead, .send(close), .close], [.receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url()) { $0.credentials = Self.credentials([.basic, .ntlm]) }
            #expect(transfer.record.head?.status == 200)
        }
        #expect(values(of: "Authorization", in: server) == [nil, "Basic dTpw"])
    }

    @Test("an own field is left alone, and its challenge is the response")
    func ownField() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.refusal(401, "Basic realm=r")), .hold])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url()) {
                $0.credentials = Self.credentials(.basic)
                $0.fields = FieldBlock([Field(name: "Authorization", value: "Bearer t")])
            }
            #expect(transfer.record.head?.status == 401)
        }
        #expect(values(of: "Authorization", in: server) == ["Bearer t"])
    }

    @Test("what NTLM has said to a proxy is not repeated in the answer to the origin", arguments: [true, false])
    func proxyAndOrigin(keepsConnection: Bool) async throws {
        let line = keepsConnection ? "" : "Connection: close\r\n"
        let digest =
            "HTTP/1.1 401 No\r\n\(line)WWW-Authenticate: Digest realm=r, nonce=n, qop=auth\r\nContent-Length: 0\r\n\r\n"
        let begin: [ScriptedServer.Action] = [
            .receiveHead, .send(Self.refusal(407, "NTLM \(Self.ntlmChallenge)")), .receiveHead, .send(digest),
        ]
        let end: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small), .hold]
        let server = try keepsConnection ? ScriptedServer.start(begin + end) : ScriptedServer.start(begin, end)
        let port = Int(server.port)
        try await EngineStage.play {
            $0.proxy = Proxy(host: "127.0.0.1", port: port, user: "u", password: "p", authentication: .ntlm)
        } _: { stage in
            let url = try #require(URL(string: "http://origin.test/"))
            let transfer = try await stage.end(url) { $0.credentials = Self.credentials([.digest]) }
            #expect(transfer.record.head?.status == 200)
        }
        #expect(values(of: "Proxy-Authorization", in: server).map { $0 != nil } == [true, true, false])
        #expect(values(of: "Authorization", in: server).last??.hasPrefix("Digest ") == true)
    }

    @Test("what only begins NTLM announces no content", arguments: ["Content-Length", "Transfer-Encoding"])
    func framingOfBeginning(name: String) throws {
        let field = Field(name: name, value: name == "Content-Length" ? "7" : "chunked")
        let message = RequestMessage(
            url: "http://a.test/", method: "POST", fields: FieldBlock([field, Field(name: "A", value: "b")]),
            body: .data(Data("content".utf8)), credentials: Self.credentials(.ntlm))
        let sent = try #require(ExchangeAuthentication(message, proxy: nil)).authorizing(message)
        #expect(sent.fields.fields.map(\.name) == ["A", "Authorization"])
        guard case .data(let data) = sent.body else { throw CancellationError() }
        #expect(data.isEmpty)
    }
}
