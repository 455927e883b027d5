// The limit of the bytes that wait for one consumer.

/// The number of bytes that wait for one consumer, with a limit.
struct Backlog: Sendable {
    static let limit = 1024 * 1024
    private(set) var byteCount = 0
    private(set) var isFull = false
    /// True once the reader is gone: new values are dropped, and the backlog is never full.
    private(set) var isDetached = false
    /// Whether a value could not be made, which ended the stream.
    var hasFailed = false

    /// The weight of a value of `byteCount` bytes; each value has overhead, since many small values take memory too.
    static func weight(_ byteCount: Int) -> Int {
        byteCount + 256
    }

    /// Changes the weight; returns true when a backlog that was full has room again.
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

    /// Removes a weight; returns true when a backlog that was full has room again.
    mutating func remove(_ count: Int) -> Bool {
        change(by: -count)
    }

    /// Notes that the reader is gone; returns true when the transport waits for room.
    mutating func detach() -> Bool {
        defer { isFull = false }
        isDetached = true
        return isFull
    }
}
