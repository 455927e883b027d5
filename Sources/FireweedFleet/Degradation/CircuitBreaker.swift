// The circuit breaker of a failing server, as a table.

/// Counts failures in a row, and says when the server is asked.
///
/// Pure: every event brings the time, in nanoseconds of a clock that never goes back. After three failures in a row
/// nothing is asked for a second; then one command tries, and each failure doubles the pause, to 4 seconds: a waiting
/// vault finds the server soon after a failover. Commands that were under way when another failed have the same cause,
/// and do not count.
struct CircuitBreaker: Sendable, Equatable {
    enum Stage: Sendable, Equatable {
        /// Commands are sent; so many failures came since the last success, the last of them at a moment.
        case closed(failures: Int, last: UInt64)
        /// No command is sent before a moment.
        case open(until: UInt64, pause: UInt64, since: UInt64)
        /// One command tries whether the server is back.
        case probing(pause: UInt64, since: UInt64, begun: UInt64)
    }

    enum Admission: Sendable, Equatable {
        case send
        /// Nothing is sent for so many nanoseconds.
        case refuse(nanoseconds: UInt64)
    }

    enum Change: Sendable, Equatable {
        /// The server is left alone from now on.
        case degraded(nanoseconds: UInt64)
        /// The server answers again, after so many nanoseconds.
        case recovered(nanoseconds: UInt64)
    }

    static let failureLimit = 3
    static let firstPause: UInt64 = 1_000_000_000
    static let longestPause: UInt64 = 4_000_000_000

    private(set) var stage = Stage.closed(failures: 0, last: 0)

    /// Whether a command may be sent; one that may has to end in `succeeded`, `failed` or `abandoned`, whether it was
    /// sent or not.
    mutating func admit(at now: UInt64) -> Admission {
        switch stage {
        case .closed: return .send
        case .open(let until, let pause, let since):
            guard now >= until else { return .refuse(nanoseconds: until - now) }
            stage = .probing(pause: pause, since: since, begun: now)
            return .send
        case .probing(let pause, _, _): return .refuse(nanoseconds: pause)
        }
    }

    /// An answer came: late ones count too, since the server is there.
    mutating func succeeded(at now: UInt64) -> Change? {
        defer { stage = .closed(failures: 0, last: 0) }
        switch stage {
        case .closed: return nil
        case .open(_, _, let since), .probing(_, let since, _): return .recovered(nanoseconds: now - since)
        }
    }

    /// A command failed in a way that says that the server cannot do its work.
    ///
    /// The command was admitted at `start`, which says whether it is the one that tries. It was sent at `sent`, which
    /// says whether it fails for a cause of its own; a command that was not sent, since a reply is overdue, is like one
    /// that was sent a deadline ago.
    mutating func failed(at now: UInt64, since start: UInt64, sentAt sent: UInt64? = nil) -> Change? {
        switch stage {
        case .closed(let failures, let last) where failures > 0 && (sent ?? start) < last: return nil
        case .closed(let failures, _) where failures + 1 < Self.failureLimit:
            stage = .closed(failures: failures + 1, last: now)
            return nil
        case .closed:
            stage = .open(until: now + Self.firstPause, pause: Self.firstPause, since: now)
            return .degraded(nanoseconds: Self.firstPause)
        case .open: return nil  // sent before the others had failed
        case .probing(_, _, let begun) where start < begun: return nil  // admitted before the pause
        case .probing(let pause, let since, _):
            let next = min(pause * 2, Self.longestPause)
            stage = .open(until: now + next, pause: next, since: since)
            return .degraded(nanoseconds: next)
        }
    }

    /// A command, which was admitted at `start`, was cancelled before its outcome was known: if it was the one that
    /// tries, the next one tries.
    mutating func abandoned(at now: UInt64, since start: UInt64) {
        guard case .probing(let pause, let since, let begun) = stage, start >= begun else { return }
        stage = .open(until: now, pause: pause, since: since)
    }
}
