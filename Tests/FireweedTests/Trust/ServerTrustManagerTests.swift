import FixtureServer
import Foundation
import Testing

@testable import Fireweed

/// Fails with its own name, so that a test sees who was asked.
private struct NamedEvaluator: ServerTrustEvaluating {
    struct Asked: Error, Equatable {
        let name: String
    }

    let name: String

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        throw Asked(name: name)
    }
}

@Suite("Server trust manager")
struct ServerTrustManagerTests {
    private static func manager(allHosts: Bool = true) throws -> ServerTrustManager {
        ServerTrustManager(
            allHostsMustBeEvaluated: allHosts,
            evaluators: [
                "example.com": NamedEvaluator(name: "exact"), "API.example.com": NamedEvaluator(name: "upper"),
            ],
            patterns: [
                try HostPattern("*.example.com"): NamedEvaluator(name: "one"),
                try HostPattern("**.example.com"): NamedEvaluator(name: "many"),
                try HostPattern("*.deep.example.com"): NamedEvaluator(name: "deep"),
            ])
    }

    @Test(
        "a host's own rule comes first, then the pattern that fits it best",
        arguments: [
            ("example.com", "exact"),
            ("EXAMPLE.COM", "exact"),  // a URL may spell it so, and must not get around the rule
            ("example.com.", "exact"),
            ("api.example.com", "upper"),
            ("API.example.com", "upper"),
            ("www.example.com", "one"),
            ("a.b.example.com", "many"),
            ("x.deep.example.com", "deep"),
            ("deep.example.com", "one"),
            ("badexample.com", nil),
            (".example.com", nil),
            ("example.org", nil),
            ("", nil),
        ])
    func lookup(host: String, expected: String?) throws {
        let found = try Self.manager(allHosts: false).serverTrustEvaluator(forHost: host)
        #expect((found as? NamedEvaluator)?.name == expected)
        guard expected == nil else { return }
        #expect {
            try Self.manager().serverTrustEvaluator(forHost: host)
        } throws: { error in
            guard case AFError.serverTrustEvaluationFailed(.noRequiredEvaluator(host)) = error else { return false }
            return true
        }
    }

    @Test(
        "a rule holds for every spelling of its host",
        arguments: [
            "bücher.test", "xn--bcher-kva.test", "BÜCHER.test.", "a.bücher.test", "0:0::1", "0x7f.1",
            "bu\u{308}cher.test",
        ]
    )
    func spellings(host: String) throws {
        let named = NamedEvaluator(name: "own")
        let manager = ServerTrustManager(
            allHostsMustBeEvaluated: false, evaluators: ["Bücher.test.": named, "[::1]": named, "127.0.0.1": named],
            patterns: [try HostPattern("*.bücher.test"): named])
        #expect(try manager.serverTrustEvaluator(forHost: host) is NamedEvaluator)
        #expect(try manager.serverTrustEvaluator(forHost: "bucher.test") == nil)
    }

    @Test(
        "a pattern is one or two stars, a dot and a name",
        arguments: [
            "", "*", "**", "*.", "example.com", "*example.com", "***.example.com", "*.*.com", "*..com", "*.com.",
            "a*.com",
        ])
    func malformed(text: String) {
        #expect(throws: HostPattern.Malformed(text: text)) { try HostPattern(text) }
    }

    @Test("a pattern prints as it is written, in lower case")
    func prints() throws {
        #expect(try HostPattern("*.Example.com").description == "*.example.com")
        #expect(try HostPattern("**.com").description == "**.com")
    }

    @Test("without a rule the authorities decide when not all hosts must have one")
    func authorities() throws {
        let manager = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])
        #expect(throws: Never.self) { try manager.decide(TestCertificates.trust("valid")) }
        #expect(throws: TrustFailure.self) { try manager.decide(TestCertificates.trust("expired")) }
        #expect(throws: TrustFailure.self) { try manager.decide(TestCertificates.trust("wrong host")) }
    }

    @Test("an evaluator's own error travels inside ours")
    func custom() throws {
        let manager = ServerTrustManager(evaluators: ["localhost": NamedEvaluator(name: "own")])
        #expect {
            try manager.decide(TestCertificates.trust("valid"))
        } throws: { error in
            guard case AFError.serverTrustEvaluationFailed(.customEvaluationFailed(let error)) = error else {
                return false
            }
            return error as? NamedEvaluator.Asked == NamedEvaluator.Asked(name: "own")
        }
    }
}
