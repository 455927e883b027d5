import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Cookies and settings", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CookieSettingTests {
    private let seen = ProtectedList<String?>()
    private let sessions = ProtectedList<Session>()

    /// A session whose every response sets a numbered cookie.
    private func session(
        fields: [Field] = [Field(name: "Set-Cookie", value: "a=1")],
        configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configure(configuration)
        let seen = seen
        let transport = ScriptedTransport { message in
            seen.append(message.fields.value(of: "Cookie"))
            return [.head(ResponseHead(status: 204, fields: fields))]
        }
        let session = Session(transport: transport, configuration: configuration, eventMonitors: [])
        sessions.append(session)
        return session
    }

    private func send(
        _ session: Session, _ url: String = "http://www.example.com/", change: (inout URLRequest) -> Void = { _ in }
    ) async throws {
        var request = URLRequest(url: try #require(URL(string: url)))
        change(&request)
        _ = await session.request(request).serializingData().response
    }

    @Test("neither a session nor a storage that accepts nothing gets any")
    func never() async throws {
        let session = session { $0.httpCookieAcceptPolicy = .never }
        for _ in 0..<2 { try await send(session) }
        let storage = self.session { $0.httpCookieStorage?.cookieAcceptPolicy = .never }
        for _ in 0..<2 { try await send(storage) }
        #expect(seen.all == [nil, nil, nil, nil])
    }

    @Test("a session that sets no cookies still keeps them, for others of its storage")
    func keepsWithoutSending() async throws {
        let storage = URLSessionConfiguration.af.ephemeral.httpCookieStorage
        let silent = session {
            $0.httpShouldSetCookies = false
            $0.httpCookieStorage = storage
        }
        for _ in 0..<2 { try await send(silent) }
        try await send(session { $0.httpCookieStorage = storage })
        #expect(seen.all == [nil, nil, "a=1"])
    }

    @Test("without a storage there are none")
    func noStorage() async throws {
        let session = session { $0.httpCookieStorage = nil }
        for _ in 0..<2 { try await send(session) }
        #expect(seen.all == [nil, nil])
    }

    @Test("a request that does not handle cookies neither carries nor keeps them")
    func requestWithout() async throws {
        let session = session()
        try await send(session) { $0.httpShouldHandleCookies = false }
        try await send(session)
        try await send(session) { $0.httpShouldHandleCookies = false }
        try await send(session)
        #expect(seen.all == [nil, nil, nil, "a=1"])
    }

    @Test("a Cookie field of the caller's is left alone")
    func ownField() async throws {
        let session = session()
        try await send(session)
        try await send(session) { $0.setValue("mine=1", forHTTPHeaderField: "Cookie") }
        #expect(seen.all == [nil, "mine=1"])
    }

    @Test(
        "cookies of other sites than the main document's are refused where the policy says so",
        arguments: [
            (HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain, "http://shop.example.com/", true),
            (.onlyFromMainDocumentDomain, "http://example.com/", true),
            (.onlyFromMainDocumentDomain, "http://example.org/", false),
            (.onlyFromMainDocumentDomain, nil, true), (.always, "http://example.org/", true),
        ] as [(HTTPCookie.AcceptPolicy, String?, Bool)])
    func mainDocument(policy: HTTPCookie.AcceptPolicy, document: String?, isKept: Bool) async throws {
        let session = session { $0.httpCookieAcceptPolicy = policy }
        try await send(session) { $0.mainDocumentURL = document.flatMap(URL.init(string:)) }
        try await send(session)
        #expect(seen.all == [nil, isKept ? "a=1" : nil])
    }

    @Test("what users put into the storage is sent, and what is kept they can see")
    func storage() async throws {
        let storage = try #require(URLSessionConfiguration.af.ephemeral.httpCookieStorage)
        let cookie = HTTPCookie(properties: [.name: "u", .value: "2", .domain: ".example.com", .path: "/"])
        storage.setCookie(try #require(cookie))
        let line = "a=1; Secure; HttpOnly; Path=/x; Domain=example.com; Max-Age=60"
        let session = session(fields: [Field(name: "Set-Cookie", value: line)]) { $0.httpCookieStorage = storage }
        try await send(session, "https://www.example.com/")
        #expect(seen.all == ["u=2"])
        let kept = try #require(storage.cookies?.first { $0.name == "a" })
        #expect(kept.domain == ".example.com" && kept.path == "/x" && kept.isSecure && kept.isHTTPOnly)
        #expect(!kept.isSessionOnly && (50...60).contains(kept.expiresDate?.timeIntervalSinceNow ?? 0))
    }

    @Test("no cookie lives longer than 400 days")
    func longLife() async throws {
        let storage = try #require(URLSessionConfiguration.af.ephemeral.httpCookieStorage)
        let fields = ["a=1; Max-Age=99999999999", "b=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT"]
        let session = session(fields: fields.map { Field(name: "Set-Cookie", value: $0) }) {
            $0.httpCookieStorage = storage
        }
        try await send(session)
        let days = (storage.cookies ?? []).map { ($0.expiresDate?.timeIntervalSinceNow ?? .infinity) / 86_400 }
        #expect(days.count == 2 && days.allSatisfy { (399...400).contains($0) })
    }

    @Test("a host that sets too many cookies loses its own oldest ones (§5.3, §6.1)")
    func tooMany() async throws {
        let storage = try #require(URLSessionConfiguration.af.ephemeral.httpCookieStorage)
        let other = HTTPCookie(properties: [.name: "u", .value: "2", .domain: "example.org", .path: "/"])
        storage.setCookie(try #require(other))
        let fields = (0..<200).map { Field(name: "Set-Cookie", value: "c\($0)=\($0)") }
        try await send(session(fields: fields) { $0.httpCookieStorage = storage })
        let names = Set((storage.cookies ?? []).map(\.name))
        #expect(names.count == 181 && names.contains("u"))
        #expect(!names.contains("c19") && names.contains("c20") && names.contains("c199"))
    }

    @Test("a redirect's cookies go where they belong: to the next hop, and not to another host")
    func redirects() async throws {
        let seen = seen
        let transport = ScriptedTransport { message in
            seen.append("\(message.url) \(message.fields.value(of: "Cookie") ?? "-")")
            let next = [
                "http://a.example.com/": "http://b.example.com/", "http://b.example.com/": "http://example.org/",
            ]
            guard let target = next[message.url] else { return [.head(ResponseHead(status: 204, fields: []))] }
            let fields = [
                Field(name: "Location", value: target), Field(name: "Set-Cookie", value: "host=1"),
                Field(name: "Set-Cookie", value: "site=2; Domain=example.com"),
            ]
            return [.head(ResponseHead(status: 302, fields: fields))]
        }
        let session = Session(transport: transport, configuration: .af.ephemeral, eventMonitors: [])
        try await send(session, "http://a.example.com/")
        #expect(seen.all == ["http://a.example.com/ -", "http://b.example.com/ site=2", "http://example.org/ -"])
    }
}
