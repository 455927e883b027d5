import Foundation
import Testing

@testable import FireweedTransport

@Suite("The canonical form of a host")
struct CanonicalHostTests {
    @Test(
        "hosts that are the same have one form",
        arguments: [
            ("example.com", ["example.com", "EXAMPLE.com", "Example.Com.", "ｅxample。com"]),
            (
                "xn--bcher-kva.test",
                ["bücher.test", "BÜCHER.TEST", "bu\u{308}cher.test.", "XN--Bcher-KVA.test", "bücher。test"]
            ),
            ("xn--fa-hia.de", ["faß.de", "xn--fa-hia.de."]),  // not `fass.de` (UTS #46, non-transitional)
            ("xn--wgv71a119e.xn--zckzah", ["日本語。テスト", "日本語.テスト."]),
            ("localhost", ["localhost", "LOCALHOST."]),
            ("a_b.example", ["a_b.example", "A_B.example"]),
            ("4.example", ["4.example", "4.EXAMPLE."]),
            ("::1", ["::1", "[::1]", "0:0:0:0:0:0:0:1", "[0000::0001]"]),
            ("2001:db8::a", ["2001:DB8::A", "[2001:0db8:0::000a]"]),
            ("::ffff:192.0.2.1", ["::ffff:192.0.2.1", "[::FFFF:c000:201]"]),
            ("fe80::1%eth0", ["fe80::1%eth0", "[fe80::1%25eth0]", "FE80:0::1%eth0"]),
            (
                "127.0.0.1",
                ["127.0.0.1", "127.0.0.1.", "127.1", "0x7f.1", "0X7F000001", "2130706433", "0177.0.0.01", "１２７.1"]
            ),
            ("255.255.255.255", ["255.255.255.255", "4294967295", "0xffffffff"]),
        ])
    func same(canonical: String, spellings: [String]) {
        for spelling in spellings { #expect(CanonicalHost.text(of: spelling) == canonical, "\(spelling)") }
        #expect(CanonicalHost.text(of: canonical) == canonical)
    }

    @Test(
        "a host is looked up in its canonical form, with the final dot of a complete name",
        arguments: [
            ("example.com", "example.com"), ("Example.COM.", "example.com."), ("internal.", "internal."),
            ("bücher.test.", "xn--bcher-kva.test."), ("127.0.0.1.", "127.0.0.1"),
            ("0x7f.1.", "127.0.0.1"), ("[::1]", "::1"), ("a..", "a.."), ("", ""), (".", "."),
        ])
    func lookupName(host: String, name: String) {
        #expect(CanonicalHost.identity(of: host) == name)
        #expect(CanonicalHost.identity(of: name) == name)
    }

    @Test(
        "what is no host, or only looks like an address, stays what it is",
        arguments: [
            "", ".", "..", "a..", "a..b", ".a", "256.1.1.1", "1.2.3.4.5", "1.2.3.256", "4294967296", "0x", "08.1.1.1",
            "0x+1",
            "1..2", "1.2.3.a", "+1", "-1", "[::1", "::1::", "[::1].", "a b", "a/b", "ü/b", "ü@b", "a\u{200D}b.test",
            "%41.test",
        ])
    func others(text: String) {
        let canonical = CanonicalHost.text(of: text)
        #expect(text == "." ? canonical == "" : canonical == text)
        #expect(!CanonicalHost.isAddress(canonical) || text.contains(":"))
    }

    @Test("the host of a URL has the form of the text that it was written with")
    func urls() throws {
        for host in ["bücher.test", "BÜCHER.test.", "b%C3%BCcher.test", "xn--bcher-kva.test"] {
            let found = try #require(URL(string: "https://\(host):1/")?.host)
            #expect(CanonicalHost.text(of: found) == "xn--bcher-kva.test", "\(host)")
        }
        #expect(URL(string: "https://[::0001]/")?.host.map(CanonicalHost.text) == "::1")
    }

    @Test("of several spellings of a rule the canonical one counts, then the one that sorts first")
    func rules() {
        let rules = ["A.test": 1, "a.TEST": 2, "bücher.test": 3, "xn--bcher-kva.test": 4]
        #expect(CanonicalHost.rule(for: "a.test.", in: rules) == 1)
        #expect(CanonicalHost.rule(for: "BÜCHER.test", in: rules) == 4)
        #expect(CanonicalHost.rule(for: "b.test", in: rules) == nil)
    }

    @Test(
        "a host has its own identity, or none, in every spelling",
        arguments: ["bücher.test", "xn--bcher-kva.test", "BÜCHER.test."], ["127.0.0.1", "0x7f.1"])
    func identities(name: String, address: String) {
        let usual = ClientIdentity(pkcs12: URL(fileURLWithPath: "/usual"), passphrase: "")
        let own = ClientIdentity(pkcs12: URL(fileURLWithPath: "/own"), passphrase: "")
        var options = TransportOptions()
        options.clientIdentity = usual
        options.clientIdentities = ["Bücher.test": nil, "127.0.0.1": own, "[::1]": own]
        #expect(options.identity(forHost: name) == nil)
        #expect(options.identity(forHost: address) == own && options.identity(forHost: "0::1") == own)
        #expect(options.identity(forHost: "other.test") == usual)
    }

    @Test(
        "above a name are its domains, and nothing is above an address or what is too long for a name",
        arguments: [
            ("a.b.c", ["a.b.c", "b.c", "c"]), ("a.b.", ["a.b.", "b.", ""]), ("localhost", ["localhost"]), ("", [""]),
            ("192.0.2.1", ["192.0.2.1"]), ("::1", ["::1"]), (String(repeating: "a.", count: 127), nil),
            (String(repeating: "a.", count: 127) + "b", [String(repeating: "a.", count: 127) + "b"]),
        ] as [(String, [String]?)])
    func domains(host: String, expected: [String]?) {
        let found = CanonicalHost.domains(of: host).map { String($0) }
        if let expected { #expect(found == expected) } else { #expect(found.count == 128) }
    }
}
