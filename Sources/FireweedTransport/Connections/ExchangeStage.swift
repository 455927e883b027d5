// The life of one exchange, as a table.

/// The stage of an exchange; its owner performs the effect that comes back.
enum ExchangeStage: Equatable {
    /// Made, not started.
    case made
    /// Started; it waits for a connection, or for the consumer to let it run.
    case waiting
    /// It has a connection.
    case running
    /// Over; the first end counts.
    case finished

    enum Event: CaseIterable {
        /// The owner starts it.
        case start
        /// It gets a connection.
        case attach
        /// Its connection closed without an answer, and the message may be sent again.
        case detach
        /// It ends: whole, failed or cancelled.
        case end
    }

    enum Effect: Equatable {
        case none
        /// Wait for a connection.
        case enter
        /// Begin to send.
        case send
        /// Wait for another connection.
        case enterAgain
        /// Tell the consumer.
        case report
        /// Give the place in the line up, then tell the consumer.
        case leaveAndReport
        /// Give the connection back or close it, then tell the consumer.
        case releaseAndReport
    }

    mutating func handle(_ event: Event) -> Effect {
        switch (self, event) {
        case (.made, .start): become(.waiting, .enter)
        case (.made, .end): become(.finished, .report)
        case (.waiting, .attach): become(.running, .send)
        case (.waiting, .end): become(.finished, .leaveAndReport)
        case (.running, .detach): become(.waiting, .enterAgain)
        case (.running, .end): become(.finished, .releaseAndReport)
        // A second start, and whatever comes after the end.
        case (.waiting, .start), (.running, .start), (.finished, _): .none
        // Only a connection detaches, and only the line attaches.
        case (.made, .attach), (.made, .detach), (.waiting, .detach), (.running, .attach): .none
        }
    }

    private mutating func become(_ next: ExchangeStage, _ effect: Effect) -> Effect {
        self = next
        return effect
    }
}
