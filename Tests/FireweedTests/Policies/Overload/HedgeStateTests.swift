// The race of two transfers.

import Testing

@testable import Fireweed

@Suite("Hedging, the table")
struct HedgeStateTests {
    private static let events: [HedgeState.Event] = [
        .hedge, .head(.first), .head(.second), .end(.first), .end(.second),
    ]

    @Test(
        "the transfer whose head comes first answers, and the other is cancelled", arguments: HedgeState.Lane.allCases)
    func firstHead(lane: HedgeState.Lane) {
        var state = HedgeState.single
        #expect(state.handle(.hedge) == .beginSecond)
        #expect(state.handle(.head(lane)) == .deliverAndCancel(lane.other))
        #expect(state.handle(.head(lane.other)) == .none)
        #expect(state.handle(.end(lane.other)) == .none)
        #expect(state.delivers(lane) && !state.delivers(lane.other))
        #expect(state.handle(.end(lane)) == .deliver)
        #expect(state == .finished)
    }

    @Test("one failure is not the answer while the other transfer may answer", arguments: HedgeState.Lane.allCases)
    func failure(lane: HedgeState.Lane) {
        var state = HedgeState.racing
        #expect(state.handle(.end(lane)) == .none)
        #expect(state.handle(.head(lane.other)) == .deliver)
        #expect(state.handle(.end(lane.other)) == .deliver)
    }

    @Test("when both fail, the second failure is the answer", arguments: HedgeState.Lane.allCases)
    func bothFail(lane: HedgeState.Lane) {
        var state = HedgeState.racing
        #expect(state.handle(.end(lane)) == .none)
        #expect(state.handle(.end(lane.other)) == .deliver)
        #expect(state == .finished)
    }

    @Test("without a second transfer everything is delivered, and a late delay begins none")
    func single() {
        var state = HedgeState.single
        #expect(state.handle(.head(.first)) == .deliver)
        #expect(state.handle(.hedge) == .none)
        #expect(state.handle(.end(.first)) == .deliver)
        #expect(state.handle(.hedge) == .none)
    }

    @Test("whatever happens, one end is delivered, and one head at most")
    func onlyOnce() {
        for sequence in Self.sequences(of: 6) {
            var state = HedgeState.single
            var (heads, ends) = (0, 0)
            for event in sequence {
                let effect = state.handle(event)
                let isDelivered = effect != .none && effect != .beginSecond
                if case .head(let lane) = event, isDelivered {
                    heads += 1
                    #expect(state.delivers(lane))
                }
                if case .end = event, isDelivered { ends += 1 }
            }
            #expect(heads <= 1 && ends <= 1, "\(sequence)")
            #expect((ends == 1) == (state == .finished), "\(sequence)")
        }
    }

    /// Every sequence of events that two transfers can give: a head before an end, each at most once.
    private static func sequences(of length: Int) -> [[HedgeState.Event]] {
        guard length > 0 else { return [[]] }
        return sequences(of: length - 1).flatMap { start in
            [start] + events.filter { isPossible($0, after: start) }.map { start + [$0] }
        }
    }

    private static func isPossible(_ event: HedgeState.Event, after past: [HedgeState.Event]) -> Bool {
        guard !past.contains(event) else { return false }
        return switch event {
        case .hedge: true
        case .head(let lane): !past.contains(.end(lane)) && (lane == .first || past.contains(.hedge))
        case .end(let lane): lane == .first || past.contains(.hedge)
        }
    }
}
