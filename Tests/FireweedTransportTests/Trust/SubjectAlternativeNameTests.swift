import FixtureServer
import Testing

@testable import FireweedTransport

@Suite("Names of certificates")
struct SubjectAlternativeNameTests {
    private static let names =
        "DNS:example.com,DNS:*.wild.example,DNS:a*b.part.example,DNS:192.0.2.9,IP:192.0.2.1,IP:2001:db8::1,email:a@example.com,URI:https://uri.example/"

    private static let certificate = Result {
        let issued = try TestCertificates.shared.generator.issue("subject.example", ["subjectAltName=\(names)"])
        return try Certificate(pem: issued.pem)
    }

    @Test("all kinds of names are read, in their order")
    func reads() throws {
        let names = try Self.certificate.get().subjectAlternativeNames
        #expect(
            names == [
                .dns("example.com"), .dns("*.wild.example"), .dns("a*b.part.example"), .dns("192.0.2.9"),
                .ip("192.0.2.1"), .ip("2001:db8::1"), .email("a@example.com"), .uri("https://uri.example/"),
            ])
    }

    @Test(
        "a certificate is for a host by RFC 9110 §4.3.4 and RFC 9525 §6",
        arguments: [
            ("example.com", true),
            ("EXAMPLE.com", true),
            ("example.com.", true),  // the dot that ends a full name
            ("example.com..", false),
            (".example.com", false),  // OpenSSL alone would take it for "any name below"
            ("sub.example.com", false),
            ("badexample.com", false),
            ("a.wild.example", true),
            ("wild.example", false),
            ("a.b.wild.example", false),  // one label only
            (".wild.example", false),
            ("axb.part.example", false),  // a wildcard is a whole label
            ("192.0.2.1", true),
            ("192.0.2.9", false),  // an address as a DNS name is none
            ("192.0.2.2", false),
            ("2001:db8::1", true),
            ("[2001:db8::1]", true),
            ("[2001:DB8:0:0::1]", true),
            ("2001:db8::1%eth0", true),
            ("2001:db8::2", false),
            ("subject.example", false),  // the subject's common name counts for nothing
            ("a@example.com", false),
            ("uri.example", false),
            ("example.com\0.evil.example", false),
            ("", false), (".", false), ("[]", false), ("*", false),
        ])
    func matches(host: String, expected: Bool) throws {
        #expect(try Self.certificate.get().isValid(forHost: host) == expected)
    }

    @Test("names in error texts have no control characters, and there are twenty of them")
    func texts() {
        let names = [SubjectAlternativeName.dns("a\u{1B}[2J\nb"), .uri("https://\u{202E}x/")]
        #expect(names.map(\.description) == ["DNS:a\\u{1B}[2J\\nb", "URI:https://\\u{202E}x/"])
        let many = TrustFailure.hostMismatch(host: "h", names: (1...30).map { .dns("n\($0)") }).description
        #expect(many.hasSuffix("DNS:n19, DNS:n20, and 10 more"))
    }
}
