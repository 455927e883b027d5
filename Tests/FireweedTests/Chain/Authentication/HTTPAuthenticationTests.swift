import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("HTTP authentication", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HTTPAuthenticationTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    private func status(_ request: DataRequest) async -> Int? {
        await request.serializingData(emptyResponseCodes: Set(100..<600)).response.response?.statusCode
    }

    // MARK: The request's own credentials

    private static let guarded = ["/basic-auth/u/p", "/digest-auth/auth/u/p", "/digest-auth/auth/u/p/SHA-256"]

    @Test(
        "a line break in a URL's user or password is an error, and nothing is sent",
        arguments: ["u%0Aser:password", "user:pass%0D%0Aword", "user:%00"])
    func brokenUserinfo(userinfo: String) async throws {
        let server = try FixtureServer.start()
        let url = "http://\(userinfo)@127.0.0.1:\(server.port)/get"
        let session = Session.isolated()
        let response = await session.request(url).serializingData().response
        #expect(response.error?.urlErrorCode == .badURL, "\(response)")
        #expect(server.requests.isEmpty)
    }

    @Test("Basic and Digest, by MD5 and by SHA-256", arguments: guarded)
    func right(path: String) async {
        #expect(await status(session.request(server.url(path)).authenticate(username: "u", password: "p")) == 200)
    }

    @Test("wrong credentials end in the 401 response, not in a loop", arguments: guarded)
    func wrong(path: String) async {
        let response = await session.request(server.url(path)).authenticate(username: "u", password: "wrong")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.error == nil && response.response?.statusCode == 401)
        #expect(server.requests.count <= 2)
        #expect(await status(session.request(server.url(path))) == 401)
    }

    @Test("content is sent again with the answer", arguments: [100, 1_000_000])
    func content(byteCount: Int) async throws {
        server.route("/guarded") { request in
            request.field("Authorization") == nil
                ? FixtureResponse(status: 401, fields: [("WWW-Authenticate", "Basic realm=x")])
                : .text("\(request.body.count)")
        }
        let request = session.upload(Data(count: byteCount), to: server.url("/guarded"))
            .authenticate(username: "u", password: "p")
        #expect(try await request.serializingString().value == "\(byteCount)")
    }

    @Test(
        "the answer to a challenge goes to the same target, as it was written",
        arguments: ["/guarded", "/guarded?", "/guarded?a=%2Fb", "/x/../guarded", "/guarded/./?a"])
    func target(_ target: String) async throws {
        server.route(String(target.prefix { $0 != "?" })) { request in
            request.field("Authorization") == nil
                ? FixtureResponse(status: 401, fields: [("WWW-Authenticate", "Basic realm=x")]) : .text("in")
        }
        let request = session.request("http://127.0.0.1:\(server.port)\(target)")
        #expect(await status(request.authenticate(username: "u", password: "p")) == 200)
        #expect(server.requests.map(\.target) == [target, target])
    }

    @Test("with Basic alone no challenge is waited for; with Digest alone no password is given away for Basic")
    func schemes() async {
        let credential = URLCredential(user: "u", password: "p", persistence: .none)
        let hidden = session.request(server.url("/hidden-basic-auth/u/p"))
        #expect(await status(hidden.authenticate(with: credential, schemes: .basic)) == 200)
        let careful = session.request(server.url("/basic-auth/u/p")).authenticate(with: credential, schemes: .digest)
        #expect(await status(careful) == 401)
        #expect(server.requests.allSatisfy { $0.path.hasPrefix("/hidden") || $0.field("Authorization") == nil })
    }

    @Test("credentials never travel to another origin, on a redirect or in answer to its challenge")
    func otherOrigin() async throws {
        let other = try FixtureServer.start()
        let target = other.url("/basic-auth/u/p").absoluteString
        let request = session.request(server.url("/redirect-to?url=\(target)")).authenticate(
            username: "u", password: "p")
        #expect(await status(request) == 401)
        let sameOrigin = server.url("/basic-auth/u/p").absoluteString
        let back = session.request(server.url("/redirect-to?url=\(sameOrigin)")).authenticate(
            username: "u", password: "p")
        #expect(await status(back) == 200)
        #expect(other.requests.count == 1 && other.requests.allSatisfy { $0.field("Authorization") == nil })
    }

    @Test("a user with a line break in it is refused before anything is sent")
    func forged() async {
        let request = session.request(server.url("/get")).authenticate(username: "u\r\nX-Forged: 1", password: "p")
        let error = await request.serializingData().response.error
        #expect(error != nil && server.requests.isEmpty)
    }

    // MARK: The URL's

    @Test("credentials in the URL answer a challenge, and are no part of what is sent", arguments: guarded)
    func inURL(path: String) async throws {
        let url = "http://u:p@127.0.0.1:\(server.port)\(path)"
        let response = await session.request(url).serializingData().response
        #expect(response.response?.statusCode == 200)
        #expect(response.response?.url == server.url(path))
        #expect(server.requests.first?.field("Authorization") == nil)
    }

    @Test("percent-encoded credentials in the URL, and the request's own before them")
    func encodedInURL() async {
        let url = "http://a%40b:p%3Aq@127.0.0.1:\(server.port)/basic-auth/a@b/p:q"
        #expect(await status(session.request(url)) == 200)
        let both = "http://wrong:wrong@127.0.0.1:\(server.port)/basic-auth/u/p"
        #expect(await status(session.request(both).authenticate(username: "u", password: "p")) == 200)
    }

    // MARK: The storage's

    private func stored(_ credential: URLCredential, realm: String?, method: String) -> Session {
        Session.isolated { configuration in
            let space = URLProtectionSpace(
                host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: realm, authenticationMethod: method)
            configuration.urlCredentialStorage?.set(credential, for: space)
        }
    }

    @Test(
        "stored credentials answer a challenge of their protection space, and of no other",
        arguments: [
            ("/basic-auth/u/p", "fixture", NSURLAuthenticationMethodHTTPBasic, 200),
            ("/basic-auth/u/p", nil, NSURLAuthenticationMethodDefault, 200),
            ("/basic-auth/u/p", "other", NSURLAuthenticationMethodHTTPBasic, 401),
            ("/basic-auth/u/p", "fixture", NSURLAuthenticationMethodHTTPDigest, 401),
            ("/digest-auth/auth/u/p", "fixture", NSURLAuthenticationMethodHTTPDigest, 200),
            ("/digest-auth/auth/u/p/SHA-256", nil, NSURLAuthenticationMethodDefault, 200),
        ] as [(String, String?, String, Int)])
    func fromStorage(path: String, realm: String?, method: String, expected: Int) async {
        let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
        let session = stored(credential, realm: realm, method: method)
        #expect(await status(session.request(server.url(path))) == expected)
        #expect(server.requests.first?.field("Authorization") == nil)
    }

    @Test(
        "a session with another storage, or with none, neither reads nor changes the shared one",
        arguments: [true, false])
    func sharedStorage(hasStorage: Bool) async throws {
        let space = URLProtectionSpace(
            host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "fixture",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        func stored() -> [String] {
            URLCredentialStorage.shared.allCredentials.filter { $0.key.port == Int(server.port) }.flatMap(\.value.keys)
        }
        let session = Session.isolated { if !hasStorage { $0.urlCredentialStorage = nil } }
        let url = server.url("/basic-auth/u/p")
        #expect(await status(session.request(url).authenticate(username: "u", password: "p")) == 200)
        #expect(await status(session.request(url)) == (hasStorage ? 200 : 401))
        #expect(stored().isEmpty)
        let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
        URLCredentialStorage.shared.set(credential, for: space)
        defer { URLCredentialStorage.shared.remove(credential, for: space) }
        let other = Session.isolated { if !hasStorage { $0.urlCredentialStorage = nil } }
        #expect(await status(other.request(url)) == 401)
    }

    @Test("stored credentials that are refused end in the 401; the request's own are not replaced by them")
    func refusedFromStorage() async {
        let wrong = URLCredential(user: "u", password: "wrong", persistence: .forSession)
        let session = stored(wrong, realm: nil, method: NSURLAuthenticationMethodDefault)
        #expect(await status(session.request(server.url("/basic-auth/u/p"))) == 401)
        #expect(server.requests.count == 2)
        let right = stored(
            URLCredential(user: "u", password: "p", persistence: .forSession), realm: nil,
            method: NSURLAuthenticationMethodDefault)
        let own = right.request(server.url("/basic-auth/u/p")).authenticate(username: "u", password: "wrong")
        #expect(await status(own) == 401)
    }

    @Test("a field that the caller sets is left alone, whatever is stored")
    func ownField() async {
        let session = stored(
            URLCredential(user: "u", password: "p", persistence: .forSession), realm: nil,
            method: NSURLAuthenticationMethodDefault)
        let request = session.request(server.url("/basic-auth/u/p"), headers: [.authorization(bearerToken: "t")])
        #expect(await status(request) == 401)
        #expect(server.requests.map { $0.field("Authorization") } == ["Bearer t"])
    }

    @Test("an answer to a challenge is a transaction of the metrics, and no redirect")
    func metrics() async {
        let session = stored(
            URLCredential(user: "u", password: "p", persistence: .forSession), realm: nil,
            method: NSURLAuthenticationMethodDefault)
        let metrics = await session.request(server.url("/basic-auth/u/p")).serializingData().response.metrics
        #expect(metrics?.transactionMetrics.map { $0.response?.statusCode } == [401, 200])
        #expect(metrics?.redirectCount == 0)
    }

    @Test(
        "an accepted credential answers later requests, unless its persistence is none; a refused one does not",
        arguments: [
            (URLCredential.Persistence.forSession, "p", 200), (.permanent, "p", 200), (.none, "p", 401),
            (.forSession, "wrong", 401),
        ] as [(URLCredential.Persistence, String, Int)])
    func persistence(persistence: URLCredential.Persistence, password: String, expected: Int) async {
        for path in ["/basic-auth/u/p", "/digest-auth/auth/u/p"] {
            let session = Session.isolated()
            let url = server.url(path)
            let first = session.request(url).authenticate(username: "u", password: password, persistence: persistence)
            _ = await status(first)
            #expect(await status(session.request(url)) == expected)
        }
    }

    // MARK: netrc

    @Test("a netrc file is used when the session is given it: at once for Basic, after a challenge for Digest")
    func netrc() async throws {
        let session = Session(
            configuration: .af.ephemeral, eventMonitors: [],
            options: SessionOptions(netrc: try Netrc("machine 127.0.0.1 login u password p default login x password y"))
        )
        #expect(await status(session.request(server.url("/hidden-basic-auth/u/p"))) == 200)
        for path in Self.guarded { #expect(await status(session.request(server.url(path))) == 200) }
        #expect(await status(session.request(server.url("/basic-auth/u/other"))) == 401)
        // An origin that it names otherwise gets its own credentials, also after a redirect.
        let target = "http://localhost:\(server.port)/hidden-basic-auth/x/y"
        #expect(await status(session.request(server.url("/redirect-to?url=\(target)"))) == 200)
        #expect(
            await status(session.request(server.url("/bearer"), headers: [.authorization(bearerToken: "t")])) == 200)
    }
}
