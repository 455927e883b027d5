// The consumers of a stream.

import FireweedTransport
import Foundation

/// One consumer of a stream.
///
/// It is also a response handler: its completion is delivered in order with the request's other handlers.
protocol StreamSink: ResponseHandler {
    /// Whether the consumer is a sequence, which only gets the content of one response that the validators accept.
    var isSequence: Bool { get }
    /// Whether too much waits to be consumed: the transport then pauses until there is room.
    var isFull: Bool { get }
    /// Whether the consumer waits for the head of a response whose content it gets.
    var takesHead: Bool { get }
    /// Takes the head of a response that the validators accept, before the content; no retry can follow.
    func receive(_ head: ResponseHead)
    /// Takes a piece; called on the transport's thread, in order.
    func receive(_ data: Data)
    /// Called before the first piece of a new attempt: drops an incomplete value.
    func restart()
    /// Called after the last piece; `isWhole` is true when the content is complete.
    func finish(isWhole: Bool)
}

extension StreamSink {
    var isSequence: Bool { false }
    var takesHead: Bool { false }
    func receive(_ head: ResponseHead) {}
}
