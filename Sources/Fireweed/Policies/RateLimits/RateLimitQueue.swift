// The queue of a rate limit, as a pure state machine.

/// The slots of one key and the requests that wait for them, in the order in which they came.
///
/// Pure: every event carries the time, in nanoseconds of a monotonic clock.
struct RateLimitQueue<Waiter: Sendable>: Sendable {
    enum Arrival: Sendable, Equatable {
        case send
        /// The slot comes after this many nanoseconds.
        case wait(UInt64)
        /// The wait would be longer than allowed; the request does not wait.
        case refuse(UInt64)
    }

    let limit: RateLimit
    /// The moment of the next slot without any burst (the theoretical arrival time).
    private var nextSlot: UInt64 = 0
    private var pausedUntil: UInt64 = 0
    /// The server's quota: the requests that the server still accepts until a moment.
    private var quota: (remaining: Int, until: UInt64)?
    /// The waiting requests, from index `start` on; `nil` for a request that has left, but never at `start`.
    private var waiting: [Waiter?] = []
    private var start = 0
    private var goneCount = 0
    /// The number of the first waiting request; if none waits, the number of the next request that will wait.
    private(set) var firstNumber: UInt64

    /// Makes an empty queue; the first request that waits gets `firstNumber`.
    init(limit: RateLimit, firstNumber: UInt64 = 0) {
        self.limit = limit
        self.firstNumber = firstNumber
    }

    var waitingCount: Int { waiting.count - start - goneCount }
    /// The number of the request that began to wait last.
    var lastNumber: UInt64 { firstNumber &+ UInt64(waiting.count - start) &- 1 }

    /// Whether the queue can be removed: a new queue would decide in the same way.
    func isIdle(at now: UInt64) -> Bool {
        waitingCount == 0 && nextSlot <= now && pausedUntil <= now && (quota?.until ?? 0) <= now
    }

    /// Returns the earliest moment at which the first waiting request may be sent.
    func slot(at now: UInt64) -> UInt64 {
        var moment = max(now, pausedUntil, nextSlot > limit.tolerance ? nextSlot - limit.tolerance : 0)
        if let quota, quota.remaining <= 0, quota.until > now { moment = max(moment, quota.until) }
        return moment
    }

    /// Decides about a request that wants to be sent.
    mutating func arrive(_ waiter: @autoclosure () -> Waiter, at now: UInt64, maximumWait: UInt64?) -> Arrival {
        let slot = slot(at: now)
        guard waitingCount > 0 || slot > now else {
            take(at: now)
            return .send
        }
        let (queue, isOver) = limit.interval.multipliedReportingOverflow(by: UInt64(waitingCount))
        let wait = isOver ? .max : (slot - now).addingReportingOverflow(queue).partialValue
        if let maximumWait, wait > maximumWait { return .refuse(wait) }
        waiting.append(waiter())
        return .wait(wait)
    }

    enum QueueAction: Sendable {
        /// The first waiting request may be sent: `takeFirst` or `dropFirst` must follow.
        case due(Waiter)
        /// Nothing may be sent before this moment.
        case wait(until: UInt64)
        case empty
    }

    /// Returns the next action of the queue.
    func next(at now: UInt64) -> QueueAction {
        guard waitingCount > 0 else { return .empty }
        guard let first = waiting[start] else { return .empty }
        let slot = slot(at: now)
        return slot <= now ? .due(first) : .wait(until: slot)
    }

    /// Removes the request that `next` returned, which is sent.
    mutating func takeFirst(at now: UInt64) {
        dropFirst()
        take(at: now)
    }

    /// Removes the request that `next` returned, which was cancelled: the request behind it gets the slot.
    mutating func dropFirst() {
        start += 1
        firstNumber += 1
        while start < waiting.count, waiting[start] == nil {
            start += 1
            firstNumber += 1
            goneCount -= 1
        }
        if start == waiting.count {
            waiting.removeAll(keepingCapacity: start < 1024)
            start = 0
        } else if start > 1024 {
            waiting.removeSubrange(..<start)
            start = 0
        }
    }

    /// Removes a waiting request from the queue; `nil` when the request no longer waits.
    mutating func remove(_ number: UInt64) -> Waiter? {
        guard number >= firstNumber,
            let index = Int(exactly: number - firstNumber).map({ start + $0 }), waiting.indices.contains(index),
            let waiter = waiting[index]
        else { return nil }
        if index == start {
            dropFirst()
        } else {
            waiting[index] = nil
            goneCount += 1
        }
        return waiter
    }

    private mutating func take(at now: UInt64) {
        nextSlot = max(nextSlot, now) + limit.interval
        if let known = quota { quota = known.until > now ? (known.remaining - 1, known.until) : nil }
    }

    /// Returns the nanoseconds left of the pause that the server asked for; zero for no pause.
    func pauseLeft(at now: UInt64) -> UInt64 {
        pausedUntil > now ? pausedUntil - now : 0
    }

    /// Makes the next slot come one interval after `moment`, without a burst: until `moment`, requests have slots of
    /// the shared limit.
    mutating func hold(until moment: UInt64) {
        let (next, isOver) = moment.addingReportingOverflow(limit.interval)
        nextSlot = max(nextSlot, (isOver ? .max / 2 : min(next, .max / 2)) + limit.tolerance)
    }

    /// Removes all requests from the queue, and returns the waiting ones in their order.
    mutating func removeAll() -> [Waiter] {
        let all = waiting[start...].compactMap { $0 }
        firstNumber += UInt64(waiting.count - start)
        (waiting, start, goneCount) = ([], 0, 0)
        return all
    }

    /// Starts a pause that the server asked for.
    mutating func pause(until moment: UInt64) {
        pausedUntil = max(pausedUntil, moment)
    }

    /// Notes how many requests the server accepts until a moment.
    ///
    /// Responses may arrive out of order, and the server's count may not include requests in flight: until the end of
    /// the known quota, the count only decreases.
    mutating func allow(_ count: Int, until moment: UInt64, at now: UInt64) {
        if let known = quota, known.until > now {
            quota = (min(known.remaining, count), known.until)
        } else {
            quota = (count, moment)
        }
    }
}
