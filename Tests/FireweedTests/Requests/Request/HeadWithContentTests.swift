import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("HEAD with content", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HeadWithContentTests {
    @Test("sends the content, and does not wait for content of the response", arguments: [4, 100_000])
    func headWithContent(byteCount: Int) async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .receive(byteCount: byteCount), .send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), .hold,
        ])
        let session = Session.isolated()
        let content = Data(repeating: 97, count: byteCount)
        let response = await session.upload(content, to: server.url("/a"), method: .head).serializingData().response
        #expect(response.error == nil && response.response?.statusCode == 200, "\(response)")
        // The response has ended with its head: the connection is good for others.
        #expect(try await session.request(server.url("/b")).serializingString().value == "hello")
        let heads = server.events.events.compactMap { if case .head(_, let head) = $0 { head } else { nil } }
        #expect(heads.count == 2 && heads[0].hasPrefix("HEAD /a ") && heads[1].hasPrefix("GET /b "))
        #expect(heads[0].contains("Content-Length: \(byteCount)\r\n") && !heads[0].contains("Expect"))
    }

    @Test("ends at once when the server answers before it has read the content")
    func earlyAnswer() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 413 No\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n"), .hold,
        ])
        let session = Session.isolated()
        let response = await session.upload(Data(repeating: 97, count: 50 << 20), to: server.url("/a"), method: .head)
            .serializingData().response
        #expect(response.response?.statusCode == 413, "\(response)")
    }

    @Test("over HTTP/2 is a request like any other")
    func multiplexed() async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        let session = Session.isolated(transportOptions: options)
        let url = try #require(nginx.secureURL).appendingPathComponent("small")
        for _ in 0..<3 {
            let response = await session.upload(Data("abc".utf8), to: url, method: .head)
                .serializingData().response
            #expect(response.error == nil && response.response?.statusCode == 200, "\(response)")
        }
    }

    @Test("whose credentials are refused has the challenge as its response")
    func challenge() async throws {
        let refusal: [ScriptedServer.Action] = [
            .receiveHead, .receive(byteCount: 3),
            .send(
                "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\nContent-Length: 1000\r\n\r\n"),
        ]
        let server = try ScriptedServer.start(refusal + refusal + [.hold])
        let session = Session.isolated()
        let response = await session.upload(Data("abc".utf8), to: server.url("/a"), method: .head)
            .authenticate(username: "u", password: "p").serializingData().response
        #expect(response.response?.statusCode == 401, "\(response)")
    }
}
