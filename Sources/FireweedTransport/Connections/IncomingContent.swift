// The content of a response on its way to its consumer.

/// Takes the content codings of responses off, keeps the limits on content, and hands it on.
///
/// Content that an exchange does not take now is kept undecoded. Used on the loop's thread.
final class IncomingContent {
    private let limits: ContentLimits
    private unowned let context: LoopContext
    /// `nil` when the present response has no coding that is taken off.
    private var decoder: ContentDecoder?
    private var undecoded: [UInt8]?

    init(limits: ContentLimits, context: LoopContext) {
        self.limits = limits
        self.context = context
    }

    /// Whether content is kept back.
    var isHoldingBack: Bool { undecoded != nil }

    /// Begins with the content that follows a head.
    func begin(_ head: ResponseHead) throws(TransferFailure) {
        guard head.marks.contains(.hasContentCoding), let codings = head.value(of: "Content-Encoding") else { return }
        decoder = try ContentDecoder.make(for: codings)
    }

    /// Forgets the present response.
    func reset() {
        decoder = nil
        undecoded = nil
    }

    /// Takes bytes as they came; false when the rest of a response that is not wanted is too long to be waited for.
    func take(_ content: UnsafeRawBufferPointer, for exchange: Exchange) throws(TransferFailure) -> Bool {
        exchange.report.responseBodyByteCount += Int64(content.count)
        exchange.noteReceived(content.count)
        guard exchange.discardedByteCount == nil else { return exchange.discard(content.count) }
        if let decoder {
            try decode(content, with: decoder, for: exchange)
        } else {
            try deliver(content, to: exchange)
        }
        return true
    }

    /// Continues with content that was kept back; false when the exchange takes no more of it now.
    func resume(for exchange: Exchange) throws(TransferFailure) -> Bool {
        guard let kept = undecoded.take(), let decoder else { return true }
        try kept.withUnsafeBufferPointer { (bytes) throws(TransferFailure) in
            try decode(UnsafeRawBufferPointer(bytes), with: decoder, for: exchange)
        }
        return undecoded == nil
    }

    /// Says that no more content comes; throws where its codings have not ended.
    func finish(for exchange: Exchange, endedByClose: Bool) throws(TransferFailure) {
        guard let decoder, exchange.discardedByteCount == nil else { return }
        try decoder.finish(isEmpty: exchange.report.responseBodyByteCount == 0, endedByClose: endedByClose)
    }

    private func deliver(_ content: UnsafeRawBufferPointer, to exchange: Exchange) throws(TransferFailure) {
        let total = exchange.report.responseDecodedByteCount + Int64(content.count)
        let received = exchange.report.responseBodyByteCount
        if let refusal = limits.refusal(decoded: total, received: received) { throw .refused(refusal) }
        exchange.deliver(content)
    }

    /// Takes codings off, piece by piece.
    private func decode(
        _ content: UnsafeRawBufferPointer, with decoder: ContentDecoder, for exchange: Exchange
    ) throws(TransferFailure) {
        var rest = content
        while true {
            guard exchange.discardedByteCount == nil else { return }
            guard exchange.mayReceiveContent, !exchange.isStopped else {
                undecoded = Array(rest)
                return
            }
            let count = try decoder.decode(&rest, into: context.decodingBuffer)
            guard count > 0 else { return }
            try deliver(UnsafeRawBufferPointer(rebasing: context.decodingBuffer[..<count]), to: exchange)
        }
    }
}
