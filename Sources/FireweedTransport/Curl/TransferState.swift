// The life of one transfer, as a table.

/// Where a transfer stands; its owner performs the effect that comes back.
enum TransferState: Equatable {
    /// Made, not yet given to the engine.
    case waiting
    /// With the engine, or in line for a connection.
    case running
    /// Over; the consumer has heard so.
    case finished

    enum Event: CaseIterable {
        case start, cancel, end
    }

    enum Effect: Equatable {
        case none
        /// Give the transfer to the engine.
        case attach
        /// Take it back from the engine, then tell the consumer.
        case detachAndReport
        /// Tell the consumer.
        case report
    }

    mutating func handle(_ event: Event) -> Effect {
        switch (self, event) {
        case (.waiting, .start): become(.running, .attach)
        case (.waiting, .cancel): become(.finished, .report)  // nothing to take back
        case (.waiting, .end): become(.finished, .report)  // it could not even be given to the engine
        case (.running, .cancel): become(.finished, .detachAndReport)
        case (.running, .end): become(.finished, .detachAndReport)
        case (.running, .start), (.finished, .start), (.finished, .cancel), (.finished, .end): .none
        }
    }

    private mutating func become(_ next: TransferState, _ effect: Effect) -> Effect {
        self = next
        return effect
    }
}
