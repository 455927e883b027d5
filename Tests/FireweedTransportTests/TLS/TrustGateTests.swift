import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Trust gate")
struct TrustGateTests {
    private typealias Row = (state: TrustGate.State, effects: [(TrustGate.State, TrustGate.Effect)])

    private let one: [Certificate]
    private let other: [Certificate]
    private let status = Data("status".utf8)

    init() throws {
        let testCertificates = try TestCertificates.shared
        one = [try Certificate(pem: testCertificates.server.pem)]
        other = [try Certificate(pem: testCertificates.root.pem)]
    }

    private func shown(_ chain: [Certificate], _ status: Data? = nil) -> TrustGate.Evidence {
        TrustGate.Evidence(chain: chain, status: status)
    }

    private var events: [TrustGate.Event] {
        [
            .chain(shown(one), mayStaple: false), .chain(shown(one), mayStaple: true),
            .chain(shown(other, status), mayStaple: false), .chain(shown(other), mayStaple: true),
            .flight(status: nil), .flight(status: status), .verdict(isAccepted: true), .verdict(isAccepted: false),
            .done(isResumed: true), .done(isResumed: false),
        ]
    }

    /// What becomes of each state with each event, in the order of `events`.
    private var table: [Row] {
        func asked(_ chain: [Certificate], _ status: Data? = nil) -> (TrustGate.State, TrustGate.Effect) {
            (.deciding(shown(chain, status)), .decide(shown(chain, status)))
        }
        func silent(_ chain: [Certificate]) -> (TrustGate.State, TrustGate.Effect) {
            (.provisional(chain), .proceedSilently)
        }
        let refused = (TrustGate.State.refused, TrustGate.Effect.refuse)
        func stays(_ state: TrustGate.State, _ effect: TrustGate.Effect) -> (TrustGate.State, TrustGate.Effect) {
            (state, effect)
        }
        let open = TrustGate.State.open
        let provisional = TrustGate.State.provisional(one)
        let deciding = TrustGate.State.deciding(shown(one))
        let accepted = TrustGate.State.accepted(one)
        return [
            (
                open,
                [
                    asked(one), silent(one), asked(other, status), silent(other), stays(open, .proceed),
                    stays(open, .proceed), stays(open, .hold), stays(open, .hold), stays(open, .proceed), refused,
                ]
            ),
            (
                provisional,
                [
                    refused, refused, refused, refused, asked(one), asked(one, status), stays(provisional, .hold),
                    stays(provisional, .hold), refused, refused,
                ]
            ),
            (
                deciding,
                [
                    stays(deciding, .hold), stays(deciding, .hold), stays(deciding, .hold), stays(deciding, .hold),
                    stays(deciding, .hold), stays(deciding, .hold), stays(accepted, .proceed), refused, refused,
                    refused,
                ]
            ),
            (
                accepted,
                [
                    stays(accepted, .proceed), stays(accepted, .proceed), asked(other, status), silent(other),
                    stays(accepted, .proceed), stays(accepted, .proceed), stays(accepted, .hold),
                    stays(accepted, .hold), stays(accepted, .proceed), stays(accepted, .proceed),
                ]
            ),
            (.refused, Array(repeating: refused, count: 10)),
        ]
    }

    /// A gate in a state, as events bring it there.
    private func gate(in state: TrustGate.State) -> TrustGate {
        var gate = TrustGate()
        let ways: [TrustGate.Event] =
            switch state {
            case .open: []
            case .provisional(let chain): [.chain(shown(chain), mayStaple: true)]
            case .deciding(let evidence): [.chain(evidence, mayStaple: false)]
            case .accepted(let chain): [.chain(shown(chain), mayStaple: false), .verdict(isAccepted: true)]
            case .refused: [.done(isResumed: false)]
            }
        for event in ways { _ = gate.handle(event) }
        return gate
    }

    @Test("each state answers each event")
    func wholeTable() {
        for row in table {
            for (event, expected) in zip(events, row.effects) {
                var gate = gate(in: row.state)
                #expect(gate.state == row.state)
                let effect = gate.handle(event)
                #expect(effect == expected.1 && gate.state == expected.0, "\(row.state) \(event)")
            }
        }
    }

    @Test("nothing leads from a refusal to a handshake that is done")
    func refusedForEver() {
        for first in events {
            for second in events {
                var gate = gate(in: .refused)
                #expect(gate.handle(first) == .refuse && gate.handle(second) == .refuse)
            }
        }
    }

    @Test("no handshake is done without a verdict, unless it resumed a session")
    func neverUnjudged() {
        for first in events {
            for second in events {
                var gate = TrustGate()
                _ = gate.handle(first)
                _ = gate.handle(second)
                let isJudged = if case .accepted = gate.state { true } else { false }
                #expect((gate.handle(.done(isResumed: false)) == .proceed) == isJudged, "\(first) \(second)")
            }
        }
    }
}
