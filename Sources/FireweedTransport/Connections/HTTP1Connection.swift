// A connection that carries one exchange after another (RFC 9112 §9.3).

import Foundation
import Glibc

/// A socket, the parser of what comes in and the bytes that go out.
///
/// Without an exchange it keeps nothing but an empty buffer for the next head, and whatever comes then closes it.
final class HTTP1Connection: Connection {
    /// The exchange that runs.
    var exchange: Exchange?
    var parser: HTTP1ResponseParser
    /// Another exchange had used the connection, or the connection was idle, when the present exchange got it.
    private(set) var isReused = false

    // MARK: Reading

    /// What was read and may not be told yet.
    var unread: [UInt8] = []
    /// How many events of the last read were handled.
    var eventCount = 0
    /// Takes the content codings of the present response off.
    let incoming: IncomingContent
    /// The content of the present response ends with the connection.
    var endsWithClose = false

    // MARK: Writing

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
    /// What the peers know of who we are.
    var authenticationState = ConnectionAuthentication()

    override init(_ socket: ConnectedSocket, origin: OriginPool) {
        parser = HTTP1ResponseParser(limits: origin.pool.responseLimits)
        incoming = IncomingContent(limits: origin.pool.contentLimits, context: origin.pool.context)
        super.init(socket, origin: origin)
    }

    // MARK: Exchanges

    /// Sends an exchange's message and reads the response.
    override func attach(_ exchange: Exchange) {
        guard exchange.attach(to: self) else { return origin.connectionIsFree(self) }
        self.exchange = exchange
        isReused = !isNew
        let isUsed = exchangeCount > 0
        exchangeCount += 1
        noteConnecting(of: exchange, isReused: isUsed)
        if isUsed { origin.pool.wireObserver?.didNote("Using the connection once more\n") }
        begin(exchange)
        // No event will tell of what came before the connection had its socket.
        if isReadable { context.continueAfterSockets(self) }
    }

    /// Sends the message of the present exchange, for the first time or as the answer to a challenge.
    func begin(_ exchange: Exchange) {
        if parser.hasBegun { isReused = true }
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
        let message = authorizedMessage(of: exchange)
        content = try exchange.makeContent(of: message)
        guard let target = exchange.target else { preconditionFailure("an exchange in line has a target") }
        let written = try origin.pool.writer.write(
            message, to: target, form: form, contentLength: content.byteCount, into: &pending)
        framing = written.framing
        if framing == .chunked { content = content.chunkable(loop: context.loop) }
        if case .pump(let pump) = content {
            pump.whenReady = { [weak self, weak pump] in
                // Another pump may have replaced this one.
                guard let self, let pump, case .pump(let present) = content, present === pump else { return }
                send()
            }
        }
        awaitsContinue = written.expectsContinue
        closesAfterExchange = written.closesConnection
        headRest = pending.count
        parser.expect(written.expectation)
        if let observer = origin.pool.wireObserver { observer.didSend(head: pending) }
    }

    /// Detaches an exchange that has ended; with `keeps`, the connection may carry the next one.
    func release(_ exchange: Exchange, keeps: Bool) {
        guard self.exchange === exchange else { return }
        fill(exchange)
        self.exchange = nil
        content = .none
        incoming.reset()
        let isClean = pendingOffset == pending.count || !hasWritten
        if pending.capacity > Self.keptRoom { (pending, pendingOffset) = ([], 0) }
        guard keeps, isClean, !isClosed, !hasPeerClosed, !isSendingStopped, unread.isEmpty, !closesAfterExchange,
            !origin.pool.isShutDown, !isReadable || isSilent()
        else { return close() }
        origin.connectionIsFree(self)
    }

    // MARK: The socket

    override func socketIsReady() {
        guard exchange != nil else { return idleSocketIsReady() }
        if isWritable { send() }
        if isReadable { receive() }
    }

    override func isLost(by failure: TransferFailure) { lost(failure) }

    override func didClose() {
        content = .none
        unread = []
    }

    // MARK: Idle connections

    override var isIdle: Bool { exchange == nil }

    override var keepAliveSeconds: Int? { parser.keepAliveSeconds }

    // MARK: Reports

    /// Nothing has come since the present exchange was given the connection.
    var hasNoAnswer: Bool { !parser.hasBegun }

    private func fill(_ exchange: Exchange) {
        exchange.report.responseHeaderByteCount += Int64(parser.headerByteCount)
        exchange.report.connection = exchange.report.connection ?? details(protocolName: nil)
        exchange.trailers = parser.trailers
    }
}

extension HTTP1Connection {
    /// Nothing may come on a connection without an exchange: what comes could be taken for the next one's response.
    fileprivate func idleSocketIsReady() {
        guard isReadable else { return }
        // The event may tell of bytes that were read in the meantime.
        guard !hasPeerClosed, !channel.hasSomethingToRead else { return close() }
        arrivals.handle(.foundNothing(turn: context.turnNumber))
    }
}

extension HTTP1Connection: NextIteration {
    /// Continues where the budget of a turn ended.
    func continueWork() {
        guard !isClosed else { return }
        if isWritable { send() }
        if isReadable || isHoldingBack { receive() }
    }

}

extension HTTP1Connection: ExchangeLane {
    func flowChanged() {
        continueWork()
    }

    /// Does nothing: the connection ends with the exchange.
    func retire() {}
}
