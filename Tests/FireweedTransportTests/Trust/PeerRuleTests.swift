import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Peer rule")
struct PeerRuleTests {
    private struct Refusal: Error {}

    private func failure(_ rule: PeerRule, of chain: String) throws -> TrustFailure? {
        let trust = try TestCertificates.trust(chain)
        do {
            try rule.decide(trust)
            return nil
        } catch {
            return try #require(error as? TrustFailure)
        }
    }

    @Test(
        "without rules of a session the authorities decide first, then the name",
        arguments: [
            ("valid", nil), ("IP address", nil), ("wildcard", nil), ("expired", "expired"),
            ("untrusted root", "untrustedRoot"), ("wrong host", "hostMismatch"), ("common name only", "hostMismatch"),
        ] as [(String, String?)])
    func standard(chain: String, reason: String?) throws {
        let rule = PoolSettings().rule(forHost: "localhost")
        let failure = try failure(rule, of: chain)
        #expect(failure.flatMap { Mirror(reflecting: $0).children.first?.label } == reason)
        #expect(!rule.mayWait)
    }

    @Test("a session's rules replace the authorities and the name, and say for each host whether they may wait")
    func ofSession() throws {
        var settings = PoolSettings()
        settings.trustRules = ServerTrustRules(
            mayWait: { $0 == "slow.example" },
            decide: { trust in
                guard trust.host == "trusted.example" else { throw Refusal() }
            })
        let rule = settings.rule(forHost: "trusted.example")
        #expect(rule.host == "trusted.example" && !rule.mayWait)
        #expect(settings.rule(forHost: "slow.example").mayWait)
        let chain = try TestCertificates.trust("untrusted root").presentedCertificates
        #expect(throws: Never.self) { try rule.decide(ServerTrust(certificates: chain, host: "trusted.example")) }
        #expect(throws: Refusal.self) { try rule.decide(ServerTrust(certificates: chain, host: "other.example")) }
    }

    @Test("a proxy is judged by the authorities, whatever the session's rules say of origins")
    func proxy() throws {
        var settings = PoolSettings()
        settings.trustRules = ServerTrustRules(mayWait: { _ in true }, decide: { _ in })
        let peer = TLSPeer(proxy: Proxy(.https, host: "localhost", port: 8443), settings: settings)
        #expect(!peer.rule.mayWait)
        #expect(try failure(peer.rule, of: "valid") == nil)
        #expect(try failure(peer.rule, of: "untrusted root") != nil)
        #expect(try failure(peer.rule, of: "wrong host") != nil)
        let origin = TLSPeer(host: "localhost", port: 443, settings: settings)
        #expect(origin.rule.mayWait)
        #expect(try failure(origin.rule, of: "untrusted root") == nil)
    }
}
