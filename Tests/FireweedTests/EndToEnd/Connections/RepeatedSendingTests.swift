import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Resending after a closed connection", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RepeatedSendingTests {
    private static let answer: [ScriptedServer.Action] = [
        .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    ]

    private func sendings(_ server: ScriptedServer, of path: String) -> Int {
        server.events.events.count {
            if case .head(_, let head) = $0 { head.contains(" \(path) ") } else { false }
        }
    }

    @Test(
        "are sent again only with a method that allows it (RFC 9110 §9.2.2)",
        arguments: [
            (HTTPMethod.get, true), (.head, true), (.options, true), (.put, true), (.post, false), (.patch, false),
            (.delete, false), (HTTPMethod(rawValue: "QUERY"), false), (HTTPMethod(rawValue: "OWN"), false),
        ], [0, 4, 100_000])
    func again(method: (HTTPMethod, isRepeated: Bool), byteCount: Int) async throws {
        let (method, isRepeated) = method
        if byteCount > 0, [.get, .head, .options].contains(method) { return }
        let closing = Self.answer + [.receiveHead, .receive(byteCount: byteCount), .close]
        let final: [ScriptedServer.Action] = [
            .receiveHead, .receive(byteCount: byteCount), .send("HTTP/1.1 204 No\r\n\r\n"), .close,
        ]
        let server = try ScriptedServer.start(closing, final)
        let session = Session.isolated()
        _ = try await session.request(server.url("/first")).serializingData().value
        let content = byteCount > 0 ? Data(repeating: 97, count: byteCount) : nil
        let request =
            content.map { session.upload($0, to: server.url("/second"), method: method) }
            ?? session.request(server.url("/second"), method: method)
        let response = await request.serializingData().response
        #expect(sendings(server, of: "/second") == (isRepeated ? 2 : 1))
        #expect(response.error?.urlErrorCode == (isRepeated ? nil : .networkConnectionLost), "\(response)")
        #expect(response.response?.statusCode == (isRepeated ? 204 : nil))
    }

    @Test("are not sent on any other idle connection")
    func idleConnections() async throws {
        let server = try ScriptedServer.start(scripts: [
            [
                .receiveHead, .wait(for: "all"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .receiveHead,
                .close,
            ]
        ])
        let session = Session.isolated()
        let tasks = (0..<6).map { session.request(server.url("/\($0)")).serializingData() }
        try await server.events.nth(6) { if case .head = $0 { true } else { false } }
        for _ in 0..<6 { server.signal("all") }
        for task in tasks { _ = try await task.value }
        let error = await session.request(server.url("/post"), method: .post).serializingData().response.error
        #expect(error?.urlErrorCode == .networkConnectionLost && sendings(server, of: "/post") == 1)
        #expect(server.events.events.count { if case .accepted = $0 { true } else { false } } == 6)
    }

    @Test("are sent again to answer a challenge")
    func challenge() async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .receive(byteCount: 1),
                .send(
                    "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\nContent-Length: 0\r\n\r\n"),
            ] + Self.answer)
        let session = Session.isolated()
        let response = await session.upload(Data("a".utf8), to: server.url("/"), method: .post)
            .authenticate(username: "u", password: "p").serializingString().response
        #expect(response.value == "ok", "\(response)")
    }

    @Test("are not sent again over HTTP/2 either")
    func multiplexed() async throws {
        let testCertificates = try TestCertificates.shared
        let peer = try SecurePeer(
            [testCertificates.server, testCertificates.intermediate], role: .http2("close on the second, else answer"))
        let session = testCertificates.session()
        _ = try await session.request(peer.url("/first")).serializingString().value
        let response = await session.request(peer.url("/second"), method: .post).serializingString().response
        #expect(response.error?.urlErrorCode == .networkConnectionLost, "\(response)")
        _ = try await session.request(peer.url("/third")).serializingString().value
        try await peer.waits(for: 3, of: "request")
        #expect(peer.count("request 0") == 2 && peer.count("request 1") == 1, "\(peer.events.events)")
    }
}
