import FireweedTransport
import Foundation
import Testing

@testable import Fireweed

@Suite("Challenges")
struct HTTPChallengeTests {
    @Test(
        "a field is read as RFC 9110 §11.6.1 says",
        arguments: [
            (#"Basic realm="x""#, [HTTPChallenge(scheme: "basic", parameters: ["realm": "x"])]),
            ("Basic", [HTTPChallenge(scheme: "basic")]),
            ("NTLM", [HTTPChallenge(scheme: "ntlm")]),
            ("Negotiate YII+/abc==", [HTTPChallenge(scheme: "negotiate", token: "YII+/abc==")]),
            (
                #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,  // its own example
                [
                    HTTPChallenge(
                        scheme: "newauth", parameters: ["realm": "apps", "type": "1", "title": #"Login to "apps""#]),
                    HTTPChallenge(scheme: "basic", parameters: ["realm": "simple"]),
                ]
            ),
            (
                #"Digest realm="a, b=c", nonce=n, NTLM, Basic realm = "spaced""#,
                [
                    HTTPChallenge(scheme: "digest", parameters: ["realm": "a, b=c", "nonce": "n"]),
                    HTTPChallenge(scheme: "ntlm"), HTTPChallenge(scheme: "basic", parameters: ["realm": "spaced"]),
                ]
            ),
            ("basic REALM=first, realm=second", [HTTPChallenge(scheme: "basic", parameters: ["realm": "first"])]),
            (", ,, Basic ,", [HTTPChallenge(scheme: "basic")]),
        ])
    func read(line: String, expected: [HTTPChallenge]) {
        #expect(HTTPChallenge.all(in: line) == expected)
    }

    @Test("whatever the bytes, reading ends, and gives few challenges")
    func anything() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("Basic Digest,=\"\\ \tNTLMrealm-~/+\u{0}\u{1F600}é".unicodeScalars)
        for _ in 0..<2_000 {
            let count = Int.random(in: 0...200, using: &generator)
            let line = String(String.UnicodeScalarView((0..<count).compactMap { _ in alphabet.randomElement() }))
            #expect(HTTPChallenge.all(in: line).count <= 64)
        }
        #expect(HTTPChallenge.all(in: String(repeating: "a,", count: 100_000)).count == 64)
    }

    @Test(
        "userinfo is taken out of a URL",
        arguments: [
            ("http://u:p@h/x", "http://h/x", "u", "p"), ("https://u@h:8/?q=@", "https://h:8/?q=@", "u", ""),
            ("http://a%40b:p%3Aq@h", "http://h", "a@b", "p:q"), ("http://u:p:q@h/", "http://h/", "u", "p:q"),
            ("http://a@b@h/", "http://h/", "a@b", ""), ("http://:p@h/", "http://h/", "", "p"),
        ])
    func userinfo(text: String, url: String, user: String, password: String) throws {
        let split = try #require(Userinfo.split(text))
        #expect(split.url == url && split.user == user && split.password == password)
    }

    @Test(
        "a URL without userinfo is left alone",
        arguments: ["http://h/@x", "http://h?a=b@c", "http://h#@", "mailto:a@b"])
    func noUserinfo(text: String) {
        #expect(Userinfo.split(text) == nil)
    }
}
