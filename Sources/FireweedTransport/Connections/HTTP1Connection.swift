// A connection that carries one exchange after another (RFC 9112 §9.3).

import Foundation
import Glibc

/// An HTTP/1.1 connection: a socket, the parser of responses, and the bytes to be sent.
///
/// An idle connection keeps only an empty buffer for the next head. Bytes that arrive on an idle connection close it.
final class HTTP1Connection: Connection {
    /// The present exchange.
    var exchange: Exchange?
    /// Whether the connection had been used or idle before it sends the present message.
    private(set) var isReused = false
    /// Decodes the content of the present response.
    let incoming: IncomingContent
    /// Which peers have authenticated this connection.
    var authenticationState = ConnectionAuthentication()

    /// The unsent part of the present message.
    struct Writing {
        /// The head, or a piece of content with its framing, written up to `pendingOffset`.
        var pending: [UInt8] = []
        var pendingOffset = 0
        /// The number of bytes of the head that are not written yet.
        var headRest = 0
        var content = OutgoingContent.none
        var framing = HTTP1RequestWriter.Framing.none
        /// Whether the content waits for a 100 response (RFC 9110 §10.1.1).
        var awaitsContinue = false
        /// Whether the rest of the content is not sent, after a response or a failed write.
        var isStopped = false
        /// Whether the message has `Connection: close`.
        var closesAfterExchange = false
        /// Whether a byte of the present message was handed to the kernel.
        var hasWritten = false
    }

    /// The present response, as far as it has come.
    struct Reading {
        var parser: HTTP1ResponseParser
        /// Bytes that were read and may not be delivered yet.
        var unread: [UInt8] = []
        /// The number of the parser's events since the last read.
        var eventCount = 0
        /// Whether the content ends with the connection.
        var endsWithClose = false
    }

    // SAFETY: `writing` and `reading` are used only on the loop's thread, and nothing that is called during an access
    // to one of them calls this object again. Debug builds, in which the tests run, check the exclusive access; a
    // release build would check it some thirty times for a request.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    var writing = Writing()
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    var reading: Reading

    override init(_ socket: ConnectedSocket, origin: OriginPool) {
        reading = Reading(parser: HTTP1ResponseParser(limits: origin.pool.responseLimits))
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
        // The socket is registered edge-triggered, so bytes that arrived before raise no event: read once now.
        if isReadable { context.continueAfterSockets(self) }
    }

    /// Sends the message of the present exchange, for the first time or as the answer to a challenge.
    func begin(_ exchange: Exchange) {
        if reading.parser.hasBegun { isReused = true }
        do {
            try prepare(exchange)
        } catch {
            return exchange.end(error as? TransferFailure ?? .unreadableBody(error), keepsConnection: true)
        }
        exchange.reports.current.requestStart = exchange.reports.moment(context.now)
        send()
    }

    /// Writes the head, and makes the content ready.
    private func prepare(_ exchange: Exchange) throws {
        writing.pending.removeAll(keepingCapacity: true)
        writing.pendingOffset = 0
        writing.hasWritten = false
        writing.isStopped = false
        let message = authorizedMessage(of: exchange)
        writing.content = try exchange.makeContent(of: message)
        guard let target = exchange.target else { preconditionFailure("an exchange in line has a target") }
        let written = try origin.pool.writer.write(
            message, to: target, form: form, contentLength: writing.content.byteCount, into: &writing.pending)
        writing.framing = written.framing
        if writing.framing == .chunked { writing.content = writing.content.chunkable(loop: context.loop) }
        if case .pump(let pump) = writing.content {
            pump.whenReady = { [weak self, weak pump] in
                // When the pump is ready, the connection may already send the content of another message.
                guard let self, let pump, case .pump(let present) = writing.content, present === pump else { return }
                send()
            }
        }
        writing.awaitsContinue = written.expectsContinue
        writing.closesAfterExchange = written.closesConnection
        writing.headRest = writing.pending.count
        reading.parser.expect(written.expectation)
        if let observer = origin.pool.wireObserver { observer.didSend(head: writing.pending) }
    }

    /// Detaches an exchange that has ended; with `keeps`, the connection may carry the next exchange.
    func release(_ exchange: Exchange, keeps: Bool) {
        guard self.exchange === exchange else { return }
        fill(exchange)
        self.exchange = nil
        writing.content = .none
        incoming.reset()
        let isClean = writing.pendingOffset == writing.pending.count || !writing.hasWritten
        if writing.pending.capacity > Self.keptRoom { (writing.pending, writing.pendingOffset) = ([], 0) }
        guard keeps, isClean, !isClosed, !hasPeerClosed, !writing.isStopped, reading.unread.isEmpty,
            !writing.closesAfterExchange,
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
        writing.content = .none
        reading.unread = []
    }

    // MARK: Idle connections

    override var isIdle: Bool { exchange == nil }

    override var keepAliveSeconds: Int? { reading.parser.keepAliveSeconds }

    // MARK: Reports

    /// Whether nothing has been received since the present exchange got the connection.
    var hasNoAnswer: Bool { !reading.parser.hasBegun }

    private func fill(_ exchange: Exchange) {
        exchange.reports.current.responseHeaderByteCount += Int64(reading.parser.headerByteCount)
        exchange.reports.current.connection = exchange.reports.current.connection ?? details(protocolName: nil)
        exchange.trailers = reading.parser.trailers
    }
}

extension HTTP1Connection {
    /// Closes an idle connection on which bytes arrive, since they could be mistaken for the response to the next
    /// message.
    fileprivate func idleSocketIsReady() {
        guard isReadable else { return }
        // The event may report bytes that were read after it was raised, so the socket is checked.
        guard !hasPeerClosed, !channel.hasSomethingToRead else { return close() }
        arrivals.handle(.foundNothing(turn: context.turnNumber))
    }
}

extension HTTP1Connection: NextIteration {
    /// Continues reading or writing that the end of a turn had stopped.
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

    /// Does nothing: the connection closes when the exchange ends without a complete response.
    func retire() {}
}
