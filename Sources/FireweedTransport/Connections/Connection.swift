// The common part of connections of every version of HTTP.

/// A socket that was connected, and what it is ready for.
///
/// The socket is registered once, for its edges: the connection remembers what it is ready for. Each version of HTTP
/// has a subclass. It lives on its loop's thread.
class Connection: DeadlineEntry {
    unowned final let origin: OriginPool
    final let context: LoopContext
    final let channel: ByteChannel
    private let socket: ConnectedSocket
    /// After how many seconds without an acknowledgement the kernel gives the connection up.
    private var userTimeout: Double
    private var details: ConnectionDetails?
    /// Counts the connections of the origin.
    final let number: Int
    /// The turn of the loop in which the connection was made.
    private let firstTurn: UInt64
    /// How many exchanges the connection was given.
    final var exchangeCount = 0
    private(set) final var isClosed = false
    /// When the connection became idle.
    private(set) final var idleSince: LoopInstant = 0

    /// The knowledge about bytes that wait on the socket.
    final var arrivals: SocketArrivals
    /// Bytes may be there: a read that gives fewer bytes than it could says that they are not.
    final var isReadable: Bool { arrivals.mayWait }
    final var isWritable = true
    /// The peer sends nothing more: reading continues to the end.
    final var hasPeerClosed: Bool { arrivals.hasEnded }

    init(_ socket: ConnectedSocket, origin: OriginPool) {
        self.socket = socket
        userTimeout = socket.userTimeout
        self.origin = origin
        context = origin.pool.context
        channel = socket.channel
        number = origin.nextConnectionNumber()
        firstTurn = context.turnNumber
        arrivals = SocketArrivals(mayWait: socket.isReadable, hasEnded: false)
        super.init()
        let hasEnded = context.sockets.hand(channel.descriptor, to: self)
        arrivals = SocketArrivals(mayWait: socket.isReadable, hasEnded: hasEnded)
    }

    // MARK: What each version does

    /// Sends an exchange's message and reads the response.
    func attach(_ exchange: Exchange) {}

    /// The socket has become ready for something.
    func socketIsReady() {}

    /// The connection is of no use any more: exchanges on it are sent again or fail, and an idle one closes.
    func isLost(by failure: TransferFailure) {}

    /// The connection was closed: gives back what it holds.
    func didClose() {}

    /// Whether the connection carries nothing.
    var isIdle: Bool { true }

    /// The seconds for which the server keeps an idle connection, where it has said so.
    var keepAliveSeconds: Int? { nil }

    // MARK: The end

    /// Closes the socket; exchanges must have been let go, or end without it.
    final func close() {
        guard !isClosed else { return }
        isClosed = true
        origin.pool.timers.remove(self)
        context.sockets.willClose(channel.descriptor)
        context.close(channel)
        didClose()
        origin.connectionClosed(self)
    }

    // MARK: Idle connections

    /// The connection is idle from now on.
    final func becomeIdle() {
        idleSince = context.now
        if let limit = idleLimit { origin.pool.timers.lower(self, to: idleSince.addingSaturating(limit)) }
    }

    /// How long the connection is kept; a server's own limit ends half a second before it closes.
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

    /// Whether the connection was made in this turn of the loop and has carried nothing: it was never idle.
    final var isNew: Bool { exchangeCount == 0 && firstTurn == context.turnNumber }

    private var idleTime: LoopInstant { context.now - min(idleSince, context.now) }

    // MARK: What waits to be read

    /// Notes the result of a read into `byteCount` bytes.
    final func noteRead(_ outcome: ByteChannel.TransferResult, byteCount: Int) {
        switch outcome {
        case .bytes(let count):
            if count < byteCount, !channel.hasEnded { arrivals.handle(.readShort(turn: context.turnNumber)) }
        case .wouldBlock: arrivals.handle(.foundNothing(turn: context.turnNumber))
        case .end, .failed: arrivals.handle(.readEnd)
        }
    }

    /// Whether nothing waits on the socket and nothing in the TLS stream: bytes there came before the next message, and
    /// could be taken for its response.
    ///
    /// Makes one system call, and none where the loop has polled since the connection was read.
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
        if end <= now { close() } else { origin.pool.timers.set(self, to: end) }
    }

    /// Room for a head that an idle connection keeps.
    static let keptRoom = 4096

    // MARK: Reports

    /// The times of the connection's making, in the report of the exchange that waited for it.
    final func noteConnecting(of exchange: Exchange, isReused: Bool) {
        exchange.report.isReusedConnection = isReused
        allow(idleTimeout: exchange.message.idleTimeout)
        guard !isReused else {
            exchange.report.waited = exchange.moment(context.now) - 1
            return
        }
        exchange.report.waited = exchange.moment(socket.start) - 1
        exchange.report.lookedUp = Int64((socket.lookupEnd - socket.start) / 1000)
        exchange.report.nameLookup = exchange.moment(socket.lookupEnd)
        exchange.report.connect = exchange.moment(socket.connectEnd)
        if let secureEnd = socket.secureEnd { exchange.report.secureConnect = exchange.moment(secureEnd) }
    }

    /// Lets the kernel wait as long as an exchange may stand still, which may be longer than earlier ones might.
    private func allow(idleTimeout: Double) {
        let wanted = idleTimeout > 0 ? idleTimeout : KeepAlive.kernelTimeout
        guard wanted > userTimeout else { return }
        userTimeout = wanted
        KeepAlive.set(userTimeout: wanted, on: channel.descriptor)
    }

    /// The ends of the connection, the same object for all its exchanges.
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
