// The life of one WebSocket, as a table.

/// The state of a WebSocket; its owner performs the effects that come back, in their order.
///
/// The owner keeps the cause of the end: the first cause that comes while `isOutcomeOpen`.
enum WebSocketState: Equatable, CaseIterable {
    /// Made, and nothing done yet.
    case waiting
    /// The connection is being made.
    case connecting
    /// The opening handshake is on its way (RFC 6455 §4.1).
    case shaking
    /// Messages go both ways.
    case open
    /// Our close frame is on its way, and the peer's is awaited (§7.1.2).
    case closing
    /// The peer has sent its close frame or broken the protocol: our close frame is sent, and the end of the connection
    /// is awaited (§7.1.1).
    case draining
    /// Over; the consumer was notified.
    case finished

    enum Event: CaseIterable {
        case start, cancel
        /// The connection is made.
        case connected
        /// The peer asks for credentials, which we have; the answer needs a new connection.
        case challenged
        /// The peer asks for credentials, which we have; the answer uses the same connection.
        case challengedHere
        /// The peer agreed to the handshake.
        case switched
        /// The owner wants to close.
        case closeAsked
        /// The peer's close frame came.
        case peerClosed
        /// The peer broke the protocol; the close frame that says so is queued.
        case violated
        /// The connection failed or ended, or a time-out came.
        case failed
    }

    enum Effect: Equatable {
        case dial, shake
        /// Notify the listener that the WebSocket is open.
        case announceOpen
        /// Queue our close frame after the messages that wait.
        case queueClose
        /// Notify the listener of the peer's close frame.
        case announceClose
        /// Send what is still to be sent, and wait for the peer to close.
        case drain
        /// Send a close frame with code 1001, if that is possible without waiting.
        case farewell
        case hangUp
        /// Notify the consumer of the end.
        case report
    }

    /// True while a failure may still become the cause of the end.
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
