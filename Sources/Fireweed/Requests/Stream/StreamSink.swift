// The consumers of a stream, and how much content may wait for them.

import Foundation

/// One consumer of a stream.
///
/// Its end has a place among the request's handlers.
protocol StreamSink: ResponseHandler {
    /// Whether the consumer is a sequence: its reader gets the content of one response, which is acceptable.
    var isSequence: Bool { get }
    /// Whether too much waits to be consumed: the transport then stops until there is room.
    var isFull: Bool { get }
    /// Takes a piece; called on the transport's thread, in order.
    func receive(_ data: Data)
    /// The next piece begins a new attempt's content: an incomplete value is dropped.
    func restart()
    /// No more pieces come; `isWhole` when all of the content did.
    func finish(isWhole: Bool)
}

extension StreamSink {
    var isSequence: Bool { false }
}

/// The bytes that wait in one consumer, with a limit.
struct Backlog: Sendable {
    static let limit = 1024 * 1024
    private(set) var byteCount = 0
    private(set) var isFull = false
    /// True once the reader is gone: nothing is kept, and nothing is full.
    private(set) var isDetached = false
    /// A value could not be made, and that ended the stream.
    var hasFailed = false

    /// The weight of a value of `byteCount` bytes: many small values take memory too.
    static func weight(_ byteCount: Int) -> Int {
        byteCount + 256
    }

    /// Changes the weight; returns whether there is room again.
    mutating func change(by count: Int) -> Bool {
        byteCount += count
        guard !isDetached else { return false }
        if byteCount >= Self.limit { isFull = true }
        guard isFull, byteCount < Self.limit / 2 else { return false }
        isFull = false
        return true
    }

    mutating func add(_ count: Int) {
        _ = change(by: count)
    }

    /// Removes a weight; returns whether there is room again.
    mutating func remove(_ count: Int) -> Bool {
        change(by: -count)
    }

    /// Drops everything; returns true when the transport waits for room.
    mutating func detach() -> Bool {
        defer { isFull = false }
        isDetached = true
        return isFull
    }
}
