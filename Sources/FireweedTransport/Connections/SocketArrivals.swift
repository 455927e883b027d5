// The knowledge about bytes that wait on a connection's socket.

/// Whether bytes, or the end, may wait to be read, as far as a connection knows it without a system call.
///
/// The kernel reports edges (epoll(7)): a socket that was empty stays empty until an event says otherwise. Between two
/// polls of the loop there are no reports, and only a look at the socket can tell. Unrequested bytes of a server mostly
/// follow a response closely, and so arrive in the turn that has read the response.
struct SocketArrivals: Equatable {
    enum Event: Equatable {
        /// The loop reports bytes, or that the peer sends nothing more.
        case reported(bytes: Bool, end: Bool)
        /// A read gave fewer bytes than it could.
        case readShort(turn: UInt64)
        /// A read, or a look, found nothing.
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
        /// Unknown without a look at the socket.
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
            // Reading continues to the end: no event reports it again.
            guard !hasEnded else { return }
            (mayWait, emptyTurn) = (false, turn)
        case .foundNothing(let turn): (mayWait, emptyTurn) = (false, turn)
        case .readEnd: (mayWait, hasEnded) = (false, true)
        case .writeFailed: (mayWait, hasEnded) = (true, true)
        }
    }

    /// The knowledge in a turn of the loop; `areEventsKnown` when the turn began with a poll whose events were all
    /// delivered.
    ///
    /// A poll does not report bytes that arrived after a read of the same turn.
    func verdict(turn: UInt64, areEventsKnown: Bool) -> SocketState {
        if hasEnded { return .ended }
        guard !mayWait, let emptyTurn else { return .unknown }
        return areEventsKnown && emptyTurn != turn ? .empty : .unknown
    }
}
