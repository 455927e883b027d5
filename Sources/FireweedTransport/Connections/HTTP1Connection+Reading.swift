// Reading of HTTP/1.1 responses.

import Foundation
import Glibc

extension HTTP1Connection {
    /// So much is read in one turn of the loop; other connections are looked at before more is.
    private static let turnByteCount = 256 * 1024
    private static let usualReadByteCount = 64 * 1024

    /// Reads what has come, as far as the exchange takes it.
    func receive() {
        if isHoldingBack {
            guard let exchange, mayTakeNext(exchange), resumeDecoding(exchange) else { return }
            var kept: [UInt8] = []
            swap(&kept, &unread)
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
                guard hasWritten || !isReused else { return lost(.unaskedBytes) }
                bytesCame(count, for: exchange)
                eventCount = 0
                process(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            case .wouldBlock: break
            case .end: ended()
            case .failed(let failure): lost(failure)
            }
        }
    }

    /// Whether something was read that has not been told: bytes, or the end.
    var isHoldingBack: Bool { !unread.isEmpty || incoming.isHoldingBack || exchange != nil && parser.isAtEnd }

    /// As many bytes as the options say; else more for content that is streamed, so that it is handed on in large
    /// pieces.
    private var readByteCount: Int {
        if let count = origin.pool.readByteCount { return count }
        return exchange?.message.wantsReadComplete == true ? Self.turnByteCount : Self.usualReadByteCount
    }

    private func bytesCame(_ count: Int, for exchange: Exchange) {
        exchange.touch()
        if exchange.report.responseStart == 0 { exchange.report.responseStart = exchange.moment(context.now) }
    }

    /// Whether the next event of the response may be told: a head, or content, or the end.
    private func mayTakeNext(_ exchange: Exchange) -> Bool {
        guard !exchange.isStopped else { return false }
        let isHead = !exchange.hasDeliveredHead || parser.isAtEnd && !incoming.isHoldingBack
        return isHead ? exchange.mayReceiveHead : exchange.mayReceiveContent
    }

    /// Takes bytes apart; what may not be told yet, or what the turn has no time for, is kept.
    private func process(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        var isFirst = true
        while let exchange {
            guard !incoming.isHoldingBack, mayTakeNext(exchange) else { return keep(rest) }
            guard isFirst || eventCount < TurnBudget.eventCount || !context.turn.isOver else {
                context.continueAfterSockets(self)
                return keep(rest)
            }
            isFirst = false
            eventCount += 1
            context.turn.noteCost(TurnBudget.callCost)
            do {
                switch try parser.next(&rest) {
                case .needsMore: return
                case .interim(let head): took(interim: head, for: exchange)
                case .head(let head, let framing): try took(head, framing, for: exchange)
                case .content(let content) where eventCount <= TurnBudget.eventCount:
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
        if !rest.isEmpty { unread = Array(rest) }
    }

    /// Takes content with that of the chunks behind it as one piece: chunks of a byte each would keep the loop busy.
    private func join(
        _ content: UnsafeRawBufferPointer, _ rest: inout UnsafeRawBufferPointer, for exchange: Exchange
    ) throws(TransferFailure) {
        var joined = Array(content)
        let failure = parser.takeContent(&rest, into: &joined)
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
        exchange.report.connection = details(protocolName: head.version == "HTTP/1.0" ? "http/1.0" : "http/1.1")
        if exchange.authentication != nil, takesChallenge(head, framing, for: exchange) { return }
        if head.status == 417, awaitsContinue {
            // RFC 9110 §15.5.18: the expectation cannot be met; the message goes out again without it.
            exchange.message.fields = FieldBlock(
                exchange.message.fields.fields.filter { !$0.name.isEqualIgnoringASCIICase("Expect") })
            return detach(exchange, isAnswered: true)
        }
        if exchange.isMisdirected(by: head, isReused: isReused) || isEndOfIdleTime(head, for: exchange) {
            return detach(exchange, isAnswered: false)
        }
        // A response without success ends an upload (RFC 9112 §9.5); a server may respond with success while it reads.
        // Content that waits for a 100 is not sent after any response.
        if isSending, awaitsContinue || head.status >= 300 { stopSending() }
        endsWithClose = framing == .untilClose
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

    /// The response is whole, if its codings are.
    private func responseEnded(_ exchange: Exchange, hasExcess: Bool) throws(TransferFailure) {
        show(lines: parser.trailerLines)
        if authenticationState.isAnswering { return challengeEnded(for: exchange, hasExcess: hasExcess) }
        try incoming.finish(for: exchange, endedByClose: endsWithClose)
        // What follows a response without having been asked for is a fault of the server's.
        exchange.end(nil, keepsConnection: parser.isPersistent && !hasExcess && !isSending)
    }

    /// The peer has closed.
    private func ended() {
        guard exchange != nil else { return close() }
        do {
            try parser.finish()
            process(UnsafeRawBufferPointer(start: nil, count: 0))
        } catch {
            lost(error)
        }
    }

    /// The connection is of no use any more, and the response is not whole.
    func lost(_ failure: TransferFailure) {
        guard let exchange else { return close() }
        show(lines: parser.unfinishedLines)
        guard maySendAgain(exchange, hasAnswer: parser.hasBegun) else { return exchange.end(failure) }
        do {
            try exchange.prepareContent(after: failure)
            detach(exchange, isAnswered: false)
        } catch {
            exchange.end(error)
        }
    }

    private func maySendAgain(_ exchange: Exchange, hasAnswer: Bool) -> Bool {
        let rule = ResendRule(
            method: exchange.message.method, wasReused: isReused, hasWritten: hasWritten, hasAnswer: hasAnswer,
            isRepeated: exchange.wantsNewConnection)
        return rule.allowsResend && exchange.discardedByteCount == nil
    }

    /// Whether a response is no answer, but the end of a connection that was idle for too long, and the message can go
    /// out on another one.
    ///
    /// Servers send a 408 unasked before they close such a connection (RFC 9110 §15.5.9). A 408 to content that has not
    /// come whole is an answer.
    private func isEndOfIdleTime(_ head: ResponseHead, for exchange: Exchange) -> Bool {
        guard head.status == 408, !parser.isPersistent, !isSending, maySendAgain(exchange, hasAnswer: false) else {
            return false
        }
        return (try? exchange.prepareContent()) != nil
    }

    /// Lets the exchange go that has to be sent again; the connections that were idle as long as this one are closed.
    func detach(_ exchange: Exchange, isAnswered: Bool) {
        if exchange.report.connection == nil { exchange.report.connection = details(protocolName: nil) }
        exchange.report.responseHeaderByteCount += Int64(parser.headerByteCount)
        self.exchange = nil
        // What was said about who we are belongs to the connection.
        exchange.authentication = nil
        let origin = origin
        close()
        if !isAnswered { origin.closeIdle() }
        exchange.sendAgain(isAnswered: isAnswered, lostOn: isAnswered ? nil : self)
    }

    /// Shows a head as it came.
    private func show(_ head: ResponseHead) {
        guard let observer = origin.pool.wireObserver else { return }
        observer.didReceive(headLines: head.receivedLines + [0x0D, 0x0A])
    }

    /// Shows trailers, or the lines of a head that was cut.
    private func show(lines: @autoclosure () -> [UInt8]) {
        guard let observer = origin.pool.wireObserver else { return }
        let lines = lines()
        if !lines.isEmpty { observer.didReceive(headLines: lines) }
    }
}
