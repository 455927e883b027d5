// A connection to the fleet's server that is made again when it is lost.

import FireweedTransport
import Synchronization

/// Sends commands of many tasks over one connection, each as soon as it comes, and gives each its reply.
///
/// Nothing is queued for a server that is away: a command while the connection is made waits within its own deadline,
/// and a command after a failed attempt fails at once, until the next attempt is due. Attempts come with the next
/// command, after a pause that grows from 50 ms to 2 s and is shortened at random, so that the processes of a fleet do
/// not come back at the same moment. A command is never sent twice.
final class RESPConnection: Sendable {
    private let endpoint: FleetEndpoint
    private let connector: ByteConnector
    private let loop: Int
    private let limits: RESPParser.Limits
    private let overdue: OverdueReplies
    private let clock = SystemClock()
    private let state = Mutex(State())

    /// Time to connect, and again to get through the handshake, that an attempt has at least.
    private static let connectTimeout: UInt64 = 2_000_000_000
    /// A connection on which a reply is overdue for so long is given up, in nanoseconds.
    private static let replyGracePeriod: UInt64 = 1_000_000_000
    /// So many bytes may wait to be sent.
    private static let unsentLimit = 32 * 1024 * 1024
    /// So many bytes are handed to the socket at once, or one command.
    private static let batchByteCount = 256 * 1024
    private static let firstPause: UInt64 = 50_000_000
    private static let longestPause: UInt64 = 2_000_000_000

    init(
        to endpoint: FleetEndpoint, connector: ByteConnector, loop: Int, limits: RESPParser.Limits,
        overdue: OverdueReplies
    ) {
        self.overdue = overdue
        self.endpoint = endpoint
        self.connector = connector
        self.loop = loop
        self.limits = limits
    }

    deinit {
        close()
    }

    /// Sends a command and awaits the reply, which may be an error reply.
    ///
    /// Throws `FleetError` or `CancellationError`.
    func reply(to command: [RESPArgument], within limit: Duration) async throws -> RESPValue {
        // In a forked child no loop runs that could end the wait.
        guard !connector.isFromParentProcess else { throw FleetError.shutDown }
        guard !overdue.covers(limit.wholeNanoseconds) else { throw FleetError.timedOut(after: limit) }
        let now = clock.monotonicNanoseconds
        let pending = PendingReply(deadline: now.addingSaturating(limit.wholeNanoseconds), limit: limit)
        let command = State.Command(bytes: RESPArgument.encode(command), reply: pending)
        perform(state.withLock { $0.enqueue(command, at: now) }, at: pending.deadline)
        return try await pending.value()
    }

    /// Closes the connection and fails what waits; no command is taken any more.
    func close() {
        let (link, pending) = state.withLock { $0.close() }
        link?.close()
        for reply in pending { reply.finish(.failure(FleetError.shutDown)) }
    }

    private func perform(_ effect: State.Effect, at moment: UInt64) {
        switch effect {
        case .none: break
        case .connect: connect(sentinel: 0)
        case .send(let link): link.wantsToSend(wakeAt: moment)
        case .wake(let link): link.wake(at: moment)
        case .fail(let pending, let error): pending.finish(.failure(error))
        }
    }

    // MARK: Connecting

    private func connect(sentinel index: Int) {
        switch endpoint.route {
        case .server(let place): begin(purpose(checksRole: false), at: place)
        case .sentinels(let places, let primary, _): begin(.discovery(primary: primary), at: places[index])
        }
    }

    private func purpose(checksRole: Bool) -> RESPHandshake.Purpose {
        .server(
            user: endpoint.user, password: endpoint.password, database: endpoint.database, checksRole: checksRole)
    }

    private func begin(_ purpose: RESPHandshake.Purpose, at place: ByteConnector.Place) {
        guard connector.loopCount > 0, !connector.isFromParentProcess else {
            return fail(.shutDown)
        }
        let link = RESPLink(purpose, at: place, owner: self, limits: limits)
        let now = clock.monotonicNanoseconds
        let times: (timeout: UInt64, wake: UInt64)? = state.withLock { state in
            guard case .connecting(_, let sentinel, _) = state.phase else { return nil }
            // An attempt lasts as long as a command waits: giving it up fails commands whose deadlines are not over.
            // Behind sentinels the next attempt may lead to another server.
            let wait = if case .server = endpoint.route { state.longestWait(at: now) } else { UInt64(0) }
            let limit = now.addingSaturating(max(2 * Self.connectTimeout, wait))
            state.phase = .connecting(link, sentinel: sentinel, until: limit)
            return (max(Self.connectTimeout, wait), min(state.earliestDeadline ?? limit, limit))
        }
        guard let times else { return }  // closed meanwhile
        link.begin(with: connector, loop: loop, timeout: .nanoseconds(Int64(clamping: times.timeout)))
        link.wake(at: times.wake)
    }

    private func fail(_ error: FleetError) {
        let pending = state.withLock { $0.end(with: error, at: clock.monotonicNanoseconds) }
        overdue.clear()
        for reply in pending { reply.finish(.failure(error)) }
    }

    // MARK: What a link reports, on the loop's thread

    func linkIsReady(_ link: RESPLink) {
        let isCurrent = state.withLock { state in
            guard state.phase.link === link else { return false }
            state.phase = .ready(link)
            state.failureCount = 0
            return true
        }
        if isCurrent { link.wantsToSend() } else { link.close() }
    }

    func link(_ link: RESPLink, didDiscover host: String, _ port: UInt16) {
        guard case .sentinels(_, _, let isSecure) = endpoint.route, state.withLock({ $0.phase.link === link }) else {
            return
        }
        begin(purpose(checksRole: true), at: .host(host, port: port, isSecure: isSecure))
    }

    func bytesToSend(on link: RESPLink) -> [UInt8] {
        state.withLock { $0.takeBytes(for: link) }
    }

    func link(_ link: RESPLink, didReceive replies: [RESPValue]) {
        guard let answered = state.withLock({ $0.take(replies.count, from: link) }) else { return }
        overdue.clear()
        if zip(answered, replies).contains(where: { $1.isFromReplica }) {
            // After a failover another connection may lead to the primary.
            link.close()
            self.link(link, didEnd: .unreachable(reason: "the server became a replica"))
        }
        for (pending, reply) in zip(answered, replies) { pending.finish(.success(reply)) }
        if replies.count > answered.count {
            link.close()
            self.link(link, didEnd: .malformedReply(reason: "a reply without a command"))
        }
    }

    func link(_ link: RESPLink, didEnd error: FleetError) {
        enum Next { case ignore, sentinel(Int), fail([PendingReply]) }
        let now = clock.monotonicNanoseconds
        let next: Next = state.withLock { state in
            guard state.phase.link === link else { return .ignore }
            if case .connecting(_, let sentinel, let limit) = state.phase, case .discovery = link.purpose,
                case .sentinels(let places, _, _) = endpoint.route, sentinel + 1 < places.count
            {
                state.phase = .connecting(nil, sentinel: sentinel + 1, until: limit)
                return .sentinel(sentinel + 1)
            }
            return .fail(state.end(with: error, at: now))
        }
        switch next {
        case .ignore: break
        case .sentinel(let index): connect(sentinel: index)
        case .fail(let pending):
            // The next command tries another connection.
            overdue.clear()
            for reply in pending { reply.finish(.failure(error)) }
        }
    }

    /// Fails the commands whose time is over; returns the next deadline.
    func link(_ link: RESPLink, timeReached now: UInt64) -> UInt64? {
        let (late, next, isStuck) = state.withLock { state in
            defer {
                // Noted under the lock: a reply that arrives later clears it.
                if let limit = state.overdueLimit { overdue.note(limit) }
            }
            return state.expire(link, at: now, gracePeriod: Self.replyGracePeriod)
        }
        for pending in late { pending.finish(.failure(FleetError.timedOut(after: pending.limit))) }
        if isStuck {
            link.close()
            self.link(link, didEnd: .unreachable(reason: "the server does not answer"))
        }
        return next
    }
}

extension RESPValue {
    /// Whether the server says that it cannot be written.
    fileprivate var isFromReplica: Bool {
        if case .error(let error) = self { error.code == "READONLY" } else { false }
    }
}

// MARK: State

extension RESPConnection {
    enum Phase {
        case idle
        /// Without a link while the link is being made.
        case connecting(RESPLink?, sentinel: Int, until: UInt64)
        case ready(RESPLink)
        case closed

        var link: RESPLink? {
            switch self {
            case .connecting(let link, _, _): link
            case .ready(let link): link
            case .idle, .closed: nil
            }
        }
    }

    struct State {
        enum Effect {
            case none
            case connect
            case send(RESPLink)
            case wake(RESPLink)
            case fail(PendingReply, FleetError)
        }

        struct Command {
            let bytes: [UInt8]
            let reply: PendingReply
        }

        var phase = Phase.idle
        /// Commands that were not handed to the link.
        private var waiting: [Command] = []
        private var waitingByteCount = 0
        /// Commands whose replies are to come, in this order, from `sentStart` on.
        private var sent: [PendingReply] = []
        private var sentStart = 0
        /// Attempts to connect that failed in a row.
        var failureCount = 0
        /// No attempt begins before this moment.
        private var notBefore: UInt64 = 0
        /// The longest limit, in nanoseconds, of the commands that were found late last, while others are owed.
        private(set) var overdueLimit: UInt64?
        private var lastError = FleetError.unreachable(reason: "no connection was made")

        mutating func enqueue(_ command: Command, at now: UInt64) -> Effect {
            guard waitingByteCount + command.bytes.count <= RESPConnection.unsentLimit else {
                return .fail(command.reply, .overloaded)
            }
            switch phase {
            case .closed: return .fail(command.reply, .shutDown)
            case .idle where now < notBefore: return .fail(command.reply, lastError)
            case .idle: phase = .connecting(nil, sentinel: 0, until: .max)
            case .connecting, .ready: break
            }
            waiting.append(command)
            waitingByteCount += command.bytes.count
            switch phase {
            case .connecting(nil, _, .max): return waiting.count == 1 ? .connect : .none
            case .connecting(let link?, _, _): return .wake(link)
            // The loop takes all that wait at once.
            case .ready(let link): return .send(link)
            case .connecting(nil, _, _), .idle, .closed: return .none
            }
        }

        /// The next commands to send: what the socket does not take waits here, where it is bounded.
        mutating func takeBytes(for link: RESPLink) -> [UInt8] {
            guard case .ready(let current) = phase, current === link else { return [] }
            var bytes: [UInt8] = []
            var end = waiting.startIndex
            while end < waiting.endIndex {
                let command = waiting[end]
                guard bytes.isEmpty || bytes.count + command.bytes.count <= RESPConnection.batchByteCount else { break }
                end += 1
                waitingByteCount -= command.bytes.count
                guard !command.reply.isOver else { continue }
                bytes.append(contentsOf: command.bytes)
                sent.append(command.reply)
            }
            waiting.removeSubrange(..<end)
            return bytes
        }

        /// The commands that the next replies belong to; `nil` for a link that was given up.
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

        /// For how long a command waits at most, in nanoseconds.
        func longestWait(at now: UInt64) -> UInt64 {
            let last = waiting.lazy.map(\.reply).filter { !$0.isOver }.map(\.deadline).max() ?? now
            return last - min(last, now)
        }

        var earliestDeadline: UInt64? {
            (waiting.map(\.reply) + sent[sentStart...]).lazy.filter { !$0.isOver }.map(\.deadline).min()
        }

        /// What is late, when to look again, and whether the connection is of no use any more.
        mutating func expire(
            _ link: RESPLink, at now: UInt64, gracePeriod: UInt64
        ) -> (late: [PendingReply], next: UInt64?, isStuck: Bool) {
            overdueLimit = nil
            guard phase.link === link else { return ([], nil, false) }
            let all = waiting.map(\.reply) + sent[sentStart...]
            let late = all.filter { $0.deadline <= now }
            var next = all.lazy.filter { $0.deadline > now }.map(\.deadline).min()
            waiting.removeAll { $0.reply.deadline <= now }
            waitingByteCount = waiting.reduce(0) { $0 + $1.bytes.count }
            overdueLimit = late.lazy.filter { !$0.isOver }.map(\.limit.wholeNanoseconds).max()
            if case .connecting(_, _, let limit) = phase {
                if limit <= now { return (late, nil, true) }
                next = min(next ?? limit, limit)
            }
            guard sentStart < sent.count else {
                // The loop was late, and not the server.
                overdueLimit = nil
                return (late, next, false)
            }
            let end = sent[sentStart].deadline.addingSaturating(gracePeriod)
            return (late, min(next ?? end, end), end <= now)
        }

        /// Forgets the link; returns the commands that fail with it.
        mutating func end(with error: FleetError, at now: UInt64) -> [PendingReply] {
            let wasReady = if case .ready = phase { true } else { false }
            phase = .idle
            lastError = error
            // A connection that worked is made again at once.
            failureCount = wasReady ? 0 : failureCount + 1
            if failureCount > 0 {
                let pause = min(
                    RESPConnection.firstPause << UInt64(min(failureCount - 1, 10)), RESPConnection.longestPause)
                notBefore = now + UInt64.random(in: pause / 2...pause)
            }
            return takeAll()
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

extension UInt64 {
    /// The sum, or the greatest number.
    func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}

extension Duration {
    /// Nanoseconds; zero for a negative duration, and the greatest number for more than fit.
    var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, isOver) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return isOver ? .max : product.addingSaturating(UInt64(attoseconds / 1_000_000_000))
    }
}
