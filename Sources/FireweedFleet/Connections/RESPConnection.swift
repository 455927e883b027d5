// A connection to the fleet's server that reconnects when it is lost.

import Dispatch
import FireweedTransport
import Synchronization

/// Sends the commands of many tasks over one connection, each immediately, and returns each reply to its task.
///
/// Nothing is queued for a server that is away. While the connection is being made, a command waits within its own
/// deadline; after a failed attempt, a command fails immediately until the next attempt is due. The next attempt begins
/// with a command, after a pause that grows from 50 ms to 2 s. The pause is shortened at random, so that the processes
/// of a fleet do not reconnect at the same moment. The first failed attempt is repeated once for the waiting commands,
/// within their deadlines: a restart of the server may be shorter. A command is never sent twice.
final class RESPConnection: Sendable {
    private let endpoint: FleetEndpoint
    private let connector: ByteConnector
    private let loop: Int
    private let limits: RESPParser.Limits
    private let overdue: TimedOutReplies
    private let clock = SystemClock()
    private let state = Mutex(State())

    /// The minimum time-out of an attempt to connect, in nanoseconds; its handshake gets the same time again.
    private static let connectTimeout: UInt64 = 2_000_000_000
    /// Nanoseconds that a reply may be overdue before the connection is closed.
    private static let replyGracePeriod: UInt64 = 1_000_000_000
    private static let retryQueue = DispatchQueue(label: "fireweed.fleet.connections")

    init(
        to endpoint: FleetEndpoint, connector: ByteConnector, loop: Int, limits: RESPParser.Limits,
        overdue: TimedOutReplies
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
    func reply(to command: [RESPArgument], within limit: Duration) async throws -> RESPReply {
        // In a forked child no event loop runs, so the wait would never end.
        guard !connector.isFromParentProcess else { throw FleetError.shutDown }
        guard !overdue.covers(limit.wholeNanoseconds) else { throw FleetError.timedOut(after: limit) }
        let now = clock.monotonicNanoseconds
        let pending = PendingReply(deadline: now.addingSaturating(limit.wholeNanoseconds), limit: limit)
        let command = State.Command(bytes: RESPArgument.encode(command), reply: pending)
        perform(state.withLock { $0.enqueue(command, at: now) }, at: pending.deadline)
        return try await pending.value()
    }

    /// Closes the connection, fails the pending commands, and refuses later commands.
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
        case .sentinels(let places, let primary, _):
            let purpose = RESPHandshake.Purpose.discovery(
                primary: primary, user: endpoint.sentinelUser, password: endpoint.sentinelPassword)
            let first = state.withLock { $0.firstSentinel }
            begin(purpose, at: places[(first + index) % places.count])
        }
    }

    private func purpose(checksRole: Bool) -> RESPHandshake.Purpose {
        .server(
            user: endpoint.user, password: endpoint.password, database: endpoint.database, checksRole: checksRole)
    }

    private func begin(_ purpose: RESPHandshake.Purpose, at place: ByteConnector.Destination) {
        guard connector.loopCount > 0, !connector.isFromParentProcess else {
            return fail(.shutDown)
        }
        let link = RESPLink(purpose, at: place, owner: self, limits: limits)
        let now = clock.monotonicNanoseconds
        let times: (timeout: UInt64, wake: UInt64)? = state.withLock { state in
            guard case .connecting(_, let sentinel, _) = state.phase else { return nil }
            // An attempt lasts as long as the longest waiting command, since the end of the attempt also fails commands
            // whose deadlines are not over. With sentinels, the next attempt may lead to another server, so this
            // attempt gets the minimum.
            let wait = if case .server = endpoint.route { state.longestWait(at: now) } else { UInt64(0) }
            let limit = now.addingSaturating(max(2 * Self.connectTimeout, wait))
            state.phase = .connecting(link, sentinel: sentinel, until: limit)
            return (max(Self.connectTimeout, wait), min(state.earliestDeadline ?? limit, limit))
        }
        guard let times else { return }  // the connection was closed
        link.begin(with: connector, loop: loop, timeout: .nanoseconds(Int64(clamping: times.timeout)))
        link.wake(at: times.wake)
    }

    private func fail(_ error: FleetError) {
        end(with: error, state.withLock { $0.end(with: error, at: clock.monotonicNanoseconds) })
    }

    private func end(with error: FleetError, _ ending: State.LostConnection) {
        // No reply is overdue any more: the next command tries another connection.
        overdue.clear()
        for reply in ending.failed { reply.finish(.failure(error)) }
        guard let pause = ending.retryPause else { return }
        clock.schedule(.delay, after: .nanoseconds(Int64(pause)), on: Self.retryQueue) { [weak self] in
            guard let self, state.withLock({ $0.retry() }) else { return }
            connect(sentinel: 0)
        }
    }

    // MARK: Reports of a link, on the loop's thread

    func linkIsReady(_ link: RESPLink) {
        let isCurrent = state.withLock { state in
            guard case .connecting(let current?, let sentinel, _) = state.phase, current === link else { return false }
            state.firstSentinel += sentinel
            state.phase = .ready(link)
            state.failureCount = 0
            return true
        }
        guard isCurrent else { return link.close() }
        overdue.clear()
        link.wantsToSend()
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
        if zip(answered, replies).contains(where: { $1.refusesWrites }) {
            // After a failover another connection may lead to the primary, and another sentinel may know the primary:
            // the sentinel that named this server may be cut off together with the server.
            state.withLock { $0.firstSentinel += 1 }
            link.close()
            self.link(link, didEnd: .unreachable(reason: "the server cannot be written"))
        }
        let now = clock.monotonicNanoseconds
        for (pending, reply) in zip(answered, replies) {
            pending.finish(.success(RESPReply(value: reply, arrival: now)))
        }
        if replies.count > answered.count {
            link.close()
            self.link(link, didEnd: .malformedReply(reason: "a reply without a command"))
        }
    }

    func link(_ link: RESPLink, didEnd error: FleetError) {
        enum Next { case ignore, sentinel(Int), end(State.LostConnection) }
        let now = clock.monotonicNanoseconds
        let next: Next = state.withLock { state in
            guard state.phase.link === link else { return .ignore }
            // The sentinel may be away, or may have named a server that is away or is now a replica: ask the next one.
            if case .connecting(_, let sentinel, let limit) = state.phase,
                case .sentinels(let places, _, _) = endpoint.route, sentinel + 1 < places.count
            {
                state.phase = .connecting(nil, sentinel: sentinel + 1, until: limit)
                return .sentinel(sentinel + 1)
            }
            return .end(state.end(with: error, at: now))
        }
        switch next {
        case .ignore: break
        case .sentinel(let index): connect(sentinel: index)
        case .end(let ending): end(with: error, ending)
        }
    }

    /// Fails the commands whose time is over; returns the next deadline.
    func link(_ link: RESPLink, timeReached now: UInt64) -> UInt64? {
        let (late, next, isStuck) = state.withLock { state in
            defer {
                // The limit is noted under the lock, so that a reply that arrives later clears it.
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
    /// Whether the reply says that the server cannot be written.
    fileprivate var refusesWrites: Bool {
        if case .error(let error) = self { FleetError(error) == .readOnly } else { false }
    }
}

extension UInt64 {
    /// Returns the sum, or `.max` on overflow.
    func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}

extension Duration {
    /// Nanoseconds; zero for a negative duration, and `.max` if the number does not fit.
    var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, isOver) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return isOver ? .max : product.addingSaturating(UInt64(attoseconds / 1_000_000_000))
    }
}
