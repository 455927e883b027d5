import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Glibc
import Testing

@Suite("Cookie files", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CookieFileTests {
    private let folder: TemporaryFolder
    private let server: FixtureServer
    private var url: URL { folder.file("program/cookies.json") }

    init() throws {
        folder = try TemporaryFolder()
        server = try FixtureServer.start()
        server.route("/set") { _ in
            FixtureResponse(
                status: 200, fields: [("Set-Cookie", "kept=1; Max-Age=1000; HttpOnly"), ("Set-Cookie", "session=2")])
        }
    }

    private func request(_ path: String, with file: CookieFile) async {
        let session = Session.isolated { $0.httpCookieStorage = file.storage }
        let response = await session.request(server.url(path)).serializingData(emptyResponseCodes: [200]).response
        #expect(response.error == nil)
        withExtendedLifetime(session) {}
    }

    private func sent(with file: CookieFile) async -> String? {
        await request("/anything", with: file)
        return server.requests.last?.field("Cookie")
    }

    @Test(
        "cookies that a response set are in the file when it is delivered, and sent by the next run",
        arguments: [false, true])
    func nextRun(keepsSessionCookies: Bool) async throws {
        let first = try CookieFile(at: url, keepsSessionCookies: keepsSessionCookies)
        await request("/set", with: first)
        #expect(first.lastError == nil)
        let second = try CookieFile(at: url, keepsSessionCookies: keepsSessionCookies)
        #expect(await sent(with: second) == (keepsSessionCookies ? "kept=1; session=2" : "kept=1"))
        #expect(second.storage.cookies?.first { $0.name == "kept" }?.isHTTPOnly == true)
    }

    @Test("other users cannot read the file, or list its folder")
    func modes() async throws {
        let file = try CookieFile(at: url)
        await request("/set", with: file)
        for (path, mode) in [(url.path, 0o600), (url.deletingLastPathComponent().path, 0o700)] {
            var status = stat()
            #expect(stat(path, &status) == 0 && Int(status.st_mode & 0o777) == mode)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path).count == 1)
    }

    @Test("cookies that were put into the storage by hand are written on request")
    func byHand() async throws {
        let file = try CookieFile(at: url)
        let cookie = HTTPCookie(properties: [
            .name: "u", .value: "ü", .domain: "127.0.0.1", .path: "/", .expires: Date(timeIntervalSinceNow: 100),
        ])
        file.storage.setCookie(try #require(cookie))
        try file.save()
        #expect(await sent(with: try CookieFile(at: url)) == "u=ü")
    }

    @Test("a pipe in place of the file is an error, which does not wait")
    func pipe() throws {
        let file = folder.file("pipe")
        #expect(mkfifo(file.path, 0o600) == 0)
        #expect(throws: CocoaError.self) { try CookieFile(at: file) }
    }

    @Test("a file that holds something else is an error, and stays")
    func damaged() throws {
        let file = folder.file("other")
        try Data("something else".utf8).write(to: file)
        #expect(throws: DecodingError.self) { try CookieFile(at: file) }
        #expect(try Data(contentsOf: file) == Data("something else".utf8))
    }

    @Test(
        "what no response could have set is not sent, and traps nothing",
        arguments: [
            "1e300", "1.7e308", "9.3e18", "4e9",
        ])
    func foreign(expires: String) async throws {
        let entry = { (name: String, value: String) in
            "{\"name\":\"\(name)\",\"value\":\"\(value)\",\"domain\":\"127.0.0.1\",\"path\":\"/\",\"isSecure\":false,"
                + "\"isHTTPOnly\":false,\"expires\":\(expires)}"
        }
        let file = folder.file("cookies.json")
        try Data("[\(entry("a", "1")),\(entry("b", "2\\r\\nX: y")),\(entry("", ""))]".utf8).write(to: file)
        let cookies = try CookieFile(at: file)
        let field = await sent(with: cookies)
        #expect(field?.contains("a=1") == true && field?.contains("X") == false)
        await request("/set", with: cookies)
        #expect(cookies.lastError == nil)
        #expect(await sent(with: try CookieFile(at: file))?.contains("kept=1") == true)
    }

    @Test("a file that cannot be written is told of")
    func unwritable() async throws {
        try Data().write(to: folder.file("program"))
        let file = try CookieFile(at: url)
        await request("/set", with: file)
        #expect(file.lastError != nil)
        #expect(throws: (any Error).self) { try file.save() }
    }
}

@Suite("Defaults of sessions")
struct SessionDefaultTests {
    @Test("cookies and responses are kept in memory, for all sessions of the process")
    func memory() {
        let (first, second) = (URLSessionConfiguration.af.default, URLSessionConfiguration.af.default)
        #expect(first.httpCookieStorage != nil && first.httpCookieStorage === second.httpCookieStorage)
        #expect(first.httpCookieStorage !== HTTPCookieStorage.shared)
        #expect(first.urlCache != nil && first.urlCache === second.urlCache)
        #expect(first.urlCache !== URLCache.shared && first.urlCache?.diskCapacity == 0)
        #expect(Session.default.sessionConfiguration.httpCookieStorage === first.httpCookieStorage)
    }

    @Test("what Foundation shares is used as it is when somebody passes it")
    func shared() {
        let configuration = URLSessionConfiguration.af.default
        configuration.httpCookieStorage = .shared
        let session = Session(configuration: configuration)
        #expect(session.sessionConfiguration.httpCookieStorage === HTTPCookieStorage.shared)
        #expect(URLSessionConfiguration.default.urlCache === URLCache.shared)
    }
}
