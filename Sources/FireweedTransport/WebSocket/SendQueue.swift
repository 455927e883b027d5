// The queue of messages to send.

import Foundation

/// The messages that wait to be framed, and the completions that wait until their messages are written.
struct SendQueue {
    typealias Completion = @Sendable (TransferFailure?) -> Void

    private var waiting = ElementQueue<(message: WebSocketMessage, completion: Completion)>()
    /// The completion of the message that is being framed.
    private var current: Completion?
    /// The framed messages, each with the count of written bytes at which it is completely written.
    private var framed: [(end: Int64, completion: Completion)] = []
    private var writtenByteCount: Int64 = 0
    /// The close frame, to be sent after all messages.
    var closing: (code: UInt16, reason: Data)?

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ message: WebSocketMessage, _ completion: @escaping Completion) {
        waiting.append((message, completion))
    }

    /// Removes and returns the next message.
    mutating func next() -> (message: WebSocketMessage, completion: Completion)? { waiting.popFirst() }

    /// Returns the close frame on the first call after it is set, to be framed.
    mutating func takeClosing() -> (code: UInt16, reason: Data)? {
        guard let closing, !isClosingTaken else { return nil }
        isClosingTaken = true
        return closing
    }
    private var isClosingTaken = false

    /// Records that a message is being framed.
    mutating func begin(_ completion: @escaping Completion) {
        current = completion
    }

    /// Records the byte count at which the message that is being framed ends; does nothing without such a message.
    mutating func endMessage(at end: Int64) {
        guard let current else { return }
        framed.append((end, current))
        self.current = nil
    }

    /// Records written bytes, and calls the completions of messages that are completely written.
    mutating func wrote(_ count: Int) {
        writtenByteCount += Int64(count)
        let done = framed.prefix { $0.end <= writtenByteCount }
        guard !done.isEmpty else { return }
        framed.removeFirst(done.count)
        for message in done { message.completion(nil) }
    }

    /// Calls all waiting completions with the cause of the failure.
    mutating func fail(_ cause: TransferFailure) {
        let failed = framed.map(\.completion) + [current].compactMap { $0 } + waiting.takeAll().map(\.completion)
        framed = []
        current = nil
        for completion in failed { completion(cause) }
    }
}
