import Testing

@testable import FireweedTransport

@Suite("Nonces of Digest that are used again (RFC 7616 §3.3)")
struct DigestSessionsTests {
    private let sessions = DigestSessions()
    private let space = DigestSessions.Space("http://a.example:80", .init(user: "u", password: "p"))

    private func answer(_ parameters: String) throws -> DigestAnswer {
        try #require(DigestAnswer.strongest(of: HTTPChallenge.all(in: "Digest realm=\"r\", \(parameters)")))
    }

    @Test("each use counts, with the same text of ours")
    func counts() throws {
        #expect(sessions.isEmpty && sessions.next(in: space) == nil)
        sessions.accept(DigestSessions.Use(try answer("nonce=\"n\", qop=\"auth\""), clientNonce: "c"), in: space)
        let uses = (0..<3).compactMap { _ in sessions.next(in: space) }
        #expect(uses.map(\.answer.useCount) == [2, 3, 4] && uses.allSatisfy { $0.clientNonce == "c" })
        let field = try #require(uses.last).answer.field(
            .init(user: "u", password: "p"), method: "GET", target: "/", clientNonce: "c")
        // hashlib: md5(md5("u:r:p") + ":n:00000004:c:auth:" + md5("GET:/"))
        #expect(field.contains("nc=00000004") && field.contains("response=\"22959a31cbe8b283a1b4ff2acaf73335\""))
    }

    @Test("another user, another server and a forgotten nonce have none")
    func spaces() throws {
        let use = DigestSessions.Use(try answer("nonce=n"))
        sessions.accept(use, in: space)
        #expect(sessions.next(in: .init("http://a.example:80", .init(user: "u", password: "q"))) == nil)
        #expect(sessions.next(in: .init("http://a.example:80", .init(user: "v", password: "p"))) == nil)
        #expect(sessions.next(in: .init("http://a.example:81", .init(user: "u", password: "p"))) == nil)
        sessions.forget(DigestSessions.Use(try answer("nonce=other")), in: space)
        #expect(sessions.next(in: space) != nil)
        sessions.forget(use, in: space)
        #expect(sessions.next(in: space) == nil && sessions.isEmpty)
    }

    @Test("an accepted answer never sets the count back, and a new nonce begins anew")
    func accepting() throws {
        let first = DigestSessions.Use(try answer("nonce=n"))
        sessions.accept(first, in: space)
        _ = sessions.next(in: space)
        sessions.accept(first, in: space)
        #expect(sessions.next(in: space)?.answer.useCount == 3)
        sessions.accept(DigestSessions.Use(try answer("nonce=m")), in: space)
        let next = sessions.next(in: space)
        #expect(next?.answer.nonce == "m" && next?.answer.useCount == 2)
    }

    @Test("a count that is used up is no count")
    func end() throws {
        var use = DigestSessions.Use(try answer("nonce=n, qop=auth"))
        use.answer.useCount = .max - 1
        sessions.accept(use, in: space)
        let last = sessions.next(in: space)
        #expect(last?.answer.useCount == .max && sessions.next(in: space) == nil)
        let field = last?.answer.field(.init(user: "u", password: "p"), method: "GET", target: "/", clientNonce: "c")
        #expect(field?.contains("nc=ffffffff") == true)
    }

    @Test("so many spaces are remembered")
    func limit() throws {
        let use = DigestSessions.Use(try answer("nonce=n"))
        let spaces = (0..<(2 * DigestSessions.limit)).map { number in
            DigestSessions.Space("http://a.example:\(number)", .init(user: "u", password: "p"))
        }
        for space in spaces { sessions.accept(use, in: space) }
        #expect(spaces.count { sessions.next(in: $0) != nil } == DigestSessions.limit)
    }

    @Test(
        "the domain of a challenge says which URLs share its nonce",
        arguments: [
            ("", "http://a.example/x", true), ("/", "http://a.example/x", true), ("/x", "http://a.example/x/y?z", true),
            ("/y /x", "http://a.example/x", true), ("/y", "http://a.example/x", false),
            ("http://a.example/x", "http://A.example:80/x", true), ("http://a.example/y", "http://a.example/x", false),
            ("https://a.example/x", "http://a.example/x", false), ("http://b.example/", "http://a.example/x", false),
            ("http://", "http://a.example/x", false), ("x", "http://a.example/x", false),
        ])
    func domain(domain: String, url: String, isCovered: Bool) throws {
        #expect(try answer("nonce=n, domain=\"\(domain)\"").covers(url) == isCovered)
    }
}
