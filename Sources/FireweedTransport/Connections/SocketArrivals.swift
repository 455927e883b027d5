// The knowledge about bytes that wait on a connection's socket.

/// Whether bytes, or an end, may wait to be read, as far as a connection knows without a system call.
///
/// The kernel reports edges (epoll(7)): a socket that was seen empty stays empty until an event says otherwise. Between
/// two polls of the loop there are no reports: only a look at the socket can say it. What a server sends unasked mostly
/// comes right behind a response, and so in the turn that has read the response.
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
        /// Only a look at the socket can say it.
        case unknown
        /// The peer has closed.
        case ended
    }

    /// Bytes or an end may wait.
    private(set) var mayWait: Bool
    /// The peer sends nothing more; bytes that came before may wait.
    private(set) var hasEnded: Bool
    /// The turn of the loop in which the socket was seen empty last; `nil` for never.
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
    /// A poll says nothing of what came behind a read that the same turn made after the poll.
    func verdict(turn: UInt64, areEventsKnown: Bool) -> SocketState {
        if hasEnded { return .ended }
        guard !mayWait, let emptyTurn else { return .unknown }
        return areEventsKnown && emptyTurn != turn ? .empty : .unknown
    }
}
