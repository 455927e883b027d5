import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Lifetime of trust verdicts", OnBothThreads(), .timeLimit(.minutes(TestTimeouts.minutes)))
struct VerdictLifetimeTests {
    @Test("a session is not resumed after the end of its verdict", arguments: [true, false], [true, false])
    func ended(mayWait: Bool, isLimitedToTLS12: Bool) async throws {
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12)
        try await TLSStage.play { stage in
            stage.transport.evaluateServers(
                with: ServerTrustRules(mayWait: { _ in mayWait }) { trust in
                    trust.limitVerdict(to: Date(timeIntervalSinceNow: 3600))
                    trust.limitVerdict(to: Date())
                    trust.limitVerdict(to: Date(timeIntervalSinceNow: 60))
                })
            for _ in 0..<2 { #expect(try await stage.end(peer.url()).code == nil) }
            try await peer.waits(for: 2, of: "connected")
            #expect(!peer.events.events.contains { $0.contains("resumed") })
        }
    }

    @Test("the end is a day away, or the leaf's, or what the evaluation says")
    func end() throws {
        let chain = [try Certificate(pem: TestCertificates.shared.server.pem)]
        let now = Date()
        let expired = [try Certificate(pem: #require(TestCertificates.shared["expired"]?.chain.first).pem)]
        #expect(VerdictLifetime.end(of: chain, until: nil, now: now) <= now + 86_400)
        #expect(VerdictLifetime.end(of: chain, until: nil, now: now) > now)
        #expect(VerdictLifetime.end(of: chain, until: now + 5, now: now) == now + 5)
        #expect(VerdictLifetime.end(of: expired, until: nil, now: now) < now)
    }
}
