import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// Redirects that servers get wrong, over the wire.
@Suite("Redirect locations", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LocationTests {
    private let session = Session.isolated()

    private func server(location: String, status: Int = 302) throws -> ScriptedServer {
        try ScriptedServer.start([
            .receiveHead,
            .send("HTTP/1.1 \(status) Moved\r\nLocation: \(location)\r\nContent-Length: 2\r\n\r\nno"),
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .hold,
        ])
    }

    private func targets(_ server: ScriptedServer) -> [String] {
        server.events.events.compactMap { event in
            guard case .head(_, let text) = event else { return nil }
            return text.split(separator: " ").dropFirst().first.map(String.init)
        }
    }

    @Test(
        "a relative Location is resolved against the URL (RFC 3986 §5.2)",
        arguments: [
            ("/b", "/b"), ("b", "/x/b"), ("./b", "/x/b"), ("../b", "/b"), ("../../../b", "/b"), ("?q=1", "/x/a?q=1"),
            ("b?q=1#f", "/x/b?q=1"), ("/b c", "/b%20c"), ("/\u{FC}", "/%C3%BC"), ("/%C3%BC", "/%C3%BC"),
            ("/%zz", "/%25zz"), ("/a|b", "/a%7Cb"), ("  /b  ", "/b"), ("/b\t", "/b"), ("#f", "/x/a"),
            ("/a\\b", "/a%5Cb"), ("/[x]", "/%5Bx%5D"), ("/s?f[n]=a%20b", "/s?f%5Bn%5D=a%20b"),
            ("/100%?q=%20", "/100%25?q=%20"), ("//", nil),
        ] as [(String, String?)])
    func relative(location: String, target: String?) async throws {
        let server = try server(location: location)
        let response = await session.request(server.url("/x/a")).serializingString().response
        if let target {
            #expect(response.value == "ok" && targets(server) == ["/x/a", target])
        } else {
            // Read one way or another, it ends: with the target, or with an error that says so.
            #expect(response.value == "ok" || response.error != nil)
        }
    }

    @Test(
        "a Location that leads nowhere is an error, and nothing crashes",
        arguments: [
            "http://", "http:///x", "http://:80/", "http://[::1/", "http://h:99999999/", "http://h:x/", "https://",
            "//",
            "http://\u{0}x/", "file:///etc/passwd", "javascript:alert(1)", "data:text/plain,x", "ftp://127.0.0.1/",
            "mailto:a@b",
            "http://a b/", "http://%zz/", String(repeating: "/x", count: 20_000), "http://user:pa ss@/", ":", "::",
            "http:", "http://b\\@127.0.0.1/", "http://127.0.0.1\\@b/",
        ])
    func nowhere(location: String) async throws {
        let server = try server(location: location)
        let session = Session.isolated { $0.timeoutIntervalForRequest = 5 }
        let response = await session.request(server.url("/x/a")).serializingString().response
        #expect(response.error != nil || response.response != nil)
        #expect(targets(server).count <= 2)
    }

    @Test("an empty Location is an error; a redirect without one is the response")
    func none() async throws {
        let empty = try server(location: "")
        let error = await session.request(empty.url()).serializingString().response.error
        #expect(error?.urlErrorCode == .redirectToNonExistentLocation)
        let missing = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 302 Moved\r\nContent-Length: 2\r\n\r\nno"), .hold,
        ])
        let response = await session.request(missing.url()).serializingString().response
        #expect(response.response?.statusCode == 302 && response.value == "no")
    }

    @Test("of several Locations the first counts")
    func several() async throws {
        let server = try server(location: "/first\r\nLocation: /second")
        _ = await session.request(server.url("/x")).serializingString().response
        #expect(targets(server) == ["/x", "/first"])
    }

    @Test("statuses that are no redirect are the response, Location or not", arguments: [300, 304, 305, 306, 399])
    func otherStatuses(status: Int) async throws {
        let server = try server(location: "/b", status: status)
        let request = session.request(server.url("/x"))
        let response = await request.serializingData(emptyResponseCodes: [304]).response
        #expect(response.response?.statusCode == status && targets(server) == ["/x"])
    }
}

@Suite("Redirect limits", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RedirectLimitTests {
    let server: FixtureServer
    private let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
        server.route("/loop") { _ in FixtureResponse(status: 302, fields: [("Location", "/loop")]) }
        server.route("/there") { _ in FixtureResponse(status: 307, fields: [("Location", "/back")]) }
        server.route("/back") { _ in FixtureResponse(status: 307, fields: [("Location", "/there")]) }
    }

    @Test("a loop ends after twenty redirects with httpTooManyRedirects", arguments: ["/loop", "/there"])
    func loop(path: String) async {
        let response = await session.request(server.url(path)).serializingData().response
        #expect(response.error?.urlErrorCode == .httpTooManyRedirects)
        #expect(server.requests.count == 21)
        #expect(response.metrics?.redirectCount == 20)
    }

    @Test("as many are followed as the handler says: the request's, else the session's", arguments: [0, 1, 3, 25])
    func limits(limit: Int) async {
        let redirector = Redirector(behavior: .follow, maximumRedirectCount: limit)
        let session = Session.isolated(redirectHandler: redirector)
        if limit > 0 {
            let enough = await session.request(server.url("/relative-redirect/\(limit)")).serializingData().response
            #expect(enough.response?.statusCode == 200)
        }
        let tooMany = await session.request(server.url("/relative-redirect/\(limit + 1)")).serializingData().response
        #expect(tooMany.error?.urlErrorCode == .httpTooManyRedirects)
        let own = session.request(server.url("/relative-redirect/\(limit + 1)"))
            .redirect(using: Redirector(behavior: .follow, maximumRedirectCount: limit + 1))
        #expect(await own.serializingData().response.response?.statusCode == 200)
    }

    @Test("a handler's request keeps the session's fields, without those of the origin that is left")
    func handlersFields() async throws {
        let other = try FixtureServer.start()
        let target = other.url("/anything")
        let session = Session.isolated { $0.headers = ["User-Agent": "ours", "Authorization": "Bearer secret"] }
        let request = session.request(server.url("/redirect/1"))
            .redirect(using: .modify { _, _, _ in URLRequest(url: target) })
        let seen = try await request.serializingDecodable(Anything.self).value.headers
        #expect(seen["User-Agent"] == "ours" && seen["Authorization"] == nil)
    }

    @Test("the request's handler is asked instead of the session's, with request and response")
    func whoIsAsked() async {
        let asked = ProtectedList<String>()
        let session = Session.isolated(
            redirectHandler: .modify { _, request, _ in
                asked.append("session")
                return request
            })
        let request = session.request(server.url("/redirect/1")).redirect(
            using: .modify { task, request, response in
                asked.append("\(task.taskIdentifier) \(request.url?.path ?? "") \(response.statusCode)")
                return request
            })
        _ = await request.serializingData().response
        #expect(asked.all == ["1 /get 302"])
    }
}
