// A connection that carries one exchange after another (RFC 9112 §9.3).

import Foundation
import Glibc

/// A socket, the parser of what comes in and the bytes that go out.
///
/// The socket is registered once, for its edges: the connection remembers what it is ready for. Without an exchange it
/// keeps nothing but an empty buffer for the next head, and whatever comes then closes it.
final class HTTP1Connection: Timed {
    unowned let origin: Origin
    let context: LoopContext
    let channel: ByteChannel
    /// The exchange that runs.
    var exchange: Exchange?
    var parser: HTTP1ResponseParser
    private let socket: ConnectedSocket
    private var details: ConnectionDetails?
    private var exchangeCount = 0
    private(set) var isClosed = false
    /// The present exchange was given the connection when another had used it.
    private(set) var isReused = false
    /// When the connection became idle.
    private(set) var idleSince: LoopInstant = 0

    // MARK: Reading

    /// Bytes may be there: a read that gives fewer bytes than it could says that they are not.
    var isReadable: Bool
    /// The peer sends nothing more, so that reading goes on to the end.
    var hasPeerClosed = false
    /// What was read and may not be told yet.
    var unread: [UInt8] = []
    /// Takes the content codings of the present response off; `nil` when it has none.
    var decoder: ContentDecoder?
    /// Content whose decoding stopped, since the exchange takes no more for now.
    var undecoded: [UInt8]?
    /// The content of the present response ends with the connection.
    var endsWithClose = false

    // MARK: Writing

    var isWritable = true
    /// The present exchange's head and what frames its content, as far as they have not left.
    var pending: [UInt8] = []
    var pendingOffset = 0
    /// How many of the bytes to be written next are the head's.
    var headRest = 0
    var content = OutgoingContent.none
    var framing = HTTP1RequestWriter.Framing.none
    /// The content waits for a 100 (RFC 9110 §10.1.1).
    var awaitsContinue = false
    /// The rest of the content is not sent: an answer came, or the peer takes no more.
    var isSendingStopped = false
    /// The message asked for the end of the connection.
    var closesAfterExchange = false
    /// A byte of the present message was handed to the kernel.
    var hasWritten = false

    init(_ socket: ConnectedSocket, origin: Origin) {
        self.socket = socket
        self.origin = origin
        context = origin.table.context
        channel = ByteChannel(descriptor: socket.descriptor)
        parser = HTTP1ResponseParser(limits: origin.table.parserLimits)
        isReadable = socket.isReadable
        super.init()
        context.sockets.hand(socket.descriptor, to: self)
    }

    // MARK: Exchanges

    /// Sends an exchange's message and reads the response.
    func attach(_ exchange: Exchange) {
        guard exchange.attach(to: self) else { return origin.connectionIsFree(self) }
        self.exchange = exchange
        isReused = exchangeCount > 0
        exchangeCount += 1
        exchange.report.isReusedConnection = isReused
        noteConnecting(of: exchange)
        do {
            try prepare(exchange)
        } catch {
            return exchange.end(error as? TransferFailure ?? .unreadableBody(error), keepsConnection: true)
        }
        exchange.report.requestStart = exchange.moment(context.now)
        send()
    }

    /// Writes the head, and makes the content ready.
    private func prepare(_ exchange: Exchange) throws {
        pending.removeAll(keepingCapacity: true)
        pendingOffset = 0
        hasWritten = false
        isSendingStopped = false
        content = try OutgoingContent(exchange.message.body, loop: context.loop)
        if case .pump(let pump) = content {
            pump.whenReady = { [weak self, weak pump] in
                // A pump that another has replaced has no say any more.
                guard let self, let pump, case .pump(let present) = content, present === pump else { return }
                send()
            }
        }
        guard let target = exchange.target else { return }
        let written = try origin.table.writer.write(
            exchange.message, to: target, contentLength: content.byteCount, into: &pending)
        framing = written.framing
        awaitsContinue = written.expectsContinue
        closesAfterExchange = written.closesConnection
        headRest = pending.count
        parser.expect(written.expectation)
        if let observer = origin.table.settings.options.wireObserver { observer.didSend(head: pending) }
    }

    /// Lets an exchange go that has ended.
    ///
    /// - Parameter keeps: whether the connection may carry the next one.
    func release(_ exchange: Exchange, keeps: Bool) {
        guard self.exchange === exchange else { return }
        fill(exchange)
        self.exchange = nil
        content = .none
        decoder = nil
        undecoded = nil
        if pending.capacity > Self.keptRoom { pending = [] }
        let isClean = pendingOffset == pending.count || !hasWritten
        guard keeps, isClean, !isClosed, !hasPeerClosed, !isSendingStopped, unread.isEmpty, !closesAfterExchange,
            !origin.table.isShutDown
        else { return close() }
        origin.connectionIsFree(self)
    }

    /// Room for a head that an idle connection keeps.
    private static let keptRoom = 4096

    // MARK: The end

    /// Closes the socket; an exchange must have been let go, or ends without it.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        origin.table.timers.remove(self)
        context.sockets.willClose(channel.descriptor)
        channel.close()
        content = .none
        unread = []
        origin.connectionClosed(self)
    }

    // MARK: Idle connections

    /// Nobody uses the connection from now on.
    func becomeIdle() {
        idleSince = context.now
        if let limit = idleLimit { origin.table.timers.lower(self, to: idleSince.addingSaturating(limit)) }
    }

    /// How long the connection is kept; a server's own limit ends half a second before it closes.
    private var idleLimit: LoopInstant? {
        let own = origin.table.settings.options.maximumConnectionIdleTime.nanoseconds
        guard let seconds = parser.keepAliveSeconds else { return own }
        let (announced, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? own : min(own, announced - min(announced, 500_000_000))
    }

    /// Whether an idle connection can carry an exchange.
    ///
    /// The loop is told of bytes and of an end; after a second it is worth a system call to be sure.
    var isUsable: Bool {
        let age = context.now - min(idleSince, context.now)
        guard exchangeCount > 0 else { return !isClosed }
        guard !isClosed, !hasPeerClosed, age < idleLimit ?? .max else { return false }
        return age < 1_000_000_000 || !channel.hasSomethingToRead
    }

    override func timeReached(at now: LoopInstant) {
        guard exchange == nil, !isClosed, let limit = idleLimit else { return }
        let end = idleSince.addingSaturating(limit)
        if end <= now { close() } else { origin.table.timers.set(self, to: end) }
    }

    // MARK: Reports

    /// Nothing has come since the present exchange was given the connection.
    var isSilent: Bool { !parser.hasBegun }

    /// The times of the connection's making, in the report of the exchange that waited for it.
    private func noteConnecting(of exchange: Exchange) {
        guard !isReused else {
            exchange.report.waited = exchange.moment(context.now) - 1
            return
        }
        exchange.report.waited = exchange.moment(socket.start) - 1
        exchange.report.lookedUp = Int64((socket.lookupEnd - socket.start) / 1000)
        exchange.report.nameLookup = exchange.moment(socket.lookupEnd)
        exchange.report.connect = exchange.moment(socket.connectEnd)
    }

    private func fill(_ exchange: Exchange) {
        exchange.report.responseHeaderByteCount = Int64(parser.headerByteCount)
        exchange.report.connection = exchange.report.connection ?? details(protocolName: nil)
        exchange.trailers = parser.trailers
    }

    /// The ends of the connection, the same object for all its exchanges.
    func details(protocolName: String?) -> ConnectionDetails {
        if let details, details.protocolName == protocolName { return details }
        let made = ConnectionDetails(
            protocolName: protocolName,
            localEndpoint: details?.localEndpoint ?? SocketAddress.local(of: channel.descriptor)?.endpoint,
            remoteEndpoint: socket.address.endpoint, tls: nil)
        details = made
        return made
    }
}

extension HTTP1Connection: SocketWatcher {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
        guard !isClosed else { return }
        if readiness.contains(.writable) { isWritable = true }
        let ended: SocketReadiness = [.peerClosed, .failed]
        if !readiness.isDisjoint(with: ended) { hasPeerClosed = true }
        if readiness.contains(.readable) || hasPeerClosed { isReadable = true }
        guard exchange != nil else { return idleSocketIsReady() }
        if isWritable { send() }
        if isReadable { receive() }
    }

    /// Nothing may come on a connection without an exchange: what comes could be taken for the next one's response.
    private func idleSocketIsReady() {
        guard isReadable else { return }
        // The event may tell of bytes that were read in the meantime.
        guard !hasPeerClosed, !channel.hasSomethingToRead else { return close() }
        isReadable = false
    }
}

extension HTTP1Connection: LoopContinuation {
    /// Goes on where the budget of a turn ended.
    func continueWork() {
        guard !isClosed else { return }
        if isWritable { send() }
        if isReadable || isHoldingBack { receive() }
    }

    /// Lets bytes move as the exchange's flow says.
    func flowChanged() {
        continueWork()
    }
}
