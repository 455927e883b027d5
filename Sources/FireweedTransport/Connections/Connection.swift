// The common part of HTTP/1.1 and HTTP/2 connections.

/// A connection to an origin: the socket, and what is known about its readiness.
///
/// The socket is registered once, edge-triggered, and the connection stores the reported readiness. HTTP/1.1 and HTTP/2
/// each have a subclass. Confined to the loop's thread.
class Connection: DeadlineEntry {
    // The origin holds the connection too: the reference cycle ends when the origin releases a closed connection.
    final let origin: OriginPool
    final let context: LoopContext
    final let channel: ByteChannel
    private let socket: ConnectedSocket
    /// Seconds without an acknowledgement after which the kernel drops the connection.
    private var userTimeout: Double
    private var details: ConnectionDetails?
    /// The connection's number; each origin numbers its connections from 1.
    final let number: Int
    /// The turn of the loop in which the connection was made.
    private let firstTurn: UInt64
    private let opened: LoopInstant
    /// The number of exchanges that the connection has carried.
    final var exchangeCount = 0
    private(set) final var isClosed = false
    /// The moment when the connection became idle.
    private(set) final var idleSince: LoopInstant = 0
    final var originLinks = IdleLinks<Connection>()
    final var poolLinks = IdleLinks<Connection>()

    /// Whether unread bytes or the end may wait on the socket, as far as the connection knows.
    final var arrivals: SocketArrivals
    /// Whether bytes may wait on the socket; false after a read that did not fill its buffer.
    final var isReadable: Bool { arrivals.mayWait }
    final var isWritable = true
    /// Whether the peer has closed its side; bytes before the end may still be read.
    final var hasPeerClosed: Bool { arrivals.hasEnded }

    init(_ socket: ConnectedSocket, origin: OriginPool) {
        self.socket = socket
        userTimeout = socket.userTimeout
        self.origin = origin
        context = origin.pool.context
        channel = socket.channel
        number = origin.nextConnectionNumber()
        firstTurn = context.turnNumber
        opened = context.now
        arrivals = SocketArrivals(mayWait: socket.isReadable, hasEnded: false)
        super.init()
        let hasEnded = context.sockets.hand(channel.descriptor, to: self)
        arrivals = SocketArrivals(mayWait: socket.isReadable, hasEnded: hasEnded)
    }

    // MARK: Overridden by each version of HTTP

    /// Sends an exchange's message and reads the response.
    func attach(_ exchange: Exchange) {}

    /// Handles new readiness of the socket.
    func socketIsReady() {}

    /// Handles the loss of the connection: its exchanges are sent again or fail, and an idle connection closes.
    func isLost(by failure: TransferFailure) {}

    /// Releases memory after the connection was closed.
    func didClose() {}

    /// Whether the connection carries no exchange.
    var isIdle: Bool { true }

    /// The seconds for which the server keeps an idle connection; `nil` if it has not announced them.
    var keepAliveSeconds: Int? { nil }

    // MARK: The end

    /// Closes the socket; the caller detaches the exchanges before this call, or ends them afterwards.
    final func close() {
        guard !isClosed else { return }
        isClosed = true
        context.deadlines.remove(self)
        context.sockets.willClose(channel.descriptor)
        context.close(channel)
        didClose()
        origin.connectionClosed(self)
    }

    // MARK: Idle connections

    /// Begins the idle time.
    final func becomeIdle() {
        idleSince = context.now
        if let limit = idleLimit { context.deadlines.lower(self, to: idleSince.addingSaturating(limit)) }
    }

    /// The longest idle time: the pool's limit or, if shorter, the time that the server has announced less half a
    /// second.
    private var idleLimit: LoopInstant? {
        let own = origin.pool.idleTime
        guard let seconds = keepAliveSeconds else { return own }
        let (announced, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? own : min(own, announced - min(announced, 500_000_000))
    }

    /// Whether an idle connection can carry an exchange.
    var isUsable: Bool {
        guard !isClosed else { return false }
        return isNew || isWithinIdleTime && isSilent()
    }

    /// Whether the connection was made in this turn of the loop and has carried no exchange: it was never idle.
    ///
    /// A new connection is used without a check of its socket: if the server has sent bytes already, such as a 408 or
    /// 503 that refuses the connection, they belong to the message for which the connection was made.
    final var isNew: Bool { exchangeCount == 0 && firstTurn == context.turnNumber }

    private var idleTime: LoopInstant { context.now - min(idleSince, context.now) }

    // MARK: Unread bytes

    /// Updates `arrivals` with the outcome of a read into `byteCount` bytes.
    final func noteRead(_ outcome: ByteChannel.TransferResult, byteCount: Int) {
        switch outcome {
        case .bytes(let count):
            if count < byteCount, !channel.hasEnded { arrivals.handle(.readShort(turn: context.turnNumber)) }
        case .wouldBlock: arrivals.handle(.foundNothing(turn: context.turnNumber))
        case .end, .failed: arrivals.handle(.readEnd)
        }
    }

    /// Whether neither the socket nor the TLS stream has unread bytes, which could be mistaken for the next message's
    /// response.
    ///
    /// Makes at most one system call, and usually none if the loop has polled since the last read.
    final func isSilent() -> Bool {
        let holdsRecords = channel.tls?.holdsUnreadRecords ?? false
        switch arrivals.verdict(turn: context.turnNumber, areEventsKnown: context.areEventsKnown) {
        case .ended: return false
        case .empty where !holdsRecords: return true
        case .empty, .unknown:
            guard !channel.hasSomethingToRead else { return false }
            arrivals.handle(.foundNothing(turn: context.turnNumber))
            return !(channel.tls?.holdsUnreadRecords ?? false)
        }
    }

    /// Whether the connection has not been idle for too long.
    final var isWithinIdleTime: Bool { idleTime < idleLimit ?? .max }

    final override func timeReached(at now: LoopInstant) {
        guard isIdle, !isClosed, let limit = idleLimit else { return }
        let end = idleSince.addingSaturating(limit)
        if end <= now { close() } else { context.deadlines.set(self, to: end) }
    }

    /// The largest capacity, in bytes, of a write buffer that an idle connection keeps.
    static let keptRoom = 4096

    // MARK: Reports

    /// Reports how an exchange got this connection: the times of connecting, or that the connection is reused.
    ///
    /// Also raises the kernel's time-out for the exchange.
    final func noteConnecting(of exchange: Exchange, isReused: Bool) {
        exchange.reports.current.isReusedConnection = isReused
        exchange.reports.current.usesProxy = exchange.origin?.key.proxy != nil
        allow(idleTimeout: exchange.message.idleTimeout)
        guard !isReused else {
            exchange.reports.current.waited = exchange.reports.moment(context.now) - 1
            return
        }
        exchange.reports.current.waited = exchange.reports.moment(socket.start) - 1
        exchange.reports.current.lookedUp = Int64((socket.lookupEnd - socket.start) / 1000)
        exchange.reports.current.nameLookup = exchange.reports.moment(socket.lookupEnd)
        exchange.reports.current.connect = exchange.reports.moment(socket.connectEnd)
        if let secureEnd = socket.secureEnd {
            exchange.reports.current.secureConnect = exchange.reports.moment(secureEnd)
        }
    }

    /// Raises the kernel's time-out to an exchange's idle time-out, or to `kernelTimeout` without one, if that is
    /// longer.
    private func allow(idleTimeout: Double) {
        let wanted = idleTimeout > 0 ? idleTimeout : KeepAlive.kernelTimeout
        guard wanted > userTimeout else { return }
        userTimeout = wanted
        KeepAlive.set(userTimeout: wanted, on: channel.descriptor)
    }

    /// The connection as a value for observers.
    final var observed: ObservedConnection {
        ObservedConnection(
            origin: origin.counters.origin,
            details: details(protocolName: self is HTTP2Connection ? "h2" : "http/1.1"))
    }

    /// How long the connection has been open.
    final var age: Duration { .nanoseconds(context.now - min(opened, context.now)) }

    /// The addresses and parameters of the connection; all exchanges of the connection share the object.
    final func details(protocolName: String?) -> ConnectionDetails {
        if let details, details.protocolName == protocolName { return details }
        let made = ConnectionDetails(
            protocolName: protocolName,
            localEndpoint: details?.localEndpoint ?? SocketAddress.local(of: channel.descriptor)?.endpoint,
            remoteEndpoint: socket.address.endpoint, tls: details?.tls ?? channel.tls?.report)
        details = made
        return made
    }
}

extension Connection: SocketWatcher {
    final func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
        guard !isClosed else { return }
        if readiness.contains(.writable) {
            isWritable = true
            channel.flush()
        }
        arrivals.handle(.reported(bytes: readiness.contains(.readable), end: readiness.tellsOfEnd))
        socketIsReady()
    }

    final func socket(_ descriptor: Int32, lostAddress address: IPAddress) {
        if !isClosed { isLost(by: .lostAddress(address)) }
    }
}
