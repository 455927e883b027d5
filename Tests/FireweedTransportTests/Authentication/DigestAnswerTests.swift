import Foundation
import Testing

@testable import FireweedTransport

@Suite("Answers to Digest challenges (RFC 7616)")
struct DigestAnswerTests {
    private func answer(_ line: String) -> DigestAnswer? {
        DigestAnswer.strongest(of: HTTPChallenge.all(in: line))
    }

    @Test(
        "the RFC's own examples (§3.9.1)",
        arguments: [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ])
    func examples(algorithm: String, response: String) throws {
        let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
        let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        let line = """
            Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), nonce="\(nonce)", opaque="\(opaque)"
            """
        let field = try #require(answer(line)).field(
            .init(user: "Mufasa", password: "Circle of Life"), method: "GET", target: "/dir/index.html",
            clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
        #expect(
            field == """
                Digest username="Mufasa", realm="http-auth@example.org", nonce="\(nonce)", uri="/dir/index.html", \
                response="\(response)", algorithm=\(algorithm), opaque="\(opaque)", qop=auth, nc=00000001, \
                cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
                """)
    }

    /// What the RFC prints for this example is wrong; these numbers are those of Python's `hashlib`.
    @Test("a hashed user, by SHA-512/256 (§3.9.2)")
    func hashedUser() throws {
        let line = """
            Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, userhash=true, charset=UTF-8, \
            nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK"
            """
        let field = try #require(answer(line)).field(
            .init(user: "Jäsøn Doe", password: "Secret, or not?"), method: "GET", target: "/doe.json",
            clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm")
        #expect(field.contains("username=\"793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b\""))
        #expect(field.contains("response=\"7a4e1192babbba02e91182d2895bfdbf7adafc6e48d4e517ca301974843d840c\""))
        #expect(field.hasSuffix("userhash=true"))
    }

    @Test("with auth-int alone the content is covered, and a challenge that wants it is left when it is not known")
    func integrity() throws {
        let line = "Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\", algorithm=MD5"
        let field = try #require(answer(line)).field(
            .init(user: "u", password: "p"), method: "POST", target: "/", clientNonce: "c", content: Data("body".utf8))
        // hashlib: md5(md5("u:r:p") + ":n:00000001:c:auth-int:" + md5("POST:/:" + md5("body")))
        #expect(field.contains("response=\"e095c7eec80723d91a53d22f9e0d16a7\""))
        let challenges = HTTPChallenge.all(in: line)
        #expect(DigestAnswer.strongest(of: challenges, knowsContent: false) == nil)
        #expect(DigestAnswer.strongest(of: challenges) != nil)
    }

    @Test("without a quality of protection the older form is answered (RFC 2069)")
    func older() throws {
        let field = try #require(answer("Digest realm=\"r\", nonce=\"n\"")).field(
            .init(user: "u", password: "p"), method: "GET", target: "/", clientNonce: "c")
        // hashlib: md5(md5("u:r:p") + ":n:" + md5("GET:/"))
        #expect(
            field
                == "Digest username=\"u\", realm=\"r\", nonce=\"n\", uri=\"/\", response=\"f23121ca97143c6b358da620220c83b4\""
        )
    }

    @Test("of several challenges the strongest algorithm is answered, whatever their order")
    func strongest() {
        let lines = [
            "Digest nonce=a, algorithm=SHA-256", "Digest nonce=b", "Digest nonce=c, algorithm=SHA-512-256-sess",
        ]
        #expect(answer(lines.joined(separator: ", "))?.nonce == "c")
        #expect(answer(lines.prefix(2).joined(separator: ", "))?.nonce == "a")
        #expect(answer("Digest nonce=x, algorithm=SHA3, Digest nonce=y, algorithm=md5")?.nonce == "y")
    }

    @Test(
        "what cannot be answered is not",
        arguments: [
            "Digest realm=x", "Digest nonce=n, algorithm=SHA3", "Digest nonce=n, qop=other", "Digest nonce=n, qop=\"\"",
            "Basic realm=x", "",
        ])
    func unanswerable(line: String) {
        #expect(answer(line) == nil)
    }

    @Test("quotes and backslashes are escaped")
    func escapes() throws {
        let field = try #require(answer(#"Digest realm="a\"b", nonce="n\\""#)).field(
            .init(user: #"u"\"#, password: "p"), method: "GET", target: "/", clientNonce: "c")
        #expect(field.hasPrefix(#"Digest username="u\"\\", realm="a\"b", nonce="n\\", uri="#))
    }
}
