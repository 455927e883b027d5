// One exchange on an HTTP/2 connection.

import Foundation

/// A stream: the content to send, and the received events that cannot be delivered yet (RFC 9113 §5).
///
/// While its exchange accepts nothing, a stream holds received events, up to its flow-control window; the connection
/// continues to read for other streams. Used on the loop's thread.
final class HTTP2Stream {
    /// A received event, which the stream may have to hold.
    enum Item {
        case interim(ResponseHead)
        case head(ResponseHead, byteCount: Int)
        case content([UInt8])
        case end(trailers: FieldBlock?)
        case failed(HTTP2StreamFailure)
    }

    let connection: HTTP2Connection
    /// The exchange of the stream; `nil` after the exchange has left the stream.
    private(set) var exchange: Exchange?
    /// The stream identifier; 0 until the session has assigned one.
    private(set) var id: Int32 = 0
    /// Whether the connection had carried another exchange before.
    let isReused: Bool
    private let start: LoopInstant

    // MARK: Receiving

    private let incoming: IncomingContent
    private var held: [Item] = []
    private var heldStart = 0
    private var expectation = ResponseExpectation(method: "")
    private var hasBegun = false
    private var hasEnd = false
    /// Whether the connection is going to call `deliverOwed()`.
    private var isOwed = false
    /// Received bytes of content that the consumer has not taken.
    private var untakenByteCount = 0
    /// Bytes that the consumer has taken without a pause since the window last changed its size.
    private var takenInStride = 0
    private var windowByteCount = HTTP2Session.streamWindowByteCount

    // MARK: Sending

    private var content = OutgoingContent.none
    private var suppliedByteCount: Int64 = 0
    private var readFailure: (any Error)?
    private var awaitsContinue = false
    private var isSending = false

    init(_ exchange: Exchange, on connection: HTTP2Connection, isReused: Bool) {
        self.exchange = exchange
        self.connection = connection
        self.isReused = isReused
        start = connection.context.now
        incoming = IncomingContent(limits: connection.origin.pool.contentLimits, context: connection.context)
    }

    /// Sets the identifier and the content, after the session has accepted the head.
    func begin(_ id: Int32, _ content: OutgoingContent, _ written: HTTP1RequestWriter.Written) {
        self.id = id
        self.content = content
        expectation = written.expectation
        awaitsContinue = written.expectsContinue
        isSending = written.framing != .none && written.framing != .length(0)
        guard case .pump(let pump) = content else { return }
        pump.whenReady = { [weak self] in self?.resumeSending() }
    }

    // MARK: Sending

    /// Gives content to the session; called by nghttp2.
    func supply(into buffer: UnsafeMutableRawBufferPointer) -> HTTP2ContentSupply {
        guard let exchange, isSending, !awaitsContinue, exchange.maySend, !exchange.isStopped else { return .wait }
        switch content {
        case .none: return .bytes(0, isLast: true)
        case .data(let data, let sent):
            let count = min(buffer.count, data.count - sent)
            data.withUnsafeBytes {
                buffer.checkedCopy(from: UnsafeRawBufferPointer(rebasing: $0[sent..<(sent + count)]))
            }
            content = .data(data, sentByteCount: sent + count)
            return .bytes(count, isLast: sent + count == data.count)
        case .pump(let pump):
            switch pump.read(into: buffer) {
            case .bytes(let count):
                suppliedByteCount += Int64(count)
                return .bytes(count, isLast: suppliedByteCount == pump.byteCount)
            case .end: return .bytes(0, isLast: true)
            case .starved: return .wait
            case .failed(let error):
                readFailure = error
                return .failed
            }
        }
    }

    /// Counts the bytes of the request's head, which was written.
    func sentHead(_ byteCount: Int) {
        guard let exchange else { return }
        exchange.touch()
        exchange.reports.current.requestHeaderByteCount += Int64(byteCount)
        guard awaitsContinue else { return }
        exchange.continueDeadline = connection.context.now + connection.origin.pool.parts.continueTime
        exchange.setTimer()
    }

    /// Counts content of the request that was written.
    func sentContent(_ byteCount: Int, isLast: Bool) {
        guard let exchange else { return }
        exchange.touch()
        exchange.didSend(byteCount, expected: content.byteCount)
        guard isLast else { return }
        isSending = false
        if case .pump(let pump) = content, pump.byteCount != nil {
            exchange.didSendAll(of: pump)
        } else {
            exchange.didSendAll()
        }
    }

    private func resumeSending() {
        guard exchange != nil, isSending else { return }
        connection.session.resume(id)
        connection.setNeedsFlush()
    }

    // MARK: Receiving

    /// Handles an event, or holds it until it may be delivered.
    func receive(_ item: Item) {
        guard let exchange else { return }
        exchange.touch()
        switch item {
        case .failed(let failure):
            // An error after the complete response does not invalidate the response (RFC 9113 §8.1).
            if hasEnd || sendAgain(after: failure) { return }
        case .end: hasEnd = true
        case .interim, .head, .content:
            hasBegun = true
            if exchange.reports.current.responseStart == 0 {
                exchange.reports.current.responseStart = exchange.reports.moment(connection.context.now)
            }
        }
        guard !isHoldingBack, mayTake(item, exchange), !exchange.isStopped else {
            return held.append(item)
        }
        guard connection.maySay(content: false) else {
            held.append(item)
            return owe()
        }
        perform(item, for: exchange)
    }

    /// Delivers content, or holds a copy of it.
    func receive(content: UnsafeRawBufferPointer) {
        guard let exchange else { return }
        exchange.touch()
        untakenByteCount += content.count
        guard !isHoldingBack, exchange.mayReceiveContent, !exchange.isStopped else {
            if !isOwed { takenInStride = 0 }
            return hold(content)
        }
        guard connection.maySay(content: true) else {
            hold(content)
            return owe()
        }
        perform(content, for: exchange)
        noteTaken()
    }

    private func owe() {
        guard !isOwed else { return }
        isOwed = true
        connection.owe(self)
    }

    /// Delivers events that an earlier turn had no time for.
    func deliverOwed() {
        isOwed = false
        deliver()
    }

    /// Holds a copy of content, joined with earlier held content, so that small frames need little memory.
    private func hold(_ content: UnsafeRawBufferPointer) {
        guard heldStart < held.count, case .content(var bytes) = held[held.count - 1] else {
            return held.append(.content(Array(content)))
        }
        // The array must not refer to the storage of `bytes`, or appending would copy the storage.
        held[held.count - 1] = .content([])
        bytes.append(contentsOf: content)
        held[held.count - 1] = .content(bytes)
    }

    private var isHoldingBack: Bool { heldStart < held.count || incoming.isHoldingBack }

    /// Delivers held events as far as the flow allows.
    private func deliver() {
        while let exchange, !exchange.isStopped {
            if incoming.isHoldingBack {
                guard exchange.mayReceiveContent, resumeDecoding(exchange) else { break }
                continue
            }
            guard heldStart < held.count, mayTake(held[heldStart], exchange) else { break }
            let item = held[heldStart]
            heldStart += 1
            perform(item, for: exchange)
        }
        if heldStart == held.count {
            held.removeAll()
            heldStart = 0
        }
        noteTaken()
    }

    private func mayTake(_ item: Item, _ exchange: Exchange) -> Bool {
        if case .content = item { exchange.mayReceiveContent } else { exchange.mayReceiveHead }
    }

    private func resumeDecoding(_ exchange: Exchange) -> Bool {
        do {
            return try incoming.resume(for: exchange)
        } catch {
            exchange.end(error)
            return false
        }
    }

    private func perform(_ item: Item, for exchange: Exchange) {
        do {
            switch item {
            case .interim(let head):
                connection.show(head)
                exchange.deliverInterim(head)
                if head.status == 100 { continueSending() }
            case .head(let head, let byteCount): try took(head, byteCount, for: exchange)
            case .content(let bytes): bytes.withUnsafeBytes { perform($0, for: exchange) }
            case .end(let trailers):
                try incoming.finish(for: exchange, endedByClose: false)
                exchange.trailers = trailers
                if let trailers { connection.show(trailers: trailers) }
                exchange.end(nil)
            case .failed(let failure): exchange.end(failure.failure)
            }
        } catch {
            exchange.end(error)
        }
    }

    private func perform(_ content: UnsafeRawBufferPointer, for exchange: Exchange) {
        do {
            if try !incoming.take(content, for: exchange) { exchange.end(nil) }
        } catch {
            exchange.end(error)
        }
    }

    private func took(_ head: ResponseHead, _ byteCount: Int, for exchange: Exchange) throws(TransferFailure) {
        connection.show(head)
        exchange.reports.current.responseHeaderByteCount += Int64(byteCount)
        exchange.reports.current.connection = connection.details(protocolName: "h2")
        if let authentication = exchange.authentication, let target = exchange.target,
            !exchange.isDiscarding,
            authentication.answer(head, to: exchange.message, target) != .none
        {
            exchange.consumer?.transferDidAnswerChallenge(head)
            return detach(exchange, isAnswered: true)
        }
        if head.status == 417, awaitsContinue {
            // The expectation cannot be met (RFC 9110 §15.5.18): the message is sent again without it.
            exchange.message.fields = FieldBlock(
                exchange.message.fields.fields.filter { !$0.name.isEqualIgnoringASCIICase("Expect") })
            return detach(exchange, isAnswered: true)
        }
        if exchange.isMisdirected(by: head, isReused: isReused) {
            // The other streams may still get responses; this message is sent again on another connection.
            connection.retire()
            return detach(exchange, isAnswered: false)
        }
        // As over HTTP/1.1, a status of 300 or more ends an upload, and content that waits for a 100 is not sent after
        // any final response. The stream is reset when the response is complete.
        if isSending, awaitsContinue || head.status >= 300 { stopSending(exchange) }
        if !expectation.isHead, head.status != 204, head.status != 304 { try incoming.begin(head) }
        exchange.deliver(head)
    }

    private func stopSending(_ exchange: Exchange) {
        isSending = false
        exchange.continueDeadline = nil
        content = .none
    }

    /// Returns taken bytes to the window, and doubles the window when the consumer has taken a whole window without a
    /// pause.
    private func noteTaken() {
        guard untakenByteCount > 0, !isHoldingBack, exchange != nil else { return }
        connection.session.consume(id, untakenByteCount)
        takenInStride += untakenByteCount
        untakenByteCount = 0
        connection.setNeedsFlush()
        guard takenInStride >= windowByteCount, windowByteCount < HTTP2Session.largestStreamWindowByteCount else {
            return
        }
        takenInStride = 0
        windowByteCount *= 2
        connection.session.widen(id)
    }

    // MARK: Sending the message again

    /// Sends the exchange again if the rule allows it; false if the caller has to deliver the failure.
    private func sendAgain(after failure: HTTP2StreamFailure) -> Bool {
        guard let exchange else { return true }
        if let readFailure {
            exchange.end(readFailure as? TransferFailure ?? .unreadableBody(readFailure))
            return true
        }
        if failure.requiresHTTP1 { exchange.origin?.requireHTTP1() }
        if failure.isUnprocessed {
            exchange.tries.refusals.note(progress: connection.origin.progress)
            connection.noteRefusal(count: exchange.tries.refusals.count)
        }
        let rule = ResendRule(
            method: exchange.message.method, wasReused: isReused,
            hasWritten: exchange.reports.current.requestHeaderByteCount > 0, hasAnswer: hasBegun,
            isRepeated: exchange.tries.wantNewConnection || exchange.tries.isRepeated && !connection.isClosed,
            isUnprocessed: failure.isUnprocessed, refusalCount: exchange.tries.refusals.count,
            tryCount: exchange.reports.earlier.count + 1)
        guard rule.allowsResend, !exchange.isDiscarding else {
            guard failure.isUnprocessed, connection.session.hasSettings, connection.session.streamLimit == 0 else {
                return false
            }
            exchange.end(.noStreams)
            return true
        }
        do {
            try exchange.prepareContent(after: failure.failure)
            // A reset stream says nothing about its connection, which may serve the next try.
            detach(exchange, isAnswered: false, isLost: !failure.isUnprocessed && connection.isClosed)
        } catch {
            exchange.end(error)
        }
        return true
    }

    /// Detaches the exchange from the stream, and sends it again.
    private func detach(_ exchange: Exchange, isAnswered: Bool, isLost: Bool = false) {
        leave(exchange)
        exchange.sendAgain(isAnswered: isAnswered, lostOn: isLost ? connection : nil)
    }

    /// Detaches the stream from its exchange.
    private func leave(_ exchange: Exchange) {
        exchange.reports.current.connection =
            exchange.reports.current.connection ?? connection.details(protocolName: nil)
        self.exchange = nil
        isSending = false
        content = .none
        incoming.reset()
        held = []
        heldStart = 0
        connection.release(self)
    }
}

extension HTTP2Stream: ExchangeLane {
    func release(_ exchange: Exchange, keeps: Bool) {
        guard self.exchange === exchange else { return }
        leave(exchange)
    }

    func flowChanged() {
        deliver()
        resumeSending()
    }

    func continueSending() {
        guard awaitsContinue else { return }
        awaitsContinue = false
        exchange?.continueDeadline = nil
        resumeSending()
    }

    var hasNoAnswer: Bool { connection.lastReceived <= start }

    func retire() { connection.retire() }
}
