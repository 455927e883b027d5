import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Trust decisions that may wait", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TrustDecisionsTests {
    private struct Refusal: Error {}

    /// Decisions that wait until the test opens the gate.
    private struct Gate: Sendable {
        let opened = DispatchGroup()
        let begun = EventLog<String>()
        let answers = EventLog<String>()

        init() { opened.enter() }

        func rule(for host: String, refuses: Bool = false, end: Date? = nil) -> PeerRule {
            PeerRule(host: host, authorities: .system, mayWait: true) { trust in
                begun.note(trust.host)
                opened.wait()
                if let end { trust.limitVerdict(to: end) }
                if refuses { throw Refusal() }
            }
        }

        func open() { opened.leave() }

        func decide(_ trust: ServerTrust, with decisions: TrustDecisions, by rule: PeerRule, _ name: String) {
            decisions.decide(trust, by: rule) { outcome, end in
                let text = if case .success = outcome { "trusted" } else { "refused" }
                answers.note("\(name): \(text)\(end.map { " until \(Int($0.timeIntervalSince1970))" } ?? "")")
            }
        }
    }

    private func trust(_ host: String = "a.example", _ chain: String = "valid", status: Data? = nil) throws
        -> ServerTrust
    {
        let certificates = try TestCertificates.trust(chain).presentedCertificates
        return ServerTrust(certificates: certificates, host: host, stapledStatus: status)
    }

    @Test("equal questions at the same time share one call, and each gets its outcome", arguments: [false, true])
    func shared(isRefused: Bool) async throws {
        let (gate, decisions) = (Gate(), TrustDecisions())
        let rule = gate.rule(for: "a.example", refuses: isRefused, end: Date(timeIntervalSince1970: 4_000_000_000))
        for index in 0..<3 { gate.decide(try trust(), with: decisions, by: rule, "\(index)") }
        try await gate.begun.first { _ in true }
        gate.open()
        let text = (isRefused ? "refused" : "trusted") + " until 4000000000"
        for index in 0..<3 { try await gate.answers.first { $0 == "\(index): \(text)" } }
        #expect(gate.begun.events == ["a.example"] && gate.answers.events.count == 3)
    }

    @Test("questions about another host, another chain or another stapled status have a call each")
    func apart() async throws {
        let (gate, decisions) = (Gate(), TrustDecisions())
        let trusts = [
            try trust(), try trust("b.example"), try trust("a.example", "untrusted root"),
            try trust(status: Data([1])), try trust(status: Data([2])),
        ]
        for (index, trust) in trusts.enumerated() {
            gate.decide(trust, with: decisions, by: gate.rule(for: trust.host), "\(index)")
        }
        try await gate.begun.nth(trusts.count) { _ in true }
        gate.open()
        for index in trusts.indices { try await gate.answers.first { $0 == "\(index): trusted" } }
        #expect(gate.answers.events.count == trusts.count)
    }

    @Test("a decision is not kept: the same question asks again when it was answered")
    func again() async throws {
        let (gate, decisions) = (Gate(), TrustDecisions())
        gate.open()
        for index in 0..<2 {
            gate.decide(try trust(), with: decisions, by: gate.rule(for: "a.example"), "\(index)")
            try await gate.answers.first { $0 == "\(index): trusted" }
        }
        #expect(gate.begun.events.count == 2)
    }
}
