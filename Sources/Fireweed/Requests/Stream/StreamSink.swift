// The consumers of a stream.

import FireweedTransport
import Foundation

/// One consumer of a stream.
///
/// Its end has a place among the request's handlers.
protocol StreamSink: ResponseHandler {
    /// Whether the consumer is a sequence: its reader gets the content of one response, which is acceptable.
    var isSequence: Bool { get }
    /// Whether too much waits to be consumed: the transport then stops until there is room.
    var isFull: Bool { get }
    /// Whether the consumer waits for the head of a response whose content it gets.
    var takesHead: Bool { get }
    /// Takes the head of a response that the validators accept, before its content: no retry follows any more.
    func receive(_ head: ResponseHead)
    /// Takes a piece; called on the transport's thread, in order.
    func receive(_ data: Data)
    /// The next piece begins a new attempt's content: an incomplete value is dropped.
    func restart()
    /// No more pieces come; `isWhole` when all of the content did.
    func finish(isWhole: Bool)
}

extension StreamSink {
    var isSequence: Bool { false }
    var takesHead: Bool { false }
    func receive(_ head: ResponseHead) {}
}
