// The life of an exchange, as a state machine.

/// The stage of an exchange; the exchange performs the returned effects.
enum ExchangeStage: Equatable {
    /// Not started.
    case made
    /// Waiting for a connection, or for the end of a suspension.
    case waiting
    /// On a connection.
    case running
    /// Ended.
    case finished

    enum Event: CaseIterable {
        /// The owner starts the exchange.
        case start
        /// The exchange gets a connection.
        case attach
        /// The exchange leaves its connection, since its message is sent again.
        case detach
        /// The exchange ends: complete, failed or cancelled.
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
        /// Report the end to the consumer.
        case report
        /// Leave the queue, then report the end.
        case leaveAndReport
        /// Return or close the connection, then report the end.
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
        // A second start, and events after the end.
        case (.waiting, .start), (.running, .start), (.finished, _): .none
        // Events that the pool and the connections never send in these stages.
        case (.made, .attach), (.made, .detach), (.waiting, .detach), (.running, .attach): .none
        }
    }

    private mutating func become(_ next: ExchangeStage, _ effect: Effect) -> Effect {
        self = next
        return effect
    }
}
