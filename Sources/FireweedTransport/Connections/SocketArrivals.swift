// The state of a connection's socket: whether unread bytes may wait.

/// Whether bytes or the end may wait to be read, as far as a connection knows without a system call.
///
/// The kernel reports edges (epoll(7)): a socket that was empty stays empty until an event says otherwise. Events come
/// only from polls, so between two polls only a system call can check the socket. Unrequested bytes usually follow a
/// response closely, so they arrive in the turn that has read the response.
struct SocketArrivals: Equatable {
    enum Event: Equatable {
        /// The loop reports bytes, or that the peer sends nothing more.
        case reported(bytes: Bool, end: Bool)
        /// A read did not fill its buffer.
        case readShort(turn: UInt64)
        /// A read or a check found no bytes.
        case foundNothing(turn: UInt64)
        /// A read came to the end, or failed.
        case readEnd
        /// A write failed: the peer's last bytes and the reason may wait to be read.
        case writeFailed
    }

    /// The state of the socket, before the connection carries its next message.
    enum SocketState: Equatable {
        /// Nothing waits.
        case empty
        /// Unknown without a check of the socket.
        case unknown
        /// The peer has closed.
        case ended
    }

    /// Whether bytes or the end may wait.
    private(set) var mayWait: Bool
    /// Whether the peer has closed its side; earlier bytes may still wait.
    private(set) var hasEnded: Bool
    /// The last turn of the loop in which the socket was empty; `nil` for none.
    private var emptyTurn: UInt64?

    init(mayWait: Bool, hasEnded: Bool) {
        self.mayWait = mayWait
        self.hasEnded = hasEnded
    }

    mutating func handle(_ event: Event) {
        switch event {
        case .reported(let bytes, let end):
            if end { hasEnded = true }
            if bytes || hasEnded { mayWait = true }
        case .readShort(let turn):
            // After the peer has closed, reading continues to the end, since no event reports the end again.
            guard !hasEnded else { return }
            (mayWait, emptyTurn) = (false, turn)
        case .foundNothing(let turn): (mayWait, emptyTurn) = (false, turn)
        case .readEnd: (mayWait, hasEnded) = (false, true)
        case .writeFailed: (mayWait, hasEnded) = (true, true)
        }
    }

    /// The state in a turn of the loop; `areEventsKnown` is true if the turn began with a poll whose events were all
    /// delivered.
    ///
    /// A poll does not report bytes that arrived after a read of the same turn.
    func verdict(turn: UInt64, areEventsKnown: Bool) -> SocketState {
        if hasEnded { return .ended }
        guard !mayWait, let emptyTurn else { return .unknown }
        return areEventsKnown && emptyTurn != turn ? .empty : .unknown
    }
}
