// The race of two transfers of one message, as a pure state machine.

/// Decides which of two transfers of one message delivers the response; the owner performs the returned effect.
enum HedgeState: Sendable, Equatable {
    /// The first transfer or the second one.
    enum Lane: Sendable, Equatable, CaseIterable {
        case first
        case second

        var other: Lane { self == .first ? .second : .first }
    }

    /// Only the first transfer is under way, and no head has come.
    case single
    /// Both transfers are under way, and no head has come.
    case racing
    /// This transfer's response is delivered: its head came first, or the other transfer failed.
    case decided(Lane)
    /// The end was reported to the consumer.
    case finished

    enum Event: Sendable, Equatable {
        /// The delay is over, and the budget grants a second transfer.
        case hedge
        /// A head came.
        case head(Lane)
        /// A transfer ended.
        case end(Lane)
    }

    enum Effect: Sendable, Equatable {
        /// The event is not delivered to the consumer.
        case none
        /// Begin the second transfer.
        case beginSecond
        /// The consumer gets the event.
        case deliver
        /// The consumer gets the event, and the other transfer is cancelled.
        case deliverAndCancel(Lane)
    }

    mutating func handle(_ event: Event) -> Effect {
        switch (self, event) {
        case (.single, .hedge): return become(.racing, .beginSecond)
        case (.single, .head(.first)): return become(.decided(.first), .deliver)
        case (.single, .end(.first)): return become(.finished, .deliver)
        case (.racing, .head(let lane)): return become(.decided(lane), .deliverAndCancel(lane.other))
        // A transfer has ended without a response; the other transfer may still get one.
        case (.racing, .end(let lane)): return become(.decided(lane.other), .none)
        case (.decided(let winner), .head(let lane)) where lane == winner: return .deliver
        case (.decided(let winner), .end(let lane)) where lane == winner: return become(.finished, .deliver)
        // Events of the transfer that was not chosen, and a delay that ends after the decision.
        case (.decided, .head), (.decided, .end), (.decided, .hedge), (.finished, _): return .none
        // The owner never sends these events.
        case (.single, .head(.second)), (.single, .end(.second)), (.racing, .hedge): return .none
        }
    }

    /// Whether the consumer gets a transfer's content and its events before the head.
    func delivers(_ lane: Lane) -> Bool {
        switch self {
        case .single, .racing: lane == .first
        case .decided(let winner): lane == winner
        case .finished: false
        }
    }

    private mutating func become(_ next: HedgeState, _ effect: Effect) -> Effect {
        self = next
        return effect
    }
}
