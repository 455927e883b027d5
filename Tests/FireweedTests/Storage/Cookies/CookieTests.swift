import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@testable import Fireweed

@Suite("Cookies", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CookieTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    private struct Cookies: Decodable {
        let cookies: [String: String]
    }

    @Test("what a redirect sets is sent with the next hop, and later; Max-Age=0 takes it away")
    func acrossRedirects() async throws {
        let set = try await session.request(server.url("/cookies/set?a=1&b=2")).serializingDecodable(Cookies.self).value
        #expect(set.cookies == ["a": "1", "b": "2"])
        let later = try await session.request(server.url("/cookies")).serializingDecodable(Cookies.self).value
        #expect(later.cookies == ["a": "1", "b": "2"])
        let left = try await session.request(server.url("/cookies/delete?a")).serializingDecodable(Cookies.self).value
        #expect(left.cookies == ["b": "2"])
    }

    @Test("octets that are not UTF-8 come back as they were (RFC 6265 §5.4)")
    func octets() async throws {
        let fields =
            Data("HTTP/1.1 204 OK\r\nSet-Cookie: a=x".utf8) + [0xFC] + Data("y\r\nSet-Cookie: b=ü\r\n\r\n".utf8)
        let server = try ScriptedServer.start([.receiveHead, .sendData(fields), .receiveHead, .sendData(fields), .hold])
        for _ in 0..<2 { _ = await session.request(server.url()).serializingData().response }
        let heads = server.events.events.compactMap { if case .head(_, let text) = $0 { text } else { nil } }
        // The octet alone is no UTF-8, and shows as a replacement character.
        #expect(heads.count == 2 && heads[1].contains("Cookie: a=x\u{FFFD}y; b=ü\r\n"))
        let stored = session.sessionConfiguration.httpCookieStorage?.cookies ?? []
        #expect(Set(stored.map(\.value)) == ["xüy", "ü"])
    }

    @Test("of 990 cookies of one response the last 180 are kept")
    func many() async throws {
        let head = (0..<990).map { "Set-Cookie: c\($0)=\($0)\r\n" }.joined()
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\n\(head)Content-Length: 2\r\n\r\nok"), .hold])
        let session = Session.isolated()
        #expect(try await session.request(server.url()).serializingString().value == "ok")
        let names = Set(session.sessionConfiguration.httpCookieStorage?.cookies?.map(\.name) ?? [])
        #expect(names == Set((810..<990).map { "c\($0)" }))
    }

    @Test("sessions with storages of their own do not see each other's cookies")
    func isolation() async throws {
        _ = await session.request(server.url("/cookies/set?a=1")).serializingData().response
        let session = Session.isolated()
        let other = try await session.request(server.url("/cookies")).serializingDecodable(Cookies.self).value
        #expect(other.cookies.isEmpty)
    }

    @Test("a session that never accepts cookies sends none")
    func neverAccept() async throws {
        let session = Session.isolated { $0.httpCookieAcceptPolicy = .never }
        let value = try await session.request(server.url("/cookies/set?a=1")).serializingDecodable(Cookies.self).value
        #expect(value.cookies.isEmpty)
    }

    @Test(
        "domain-match follows RFC 6265 §5.1.3",
        arguments: [
            ("www.example.com", ".example.com", true), ("example.com", ".example.com", true),
            ("badexample.com", ".example.com", false),  // ends alike, but not at a dot
            ("www.example.com", "example.com", false),  // host-only
            ("192.0.2.1", ".2.1", false),  // never for an address
            ("www.xn--bcher-kva.test", ".Bücher.test", true),
            ("xn--bcher-kva.test.", "bücher.test.", true), ("a.test", ".a.test.", false), ("a.test.", ".a.test", false),
            ("example.com", ".com..", false),  // no host ends in two dots
        ])
    func domainMatch(host: String, domain: String, expected: Bool) {
        #expect(CookieRules.domainMatches(host, domain) == expected)
    }

    @Test(
        "path-match follows RFC 6265 §5.1.4",
        arguments: [
            ("/", "/", true), ("/a", "/", true), ("/a/b", "/a", true), ("/a/b", "/a/", true), ("/ab", "/a", false),
            ("/", "/a", false),
        ])
    func pathMatch(path: String, cookiePath: String, expected: Bool) {
        #expect(CookieRules.pathMatches(path, cookiePath) == expected)
    }
}
