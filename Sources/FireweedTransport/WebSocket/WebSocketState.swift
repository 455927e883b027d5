// The state machine of one WebSocket.

/// The state of a WebSocket; its owner performs the returned effects, in order.
///
/// The owner keeps the cause of the end: the first cause that arrives while `isOutcomeOpen`.
enum WebSocketState: Equatable, CaseIterable {
    /// Created, not started.
    case waiting
    /// The connection is being made.
    case connecting
    /// The opening handshake is in progress (RFC 6455 §4.1).
    case shaking
    /// Messages can be sent and received.
    case open
    /// Our close frame is queued or sent, and the peer's has not arrived (§7.1.2).
    case closing
    /// The peer has sent its close frame or broken the protocol: we send our close frame, and wait for the end of the
    /// connection (§7.1.1).
    case draining
    /// The end; the consumer was notified.
    case finished

    enum Event: CaseIterable {
        case start, cancel
        /// The connection is open.
        case connected
        /// The server sent a challenge that we can answer, on a new connection.
        case challenged
        /// The server sent a challenge that we can answer, on the same connection.
        case challengedHere
        /// The server accepted the handshake.
        case switched
        /// The user wants to close the WebSocket.
        case closeAsked
        /// The peer's close frame arrived.
        case peerClosed
        /// The peer broke the protocol; a close frame with the reason is queued.
        case violated
        /// The connection failed or ended, or a time-out expired.
        case failed
    }

    enum Effect: Equatable {
        case dial, shake
        /// Notify the listener that the WebSocket is open.
        case announceOpen
        /// Queue our close frame after the waiting messages.
        case queueClose
        /// Notify the listener of the peer's close frame.
        case announceClose
        /// Send the remaining frames, and wait for the peer to close the connection.
        case drain
        /// Send a close frame with code 1001, if it can be sent at once.
        case farewell
        case hangUp
        /// Notify the consumer of the end.
        case report
    }

    /// True while a failure can still become the cause of the end.
    var isOutcomeOpen: Bool { self != .draining && self != .finished }

    mutating func handle(_ event: Event) -> [Effect] {
        switch (self, event) {
        case (.waiting, .start): become(.connecting, [.dial])
        case (.waiting, .cancel), (.waiting, .failed): become(.finished, [.report])
        case (.connecting, .connected): become(.shaking, [.shake])
        case (.shaking, .challenged): become(.connecting, [.hangUp, .dial])
        case (.shaking, .challengedHere): become(.shaking, [.shake])
        case (.shaking, .switched): become(.open, [.announceOpen])
        case (.connecting, .cancel), (.connecting, .failed), (.connecting, .closeAsked),
            (.shaking, .cancel), (.shaking, .failed), (.shaking, .closeAsked):
            become(.finished, [.hangUp, .report])
        case (.open, .closeAsked): become(.closing, [.queueClose])
        case (.open, .peerClosed), (.closing, .peerClosed): become(.draining, [.announceClose, .drain])
        case (.open, .violated), (.closing, .violated): become(.draining, [.drain])
        case (.open, .cancel): become(.finished, [.farewell, .hangUp, .report])
        case (.open, .failed), (.closing, .cancel), (.closing, .failed), (.draining, .cancel), (.draining, .failed):
            become(.finished, [.hangUp, .report])
        case (.waiting, .connected), (.waiting, .challenged), (.waiting, .challengedHere), (.waiting, .switched),
            (.waiting, .closeAsked), (.waiting, .peerClosed), (.waiting, .violated),
            (.connecting, .start), (.connecting, .challenged), (.connecting, .challengedHere), (.connecting, .switched),
            (.connecting, .peerClosed), (.connecting, .violated), (.shaking, .start), (.shaking, .connected),
            (.shaking, .peerClosed), (.shaking, .violated), (.open, .start), (.open, .connected), (.open, .challenged),
            (.open, .challengedHere), (.open, .switched), (.closing, .start), (.closing, .connected),
            (.closing, .challenged), (.closing, .challengedHere), (.closing, .switched), (.closing, .closeAsked),
            (.draining, .start), (.draining, .connected), (.draining, .challenged), (.draining, .challengedHere),
            (.draining, .switched), (.draining, .closeAsked), (.draining, .peerClosed), (.draining, .violated),
            (.finished, _):
            []
        }
    }

    private mutating func become(_ next: WebSocketState, _ effects: [Effect]) -> [Effect] {
        self = next
        return effects
    }
}
