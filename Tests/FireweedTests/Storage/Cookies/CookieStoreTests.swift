import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@testable import Fireweed

@Suite("Cookies of a storage", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CookieStoreTests {
    private let storage: HTTPCookieStorage
    private let store: CookieStore
    private let base = FieldBlock([Field(name: "Accept", value: "*/*")])

    init() throws {
        storage = try #require(URLSessionConfiguration.af.ephemeral.httpCookieStorage)
        store = CookieStore.of(storage)
    }

    private func cookie(_ name: String, _ value: String = "1", domain: String = "a.test") throws -> HTTPCookie {
        try #require(HTTPCookie(properties: [.name: name, .value: value, .domain: domain, .path: "/"]))
    }

    private func fields(_ text: String = "http://a.test/") throws -> FieldBlock? {
        store.fields(adding: base, for: try #require(URL(string: text)), text: text)
    }

    private func sent(_ text: String = "http://a.test/") throws -> String? {
        try fields(text)?.value(of: "Cookie")
    }

    private func add(_ cookies: [HTTPCookie], isSecure: Bool = true) async {
        await withCheckedContinuation { continuation in
            store.add(cookies, isSecure: isSecure) { continuation.resume() }
        }
    }

    @Test("a cookie that would forge a field is not sent, and the others are", arguments: ["1\r\nX: y", "1\n", "\0"])
    func brokenCookie(value: String) throws {
        storage.setCookie(try cookie("a"))
        // Foundation keeps whatever other code gives it.
        storage.setCookie(try cookie("broken", value))
        storage.setCookie(try cookie("b"))
        #expect(try sent() == "a=1; b=1")
    }

    @Test("sessions that share a storage share its store")
    func sharing() throws {
        #expect(CookieStore.of(storage) === store)
        let other = try #require(URLSessionConfiguration.af.ephemeral.httpCookieStorage)
        #expect(CookieStore.of(other) !== store)
    }

    @Test("what other code puts into a small storage, changes and takes away is seen by the next request")
    func others() throws {
        #expect(try sent() == nil)
        storage.setCookie(try cookie("u"))
        #expect(try sent() == "u=1")
        storage.setCookie(try cookie("u", "2"))
        #expect(try sent() == "u=2")
        storage.deleteCookie(try cookie("u"))
        #expect(try sent() == nil)
    }

    @Test("a cookie of a response that other code takes away is not sent again")
    func takenAway() async throws {
        #expect(try sent() == nil)
        let added = try cookie("u")
        await add([added])
        #expect(try sent() == "u=1")
        await add([try cookie("v")])
        for cookie in storage.cookies ?? [] { storage.deleteCookie(cookie) }
        #expect(try sent() == nil)
    }

    @Test("what other code changes in a large storage is seen soon")
    func othersInLargeStorage() async throws {
        for number in 0..<300 { storage.setCookie(try cookie("c\(number)", domain: "h\(number).test")) }
        _ = try sent()
        storage.setCookie(try cookie("u"))
        // At most so many microseconds later as there are cookies.
        while try sent() != "u=1" { await Task.yield() }
        storage.deleteCookie(try cookie("u"))
        while try sent() != nil { await Task.yield() }
    }

    @Test("a field is made once for a URL, and again when a cookie changes or expires")
    func made() async throws {
        await add([try cookie("u"), try cookie("v")])
        let first = try #require(try fields())
        #expect(try fields() === first)
        storage.setCookie(try cookie("w", domain: "b.test"))
        let second = try #require(try fields())
        #expect(second !== first && second.value(of: "Cookie") == first.value(of: "Cookie"))
        await add([try cookie("u", "2")])
        #expect(try sent()?.contains("u=2") == true)
        let other = FieldBlock([Field(name: "Accept", value: "text/html")])
        let url = try #require(URL(string: "http://a.test/"))
        #expect(store.fields(adding: other, for: url, text: "http://a.test/")?.value(of: "Accept") == "text/html")
    }

    @Test("cookies of a response are sent at once, and in the storage when it is told so")
    func addition() async throws {
        let cookies = try (0..<180).map { try cookie("c\($0)") }
        await withCheckedContinuation { continuation in
            store.add(cookies, isSecure: true) { continuation.resume() }
            #expect((try? sent())?.contains("c179=1") == true)
        }
        #expect(storage.cookies?.count == 180)
    }

    @Test("of two responses at the same time the later one counts, in the storage too")
    func order() async throws {
        let (old, new) = (try (0..<20).map { try cookie("c\($0)", "old") }, try cookie("c19", "new"))
        store.add(old, isSecure: true) {}
        await add([new])
        #expect(try sent()?.contains("c19=new") == true)
        while storage.cookies?.count != 20 { await Task.yield() }
        #expect(storage.cookies?.first { $0.name == "c19" }?.value == "new")
    }
}

@Suite("The index of cookies")
struct CookieIndexTests {
    private let now = Date()

    private func cookie(
        _ name: String, _ value: String = "1", domain: String = "a.test", path: String = "/", age: TimeInterval? = nil
    ) throws -> HTTPCookie {
        var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: domain, .path: path]
        if let age { properties[.expires] = now.addingTimeInterval(age) }
        return try #require(HTTPCookie(properties: properties))
    }

    private func names(_ index: CookieIndex, _ host: String, path: String = "/") -> [String] {
        index.cookies(forHost: host, path: path, isSecure: false, now: now).map(\.identity.name)
    }

    private func counts(_ changes: [CookieIndex.Change]) -> (set: Int, deleted: Int) {
        let set = changes.count { if case .set = $0 { true } else { false } }
        return (set, changes.count - set)
    }

    @Test("a host gets its own cookies and those of domains above it, longer paths first")
    func lookUp() throws {
        var index = CookieIndex()
        let changed = index.replaceAll(with: [
            try cookie("host", domain: "www.a.test"), try cookie("site", domain: ".a.test"),
            try cookie("above", domain: "a.test"), try cookie("path", domain: ".a.test", path: "/x"),
            try cookie("expired", domain: ".a.test", age: -1), try cookie("address", domain: "127.0.0.1"),
            try cookie("below", domain: ".0.0.1"),
        ])
        #expect(changed)
        #expect(Set(names(index, "www.a.test")) == ["host", "site"])
        #expect(names(index, "www.a.test", path: "/x/y").first == "path")
        #expect(names(index, "b.a.test") == ["site"])
        #expect(Set(names(index, "a.test")) == ["site", "above"])
        #expect(names(index, "127.0.0.1") == ["address"])
        #expect(names(index, "ba.test").isEmpty)
    }

    @Test("what is in the storage already changes nothing")
    func unchanged() throws {
        var index = CookieIndex()
        let cookies = try (0..<10).map { try cookie("c\($0)", age: 60) }
        let changes = [index.replaceAll(with: cookies), index.replaceAll(with: cookies.reversed())]
        #expect(changes == [true, false])
        let again = try (0..<10).map { try cookie("c\($0)", age: 60) }
        let repeated = index.add(again, isSecure: true, now: now)
        #expect(repeated.isEmpty)
        let changed = index.add([try cookie("c1", "2", age: 60)], isSecure: true, now: now)
        #expect(counts(changed) == (1, 0))
    }

    @Test("of 990 cookies of one response the last 180 are written, each once")
    func flood() throws {
        var index = CookieIndex()
        _ = index.replaceAll(with: try (0..<100).map { try cookie("old\($0)") })
        let changes = index.add(try (0..<990).map { try cookie("c\($0)") }, isSecure: true, now: now)
        #expect(counts(changes) == (180, 100))
        #expect(Set(names(index, "a.test")) == Set((810..<990).map { "c\($0)" }))
        let same = try (0..<990).map { try cookie("c989", "\($0)") }
        let once = index.add(same, isSecure: true, now: now)
        #expect(counts(once) == (1, 0))
    }

    @Test("a cookie that expires takes away what it replaces; one for the domain replaces one for the host")
    func replacing() throws {
        var index = CookieIndex()
        _ = index.replaceAll(with: [try cookie("a"), try cookie("b")])
        let expired = index.add([try cookie("a", age: -1)], isSecure: true, now: now)
        #expect(counts(expired) == (0, 1))
        #expect(names(index, "a.test") == ["b"])
        let wider = index.add([try cookie("b", domain: ".a.test")], isSecure: true, now: now)
        #expect(counts(wider) == (1, 1))
        #expect(names(index, "x.a.test") == ["b"])
    }
}
