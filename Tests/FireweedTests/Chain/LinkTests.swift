import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@testable import Fireweed

@Suite("Decisions of the links", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LinkTests {
    private static let settings = SessionSettings(
        .af.ephemeral, options: TransportOptions(), maximumRedirectCount: 2)

    struct RedirectRow: Sendable, CustomTestStringConvertible {
        let status: Int
        var location: String? = "/new"
        var method = "GET"
        var count = 0
        var handler: Redirector?
        let decision: String

        var testDescription: String { "\(method) \(status) \(location ?? "nowhere") after \(count): \(decision)" }
    }

    @Test(
        "redirects",
        arguments: [
            RedirectRow(status: 200, decision: "pass"), RedirectRow(status: 304, decision: "pass"),
            RedirectRow(status: 302, location: nil, decision: "pass"),
            RedirectRow(status: 302, decision: "again GET http://a.test/new"),
            RedirectRow(status: 302, method: "POST", decision: "again GET http://a.test/new"),
            RedirectRow(status: 307, method: "POST", decision: "again POST http://a.test/new"),
            RedirectRow(status: 303, method: "PUT", decision: "again GET http://a.test/new"),
            RedirectRow(status: 301, location: "ftp://a.test/", decision: "fail -1002"),
            RedirectRow(status: 301, count: 1, decision: "again GET http://a.test/new"),
            RedirectRow(status: 301, count: 2, decision: "fail -1007"),
            RedirectRow(status: 302, handler: .follow, decision: "later again GET http://a.test/new"),
            RedirectRow(status: 302, handler: .doNotFollow, decision: "later pass"),
            RedirectRow(
                status: 302, handler: .modify { _, _, _ in try? URLRequest(url: "http://b.test/", method: .get) },
                decision: "later again GET http://b.test/"),
            RedirectRow(
                status: 302, handler: .modify { _, _, _ in try? URLRequest(url: "ftp://b.test/", method: .get) },
                decision: "later fail -1000"),
        ])
    func redirects(row: RedirectRow) async {
        let link = RedirectLink(settings: Self.settings, queue: DispatchQueue(label: "redirects"))
        let host = StubHost(redirectHandler: row.handler)
        var message = OutgoingMessage("http://a.test/old", method: row.method)
        message.redirectCount = row.count
        var exchange = ChainContext(message)
        let head = ResponseHead(row.status, row.location.map { ["Location": $0] } ?? [:])
        let decision = link.receive(head, in: &exchange, for: host)
        #expect(await decision.summary(exchange) == row.decision)
        let isShown = row.decision.contains("again") || row.handler != nil
        #expect(host.announced.all == (isShown ? ["redirect to http://a.test/new"] : []))
    }

    struct ChallengeRow: Sendable, CustomTestStringConvertible {
        let status: Int
        var challenge = "Basic realm=\"r\""
        var message = OutgoingMessage("http://a.test/")
        let decision: String

        var testDescription: String { "\(status) \(challenge): \(decision)" }
    }

    @Test(
        "challenges",
        arguments: [
            ChallengeRow(status: 200, decision: "pass"), ChallengeRow(status: 407, decision: "pass"),
            ChallengeRow(status: 401, decision: "pass"),
            ChallengeRow(status: 401, message: withCredentials, decision: "again GET http://a.test/"),
            ChallengeRow(
                status: 401, challenge: "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"", message: withCredentials,
                decision: "again GET http://a.test/"),
            ChallengeRow(status: 401, challenge: "Unknown", message: withCredentials, decision: "pass"),
        ])
    func challenges(row: ChallengeRow) async {
        let link = AuthenticationLink(credentials: CredentialSource(storage: nil, netrc: nil))
        let host = StubHost()
        var exchange = ChainContext(row.message)
        let head = ResponseHead(row.status, ["WWW-Authenticate": row.challenge])
        let decision = link.receive(head, in: &exchange, for: host)
        #expect(await decision.summary(exchange) == row.decision)
        #expect(host.announced.all == (row.status == 200 ? [] : ["challenge \(row.status)"]))
    }

    private static var withCredentials: OutgoingMessage {
        var message = OutgoingMessage("http://a.test/")
        message.adopt(RequestMessage.Credentials(user: "ada", password: "secret"))
        return message
    }

    @Test("a message to a host that asked for TLS goes over TLS, whatever else it says")
    func strictTransport() {
        let store = StrictTransportSecurity(file: nil, maximumHostCount: 10)
        store.add("a.test", lifetime: 60)
        let link = StrictTransportLink(store: store, clock: SystemClock()) { _ in true }
        for (given, sent) in [
            ("http://a.test/x", "https://a.test/x"), ("http://a.test:80/", "https://a.test:443/"),
            ("http://b.test/", "http://b.test/"), ("https://a.test/", "https://a.test/"),
        ] {
            var exchange = ChainContext(OutgoingMessage(given))
            guard case .pass = link.send(&exchange, for: StubHost()) else { return #expect(Bool(false), "\(given)") }
            #expect(exchange.message.wire.url == sent && exchange.message.url.absoluteString == sent)
        }
    }

    @Test("cookies are added for requests that want them, and those of an answer are put off")
    func cookies() {
        let configuration = URLSessionConfiguration.af.ephemeral
        let settings = SessionSettings(configuration, options: TransportOptions(), maximumRedirectCount: nil)
        let jar = CookieJar(storage: configuration.httpCookieStorage)
        let link = CookieLink(jar: jar, settings: settings)
        var exchange = ChainContext(OutgoingMessage("http://a.test/"))
        link.observe(ResponseHead(401, ["Set-Cookie": "a=1"]), in: &exchange, for: StubHost(handlesCookies: false))
        #expect(exchange.deferredWork.isEmpty)
        link.observe(ResponseHead(401, ["Set-Cookie": "a=1"]), in: &exchange, for: StubHost())
        #expect(exchange.deferredWork.count == 1)
        let group = DispatchGroup()
        for work in exchange.deferredWork { work(group) }
        _ = link.send(&exchange, for: StubHost(handlesCookies: false))
        #expect(!exchange.fields.contains("Cookie"))
        _ = link.send(&exchange, for: StubHost())
        #expect(exchange.fields.value(of: "Cookie") == "a=1")
    }

    @Test("the rest of a download is asked for as a whole when the answer is of no use")
    func resumption() async {
        let link = ResumptionLink { $0.status == 416 }
        var exchange = ChainContext(
            OutgoingMessage("http://a.test/", ["Range": "bytes=1-", "If-Range": "\"1\"", "X-Own": "1"]))
        _ = link.send(&exchange, for: StubHost())
        #expect(exchange.awaitsHead)
        let whole = link.receive(ResponseHead(206), in: &exchange, for: StubHost())
        #expect(await whole.summary(exchange) == "pass")
        guard case .again(let next) = link.receive(ResponseHead(416), in: &exchange, for: StubHost()) else {
            Issue.record("the whole was not asked for")
            return
        }
        #expect(next.fields.fields.map(\.name) == ["X-Own"])
    }
}
