// The state of a connection and its commands.

extension RESPConnection {
    enum Phase {
        case idle
        /// The link is `nil` while it is being made; `sentinel` counts the sentinels that did not lead to the primary.
        case connecting(RESPLink?, sentinel: Int, until: UInt64)
        case ready(RESPLink)
        /// The first attempt failed; the second attempt begins at `until`, for the commands that wait.
        case pausing(until: UInt64)
        case closed

        var link: RESPLink? {
            switch self {
            case .connecting(let link, _, _): link
            case .ready(let link): link
            case .idle, .pausing, .closed: nil
            }
        }
    }

    struct State {
        /// Maximum bytes that may wait to be sent.
        private static let unsentLimit = 32 * 1024 * 1024
        /// Maximum bytes that are handed to the socket at once, unless one command is larger.
        private static let batchByteCount = 256 * 1024
        private static let firstPause: UInt64 = 50_000_000
        private static let longestPause: UInt64 = 2_000_000_000

        enum Effect {
            case none
            case connect
            case send(RESPLink)
            case wake(RESPLink)
            case fail(PendingReply, FleetError)
        }

        /// The commands of a connection that was lost or could not be made.
        struct LostConnection {
            let failed: [PendingReply]
            /// Nanoseconds until the second attempt, for which the other commands wait; `nil` without a second attempt.
            let retryPause: UInt64?
        }

        struct Command {
            let bytes: [UInt8]
            let reply: PendingReply
        }

        var phase = Phase.idle
        /// Commands that were not handed to the link yet.
        private var waiting: [Command] = []
        private var waitingByteCount = 0
        /// The sent commands in the order of their replies; from index `sentStart` on, the replies have not arrived.
        private var sent: [PendingReply] = []
        private var sentStart = 0
        /// The number of the sentinel to ask first, modulo their count: the last sentinel that led to a usable server,
        /// or the next one if that server refuses writes.
        var firstSentinel = 0
        /// Attempts to connect that failed in a row.
        var failureCount = 0
        /// No attempt begins before this moment.
        private var notBefore: UInt64 = 0
        /// The longest limit, in nanoseconds, of the commands found late by `expire`; `nil` if there are none, or if
        /// the connection is ready and the server owes no reply.
        private(set) var overdueLimit: UInt64?
        private var lastError = FleetError.unreachable(reason: "no connection was made")

        mutating func enqueue(_ command: Command, at now: UInt64) -> Effect {
            guard waitingByteCount + command.bytes.count <= Self.unsentLimit else {
                return .fail(command.reply, .overloaded)
            }
            switch phase {
            case .closed: return .fail(command.reply, .shutDown)
            case .idle where now < notBefore: return .fail(command.reply, lastError)
            case .pausing(let moment) where command.reply.deadline <= moment: return .fail(command.reply, lastError)
            case .idle: phase = .connecting(nil, sentinel: 0, until: .max)
            case .connecting, .ready, .pausing: break
            }
            waiting.append(command)
            waitingByteCount += command.bytes.count
            switch phase {
            case .connecting(nil, _, .max): return waiting.count == 1 ? .connect : .none
            case .connecting(let link?, _, _): return .wake(link)
            // Asks the event loop to send; the loop takes all commands that wait by then.
            case .ready(let link): return .send(link)
            case .connecting(nil, _, _), .idle, .pausing, .closed: return .none
            }
        }

        /// Takes the next commands to send; later commands stay in `waiting`, whose size is limited.
        mutating func takeBytes(for link: RESPLink) -> [UInt8] {
            guard case .ready(let current) = phase, current === link else { return [] }
            var bytes: [UInt8] = []
            var end = waiting.startIndex
            while end < waiting.endIndex {
                let command = waiting[end]
                guard bytes.isEmpty || bytes.count + command.bytes.count <= Self.batchByteCount else { break }
                end += 1
                waitingByteCount -= command.bytes.count
                guard !command.reply.isOver else { continue }
                bytes.append(contentsOf: command.bytes)
                sent.append(command.reply)
            }
            waiting.removeSubrange(..<end)
            return bytes
        }

        /// Takes the commands that the next `count` replies belong to; `nil` for a link that is no longer in use.
        mutating func take(_ count: Int, from link: RESPLink) -> [PendingReply]? {
            guard phase.link === link else { return nil }
            let end = min(sentStart + count, sent.count)
            let answered = Array(sent[sentStart..<end])
            sentStart = end
            if sentStart == sent.count {
                sent.removeAll(keepingCapacity: true)
                sentStart = 0
            } else if sentStart > 1024 {
                sent.removeSubrange(..<sentStart)
                sentStart = 0
            }
            return answered
        }

        /// Returns the longest time that a waiting command has left, in nanoseconds.
        func longestWait(at now: UInt64) -> UInt64 {
            let last = waiting.lazy.map(\.reply).filter { !$0.isOver }.map(\.deadline).max() ?? now
            return last - min(last, now)
        }

        var earliestDeadline: UInt64? {
            (waiting.map(\.reply) + sent[sentStart...]).lazy.filter { !$0.isOver }.map(\.deadline).min()
        }

        /// Returns the late commands, when to check again, and whether the connection is stuck; late commands are not
        /// sent.
        mutating func expire(
            _ link: RESPLink, at now: UInt64, gracePeriod: UInt64
        ) -> (late: [PendingReply], next: UInt64?, isStuck: Bool) {
            overdueLimit = nil
            guard phase.link === link else { return ([], nil, false) }
            let all = waiting.map(\.reply) + sent[sentStart...]
            let late = all.filter { $0.deadline <= now }
            let next = all.lazy.filter { $0.deadline > now }.map(\.deadline).min()
            waiting.removeAll { $0.reply.deadline <= now }
            waitingByteCount = waiting.reduce(0) { $0 + $1.bytes.count }
            overdueLimit = late.lazy.filter { !$0.isOver }.map(\.limit.wholeNanoseconds).max()
            if case .connecting(_, _, let limit) = phase {
                if limit <= now { return (late, nil, true) }
                // `overdueLimit` is kept: the late commands waited for the connection to become ready, so a later
                // command with the same limit would probably be late too.
                return (late, min(next ?? limit, limit), false)
            }
            guard sentStart < sent.count else {
                // No command was sent: the event loop was late, not the server.
                overdueLimit = nil
                return (late, next, false)
            }
            let end = sent[sentStart].deadline.addingSaturating(gracePeriod)
            return (late, min(next ?? end, end), end <= now)
        }

        /// Drops the link and decides which commands fail.
        mutating func end(with error: FleetError, at now: UInt64) -> LostConnection {
            let wasReady = if case .ready = phase { true } else { false }
            phase = .idle
            lastError = error
            // After the loss of a connection that was ready, the next command connects immediately.
            failureCount = wasReady ? 0 : failureCount + 1
            if failureCount == 1, case .unreachable = error, let pause = retryPause(at: now) {
                return LostConnection(failed: takeShort(until: now + pause), retryPause: pause)
            }
            if failureCount > 0 {
                let pause = min(
                    Self.firstPause << UInt64(min(failureCount - 1, 10)), Self.longestPause)
                notBefore = now + UInt64.random(in: pause / 2...pause)
            }
            return LostConnection(failed: takeAll(), retryPause: nil)
        }

        /// Returns how long to wait before the second attempt; `nil` when no command can wait for the attempt.
        ///
        /// The pause is random, between a half and three quarters of the time that a command has left (of 100 ms at
        /// most), so that the command keeps at least a quarter for the attempt.
        private func retryPause(at now: UInt64) -> UInt64? {
            let pause = min(longestWait(at: now) / 2, Self.firstPause)
            return pause > 0 ? UInt64.random(in: pause...pause + pause / 2) : nil
        }

        /// Takes out the commands whose deadlines come before a moment; the other commands wait for it.
        private mutating func takeShort(until moment: UInt64) -> [PendingReply] {
            phase = .pausing(until: moment)
            let short = waiting.filter { $0.reply.deadline <= moment }
            waiting.removeAll { $0.reply.deadline <= moment || $0.reply.isOver }
            waitingByteCount = waiting.reduce(0) { $0 + $1.bytes.count }
            return short.map(\.reply)
        }

        /// Begins the second attempt; false when no command waits for it any more.
        mutating func retry() -> Bool {
            guard case .pausing = phase else { return false }
            guard waiting.contains(where: { !$0.reply.isOver }) else {
                phase = .idle
                _ = takeAll()
                return false
            }
            phase = .connecting(nil, sentinel: 0, until: .max)
            return true
        }

        mutating func close() -> (RESPLink?, [PendingReply]) {
            let link = phase.link
            phase = .closed
            return (link, takeAll())
        }

        private mutating func takeAll() -> [PendingReply] {
            let all = sent[sentStart...] + waiting.map(\.reply)
            (sent, waiting, sentStart, waitingByteCount) = ([], [], 0, 0)
            return Array(all)
        }
    }
}
