// Reading of HTTP/1.1 responses.

import Foundation
import Glibc

extension HTTP1Connection {
    /// Maximum bytes read per turn of the loop, so that one connection cannot starve the others.
    private static let turnByteCount = 256 * 1024
    private static let usualReadByteCount = 64 * 1024

    /// Reads until the exchange accepts no more, the socket is empty, or the turn has no more time.
    func receive() {
        if isHoldingBack {
            guard let exchange, mayTakeNext(exchange), resumeDecoding(exchange) else { return }
            var kept: [UInt8] = []
            swap(&kept, &reading.unread)
            kept.withUnsafeBytes { process($0) }
        }
        let size = min(readByteCount, exchange?.receivingAllowance ?? .max)
        var budget = Self.turnByteCount
        while isReadable, !isClosed, !isHoldingBack, let exchange, mayTakeNext(exchange) {
            guard budget > 0, budget == Self.turnByteCount || !context.turn.isOver else {
                return context.continueAfterSockets(self)
            }
            let buffer = UnsafeMutableRawBufferPointer(rebasing: context.readBuffer[..<size])
            let outcome = channel.receive(into: buffer)
            noteRead(outcome, byteCount: size)
            switch outcome {
            case .bytes(let count):
                budget -= max(count, 4096)
                context.turn.noteCost(count)
                guard writing.hasWritten || !isReused else { return lost(.unaskedBytes) }
                bytesCame(count, for: exchange)
                reading.eventCount = 0
                process(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            case .wouldBlock: break
            case .end: ended()
            case .failed(let failure): lost(failure)
            }
        }
    }

    /// Whether read bytes, undecoded content or the end of the response have not been delivered yet.
    var isHoldingBack: Bool {
        !reading.unread.isEmpty || incoming.isHoldingBack || exchange != nil && reading.parser.isAtEnd
    }

    /// The most bytes of one read: the option's value if there is one; otherwise more for streamed content, so that the
    /// consumer gets larger pieces.
    private var readByteCount: Int {
        if let count = origin.pool.readByteCount { return count }
        return exchange?.message.wantsReadComplete == true ? Self.turnByteCount : Self.usualReadByteCount
    }

    private func bytesCame(_ count: Int, for exchange: Exchange) {
        exchange.touch()
        if exchange.reports.current.responseStart == 0 {
            exchange.reports.current.responseStart = exchange.reports.moment(context.now)
        }
    }

    /// Whether the flow allows the next event of the response: a head, content, or the end.
    private func mayTakeNext(_ exchange: Exchange) -> Bool {
        guard !exchange.isStopped else { return false }
        let isHead = !exchange.hasDeliveredHead || reading.parser.isAtEnd && !incoming.isHoldingBack
        return isHead ? exchange.mayReceiveHead : exchange.mayReceiveContent
    }

    /// Parses bytes and delivers the events; keeps the rest when the exchange accepts no more or the turn has no time.
    private func process(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        var isFirst = true
        while let exchange {
            guard !incoming.isHoldingBack, mayTakeNext(exchange) else { return keep(rest) }
            guard isFirst || reading.eventCount < TurnBudget.eventCount || !context.turn.isOver else {
                context.continueAfterSockets(self)
                return keep(rest)
            }
            isFirst = false
            reading.eventCount += 1
            context.turn.noteCost(TurnBudget.callCost)
            do {
                switch try reading.parser.next(&rest) {
                case .needsMore: return
                case .interim(let head): took(interim: head, for: exchange)
                case .head(let head, let framing): try took(head, framing, for: exchange)
                case .content(let content) where reading.eventCount <= TurnBudget.eventCount:
                    try took(content: content, for: exchange)
                case .content(let content): try join(content, &rest, for: exchange)
                case .end: return try responseEnded(exchange, hasExcess: !rest.isEmpty)
                }
            } catch {
                return exchange.end(error)
            }
        }
    }

    private func keep(_ rest: UnsafeRawBufferPointer) {
        if !rest.isEmpty { reading.unread = Array(rest) }
    }

    /// Delivers content together with that of the following chunks: single deliveries of one-byte chunks would keep the
    /// loop busy.
    private func join(
        _ content: UnsafeRawBufferPointer, _ rest: inout UnsafeRawBufferPointer, for exchange: Exchange
    ) throws(TransferFailure) {
        var joined = Array(content)
        let failure = reading.parser.takeContent(&rest, into: &joined)
        try joined.withUnsafeBufferPointer { (bytes) throws(TransferFailure) in
            try took(content: UnsafeRawBufferPointer(bytes), for: exchange)
        }
        if let failure { throw failure }
    }

    private func took(interim head: ResponseHead, for exchange: Exchange) {
        show(head)
        exchange.deliverInterim(head)
        if head.status == 100 { continueSending() }
    }

    private func took(
        _ head: ResponseHead, _ framing: ContentFraming, for exchange: Exchange
    ) throws(TransferFailure) {
        show(head)
        exchange.reports.current.connection = details(
            protocolName: head.version == "HTTP/1.0" ? "http/1.0" : "http/1.1")
        if exchange.authentication != nil, takesChallenge(head, framing, for: exchange) { return }
        if head.status == 417, writing.awaitsContinue {
            // The expectation cannot be met (RFC 9110 §15.5.18): the message is sent again without it.
            exchange.message.fields = FieldBlock(
                exchange.message.fields.fields.filter { !$0.name.isEqualIgnoringASCIICase("Expect") })
            return detach(exchange, isAnswered: true)
        }
        if exchange.isMisdirected(by: head, isReused: isReused) || isEndOfIdleTime(head, for: exchange) {
            return detach(exchange, isAnswered: false)
        }
        // After a status of 300 or more, the upload stops (RFC 9112 §9.5); a server may respond with a lower status
        // while it still reads. Content that waits for a 100 is not sent after any final response.
        if isSending, writing.awaitsContinue || head.status >= 300 { stopSending() }
        reading.endsWithClose = framing == .untilClose
        if framing != .none { try incoming.begin(head) }
        exchange.deliver(head)
    }

    private func took(content bytes: UnsafeRawBufferPointer, for exchange: Exchange) throws(TransferFailure) {
        if authenticationState.isAnswering { return skipChallenge(bytes.count, for: exchange) }
        if try !incoming.take(bytes, for: exchange) { exchange.end(nil) }
    }

    /// Continues with content whose decoding stopped; false when the exchange has ended or takes no more.
    private func resumeDecoding(_ exchange: Exchange) -> Bool {
        do {
            return try incoming.resume(for: exchange) && self.exchange === exchange
        } catch {
            exchange.end(error)
            return false
        }
    }

    /// Ends the exchange with the complete response; throws if a content coding is incomplete.
    private func responseEnded(_ exchange: Exchange, hasExcess: Bool) throws(TransferFailure) {
        show(lines: reading.parser.trailerLines)
        if authenticationState.isAnswering { return challengeEnded(for: exchange, hasExcess: hasExcess) }
        try incoming.finish(for: exchange, endedByClose: reading.endsWithClose)
        // Bytes after the response were not requested: the server is faulty, and the connection is not kept.
        exchange.end(nil, keepsConnection: reading.parser.isPersistent && !hasExcess && !isSending)
    }

    /// Handles the end of the peer's stream.
    private func ended() {
        guard exchange != nil else { return close() }
        do {
            try reading.parser.finish()
            process(UnsafeRawBufferPointer(start: nil, count: 0))
        } catch {
            lost(error)
        }
    }

    /// Handles the loss of the connection before the complete response.
    func lost(_ failure: TransferFailure) {
        guard let exchange else { return close() }
        show(lines: reading.parser.unfinishedLines)
        guard maySendAgain(exchange, hasAnswer: reading.parser.hasBegun) else { return exchange.end(failure) }
        do {
            try exchange.prepareContent(after: failure)
            detach(exchange, isAnswered: false)
        } catch {
            exchange.end(error)
        }
    }

    private func maySendAgain(_ exchange: Exchange, hasAnswer: Bool) -> Bool {
        let rule = ResendRule(
            method: exchange.message.method, wasReused: isReused, hasWritten: writing.hasWritten, hasAnswer: hasAnswer,
            isRepeated: exchange.tries.wantNewConnection)
        return rule.allowsResend && !exchange.isDiscarding
    }

    /// Whether a response announces the end of a connection that was idle for too long, so that the message can be sent
    /// on another one.
    ///
    /// Servers send a 408 before they close such a connection (RFC 9110 §15.5.9). A 408 to incomplete content is
    /// delivered as the response.
    private func isEndOfIdleTime(_ head: ResponseHead, for exchange: Exchange) -> Bool {
        guard head.status == 408, !reading.parser.isPersistent, !isSending, maySendAgain(exchange, hasAnswer: false)
        else {
            return false
        }
        return (try? exchange.prepareContent()) != nil
    }

    /// Detaches an exchange that is sent again, closes the connection and, unless `isAnswered`, the origin's idle
    /// connections.
    func detach(_ exchange: Exchange, isAnswered: Bool) {
        if exchange.reports.current.connection == nil {
            exchange.reports.current.connection = details(protocolName: nil)
        }
        exchange.reports.current.responseHeaderByteCount += Int64(reading.parser.headerByteCount)
        self.exchange = nil
        // NTLM and Negotiate authenticate the connection, and start again on the next one.
        exchange.authentication = nil
        let origin = origin
        close()
        if !isAnswered { origin.closeIdle() }
        exchange.sendAgain(isAnswered: isAnswered, lostOn: isAnswered ? nil : self)
    }

    /// Passes a received head to the wire observer.
    private func show(_ head: ResponseHead) {
        guard let observer = origin.pool.wireObserver else { return }
        observer.didReceive(headLines: head.receivedLines + [0x0D, 0x0A])
    }

    /// Passes trailers, or the lines of an incomplete head, to the wire observer.
    private func show(lines: @autoclosure () -> [UInt8]) {
        guard let observer = origin.pool.wireObserver else { return }
        let lines = lines()
        if !lines.isEmpty { observer.didReceive(headLines: lines) }
    }
}
