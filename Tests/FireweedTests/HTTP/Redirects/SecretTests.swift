import Fireweed
import FixtureServer
import Foundation
import Testing

/// `Authorization`, `Cookie`, `Proxy-Authorization` and credentials belong to one origin (RFC 9110 §11.6.2, §15.4).
@Suite("Credentials in redirects", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SecretTests {
    private let session = Session.isolated()
    private let secrets: HTTPHeaders = [
        "Authorization": "Bearer secret", "Cookie": "a=secret", "Proxy-Authorization": "Basic secret", "X-Keep": "1",
    ]

    private func leaked(_ server: FixtureServer) throws -> [String] {
        let last = try #require(server.requests.last)
        #expect(last.field("X-Keep") == "1")
        return ["Authorization", "Cookie", "Proxy-Authorization"].filter { last.field($0) != nil }
    }

    @Test("another port, host or scheme is another origin")
    func origins() async throws {
        let (first, second) = (try FixtureServer.start(), try FixtureServer.start())
        let port = second.port
        for target in ["http://127.0.0.1:\(port)/get", "http://localhost:\(port)/get"] {
            _ = await session.request(first.url("/redirect-to?url=\(target)"), headers: secrets)
                .serializingData().response
            #expect(try leaked(second).isEmpty, "\(target)")
        }
        // The same port under another name is another origin as well.
        let renamed = "http://localhost:\(first.port)/get"
        _ = await session.request(first.url("/redirect-to?url=\(renamed)"), headers: secrets)
            .serializingData().response
        #expect(try leaked(first).isEmpty)
    }

    @Test("a downgrade to clear text takes nothing along")
    func downgrade() async throws {
        let testCertificates = try TestCertificates.shared
        let plain = try FixtureServer.start()
        let answer = "HTTP/1.1 302 Found\r\nLocation: \(plain.url("/get").absoluteString)\r\nContent-Length: 0\r\n\r\n"
        let peer = try SecurePeer([testCertificates.server, testCertificates.intermediate], role: .answering(answer))
        var options = TransportOptions()
        options.certificateAuthorities = .file(testCertificates.root.certificate)
        let session = Session.isolated(transportOptions: options)
        defer { withExtendedLifetime(session) {} }
        let response = await session.request(peer.url(), headers: secrets)
            .serializingData().response
        #expect(response.response?.statusCode == 200, "\(response)")
        #expect(try leaked(plain).isEmpty)
    }

    @Test("what was dropped does not come back when the way leads home again")
    func thereAndBack() async throws {
        let (home, away) = (try FixtureServer.start(), try FixtureServer.start())
        let back = away.url("/redirect-to").absoluteString + "?url=" + home.url("/get").absoluteString
        let encoded = back.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        _ = await session.request(home.url("/redirect-to?url=\(encoded)"), headers: secrets)
            .serializingData().response
        #expect(home.requests.count == 2)
        #expect(try leaked(home).isEmpty)
    }

    @Test("credentials of a request or its URL answer no other origin's challenge")
    func credentials() async throws {
        let (first, second) = (try FixtureServer.start(), try FixtureServer.start())
        let target = second.url("/basic-auth/user/secret").absoluteString
        let response = await session.request(first.url("/redirect-to?url=\(target)"))
            .authenticate(username: "user", password: "secret").serializingData().response
        #expect(response.response?.statusCode == 401)
        #expect(second.requests.allSatisfy { $0.field("Authorization") == nil })
        let withUser = "http://user:secret@127.0.0.1:\(first.port)/redirect-to?url=\(target)"
        let other = await session.request(withUser).serializingData().response
        #expect(other.response?.statusCode == 401)
        #expect(second.requests.allSatisfy { $0.field("Authorization") == nil })
        #expect(other.response?.url?.user == nil)
    }

    @Test("fields with keys and tokens stay with their origin, as options of session and request say")
    func credentialFields() async throws {
        let (first, second) = (try FixtureServer.start(), try FixtureServer.start())
        let away = first.url("/redirect-to?url=\(second.url("/get").absoluteString)")
        let home = first.url("/redirect-to?url=\(first.url("/get").absoluteString)")
        let keys: HTTPHeaders = ["X-Api-Key": "secret", "private-token": "secret", "X-Mine": "secret"]
        func seen(_ request: DataRequest, _ server: FixtureServer) async throws -> [String] {
            _ = await request.serializingData().response
            let last = try #require(server.requests.last)
            return ["X-Api-Key", "Private-Token", "X-Mine"].filter { last.field($0) != nil }
        }
        #expect(try await seen(session.request(away, headers: keys), second) == ["X-Mine"])
        #expect(
            try await seen(session.request(home, headers: keys), first) == ["X-Api-Key", "Private-Token", "X-Mine"])
        let all = Redirector(behavior: .follow, credentialFieldNames: [])
        let request = session.request(away, headers: keys).redirect(using: all)
        #expect(try await seen(request, second) == ["X-Api-Key", "Private-Token", "X-Mine"])
        var options = TransportOptions()
        options.credentialFieldNames += ["x-mine"]
        for name in ["X-Acme-Token", "Acme-Client-Secret", "X-Session"] {
            let secret: HTTPHeaders = [HTTPHeader(name: name, value: "secret")]
            _ = await session.request(away, headers: secret).serializingData().response
            #expect(second.requests.last?.field(name) == nil)
            _ = await session.request(away, headers: secret).redirect(using: all).serializingData().response
            #expect(second.requests.last?.field(name) == "secret")
        }
        let careful = Session.isolated(transportOptions: options)
        #expect(try await seen(careful.request(away, headers: keys), second) == [])
    }

    @Test("a handler takes away fields of the session, and its own list holds for a request that it makes anew")
    func handlersFields() async throws {
        let (first, second) = (try FixtureServer.start(), try FixtureServer.start())
        let away = first.url("/redirect-to?url=\(second.url("/get").absoluteString)")
        let session = Session.isolated { configuration in
            for name in ["X-Trace", "X-Api-Key", "X-Mine"] { configuration.headers.add(name: name, value: "1") }
        }
        let change = Redirector(
            behavior: .modify { _, request, _ in
                var request = request
                request.headers.remove(name: "X-Trace")
                request.headers.add(name: "X-New", value: "1")
                return request
            }, credentialFieldNames: ["X-Mine"])
        let anew = Redirector(
            behavior: .modify { _, request, _ in request.url.map { URLRequest(url: $0) } },
            credentialFieldNames: ["X-Mine"])
        let names = ["X-Trace", "X-Api-Key", "X-Mine", "X-New", "User-Agent"]
        for (redirector, expected) in [
            (change, ["X-Api-Key", "X-New", "User-Agent"]), (anew, ["X-Trace", "X-Api-Key", "User-Agent"]),
        ] {
            _ = await session.request(away).redirect(using: redirector).serializingData().response
            let last = try #require(second.requests.last)
            #expect(names.filter { last.field($0) != nil } == expected)
        }
    }

    @Test("an own Proxy-Authorization reaches the proxy, and never an origin")
    func proxyAuthorization() async throws {
        let headers: HTTPHeaders = ["Proxy-Authorization": "Basic dTpw", "X-Keep": "1"]
        let origin = try FixtureServer.start()
        _ = await session.request(origin.url("/get"), headers: headers).serializingData().response
        #expect(try leaked(origin).isEmpty)

        let proxy = try HTTPProxyServer(user: "u", password: "p")
        var options = TransportOptions()
        options.proxy = Proxy(host: "127.0.0.1", port: Int(proxy.port))
        let session = Session.isolated(transportOptions: options)
        let forwarded = await session.request(origin.url("/get"), headers: headers).serializingData().response
        #expect(forwarded.response?.statusCode == 200)
        let sockets = try WebSocketServer.shared
        let request = session.webSocketRequest(to: sockets.url("/echo"), headers: headers)
        let task = request.webSocketTask()
        let sights = await task.sights { event in
            if case .connected = event.kind { event.close(sending: .normalClosure) }
        }
        #expect(sights.first == .connected(nil))
        #expect(proxy.requests.contains { $0.contains("CONNECT") })
    }

    @Test("userinfo in a Location is no credential for another origin")
    func userinfoInLocation() async throws {
        let (first, second) = (try FixtureServer.start(), try FixtureServer.start())
        let target = "http://user:secret@127.0.0.1:\(second.port)/basic-auth/user/secret"
        let encoded = try #require(target.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let response = await session.request(first.url("/redirect-to?url=\(encoded)")).serializingData().response
        #expect(response.response?.statusCode == 401)
        #expect(!second.requests.isEmpty && second.requests.allSatisfy { $0.field("Authorization") == nil })
    }

    @Test(
        "requests out of HTTP are refused",
        arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "ws://127.0.0.1/", "data:,x"])
    func schemes(url: String) async {
        let error = await session.request(url).serializingData().response.error
        guard case .sessionTaskFailed(let error as URLError) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error.code == .unsupportedURL)
    }
}
