// The decoding and delivery of a response's content.

/// Decodes the content of responses within its limits, and delivers it.
///
/// Content stays undecoded while its exchange does not accept content, or when the turn has no time left; in the latter
/// case, decoding continues in a later turn. Used on the loop's thread.
final class IncomingContent {
    private let limits: ContentLimits
    private let context: LoopContext
    /// The decoder of the content; `nil` when the present response has no coding to decode.
    private var decoder: ContentDecoder?
    private var undecoded: [UInt8]?
    /// The number of bytes of `undecoded` that are decoded by now.
    private var undecodedStart = 0
    /// The exchange whose content is decoded further in a later turn.
    private var waiting: Exchange?
    /// Whether the next piece is decoded even if the turn is over, so that each continuation makes progress.
    private var isOwedStep = false

    init(limits: ContentLimits, context: LoopContext) {
        self.limits = limits
        self.context = context
    }

    /// Whether undecoded content is held.
    var isHoldingBack: Bool { undecoded != nil }

    /// Makes the decoder for the content that follows a head, if the content has a coding to decode.
    func begin(_ head: ResponseHead) throws(TransferFailure) {
        guard head.marks.contains(.hasContentCoding), limits.decodesContent,
            let codings = head.value(of: "Content-Encoding")
        else { return }
        decoder = try ContentDecoder.make(for: codings, limits: limits)
    }

    /// Removes the state of the present response.
    func reset() {
        decoder = nil
        undecoded = nil
        undecodedStart = 0
        waiting = nil
    }

    /// Decodes and delivers received bytes; false when the discarded rest of a response is too long to be read.
    func take(_ content: UnsafeRawBufferPointer, for exchange: Exchange) throws(TransferFailure) -> Bool {
        exchange.reports.current.responseBodyByteCount += Int64(content.count)
        exchange.noteReceived(content.count)
        guard !exchange.isDiscarding else { return exchange.discard(content.count) }
        if let decoder {
            let rest = try decode(content, with: decoder, for: exchange)
            if let rest { undecoded = Array(content.suffix(rest)) }
        } else {
            let total = exchange.reports.current.responseDecodedByteCount + Int64(content.count)
            let received = exchange.reports.current.responseBodyByteCount
            if let refusal = limits.refusal(decoded: total, received: received) { throw .refused(refusal) }
            exchange.deliver(content)
        }
        return true
    }

    /// Continues with undecoded content; false if the exchange accepts no more at present, or the turn has no time
    /// left.
    func resume(for exchange: Exchange) throws(TransferFailure) -> Bool {
        guard let kept = undecoded, let decoder else { return true }
        let start = undecodedStart
        let rest = try kept.withUnsafeBufferPointer { (bytes) throws(TransferFailure) in
            try decode(UnsafeRawBufferPointer(bytes).advanced(by: start), with: decoder, for: exchange)
        }
        // The delivery may have ended the exchange, which removes the undecoded content.
        guard undecoded != nil else { return true }
        guard let rest else {
            (undecoded, undecodedStart) = (nil, 0)
            return true
        }
        undecodedStart = kept.count - rest
        return false
    }

    /// Ends the content; throws if a content coding is incomplete.
    func finish(for exchange: Exchange, endedByClose: Bool) throws(TransferFailure) {
        guard let decoder, !exchange.isDiscarding else { return }
        try decoder.finish(isEmpty: exchange.reports.current.responseBodyByteCount == 0, endedByClose: endedByClose)
    }

    /// Decodes piece by piece; returns the number of bytes to be decoded later, or `nil` if none are left.
    private func decode(
        _ content: UnsafeRawBufferPointer, with decoder: ContentDecoder, for exchange: Exchange
    ) throws(TransferFailure) -> Int? {
        var rest = content
        while !exchange.isDiscarding {
            guard exchange.mayReceiveContent, !exchange.isStopped else { return rest.count }
            guard isOwedStep || !context.turn.isOver else {
                continueLater(for: exchange)
                return rest.count
            }
            isOwedStep = false
            switch try decoder.decode(&rest, into: context.decodingBuffer, turn: &context.turn) {
            case .bytes(let count):
                exchange.touch()
                exchange.deliver(UnsafeRawBufferPointer(rebasing: context.decodingBuffer[..<count]))
            case .paused: continue
            case .needsInput: return nil
            }
        }
        return nil
    }

    private func continueLater(for exchange: Exchange) {
        if waiting == nil { context.continueWithDearWork(self) }
        waiting = exchange
    }
}

extension IncomingContent: NextIteration {
    func continueWork() {
        guard let exchange = waiting.take() else { return }
        isOwedStep = true
        exchange.carrier?.flowChanged()
        isOwedStep = false
    }
}
