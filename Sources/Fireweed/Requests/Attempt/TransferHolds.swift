// Reasons for which an attempt's transfer is paused.

import FireweedTransport

/// The reasons why bytes may not move, and the flow that follows from them.
struct TransferHolds: Sendable {
    struct Reason: OptionSet {
        let rawValue: UInt8

        /// The request was suspended.
        static let suspended = Reason(rawValue: 1)
        /// A link or the owner decides about the head of the response.
        static let deciding = Reason(rawValue: 2)
        /// The owner's buffer is full.
        static let full = Reason(rawValue: 4)
    }

    private(set) var reasons: Reason = []
    /// The number of times that `flow` has changed.
    private var revision: UInt64 = 0

    mutating func insert(_ reason: Reason) {
        change { $0.insert(reason) }
    }

    mutating func remove(_ reason: Reason) {
        change { $0.remove(reason) }
    }

    /// The flow that the reasons allow, for the transfer.
    var flow: Flow { Flow(level, revision: revision) }

    private var level: Flow.Level {
        reasons.contains(.suspended) ? .suspended : reasons.isEmpty ? .running : .receivingPaused
    }

    private mutating func change(_ change: (inout Reason) -> Void) {
        let before = level
        change(&reasons)
        if level != before { revision += 1 }
    }
}
