// The queue of a rate limit, as a table.

/// The slots of one key and the requests that wait for them, in the order in which they came.
///
/// Pure: every event brings the time, in nanoseconds of a clock that never goes back.
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
    /// What the server allows until a moment.
    private var quota: (remaining: Int, until: UInt64)?
    /// From `start` on; `nil` for a request that left, of which none is the first.
    private var waiting: [Waiter?] = []
    private var start = 0
    private var goneCount = 0
    /// The number of the first request that waits, or of the next one to wait.
    private(set) var firstNumber: UInt64

    /// Makes an empty queue; the first request that waits gets `firstNumber`.
    init(limit: RateLimit, firstNumber: UInt64 = 0) {
        self.limit = limit
        self.firstNumber = firstNumber
    }

    var waitingCount: Int { waiting.count - start - goneCount }
    /// The number of the request that began to wait last.
    var lastNumber: UInt64 { firstNumber &+ UInt64(waiting.count - start) &- 1 }

    /// Whether the queue knows nothing that a new one would not.
    func isIdle(at now: UInt64) -> Bool {
        waitingCount == 0 && nextSlot <= now && pausedUntil <= now && (quota?.until ?? 0) <= now
    }

    /// The earliest moment at which the first request that waits may be sent.
    func slot(at now: UInt64) -> UInt64 {
        var moment = max(now, pausedUntil, nextSlot > limit.tolerance ? nextSlot - limit.tolerance : 0)
        if let quota, quota.remaining <= 0, quota.until > now { moment = max(moment, quota.until) }
        return moment
    }

    /// A request wants to be sent.
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
        /// The first request that waits may be sent: `take` or `drop` has to follow.
        case due(Waiter)
        /// Nothing may be sent before this moment.
        case wait(until: UInt64)
        case empty
    }

    /// What is to be done now.
    func next(at now: UInt64) -> QueueAction {
        guard waitingCount > 0 else { return .empty }
        guard let first = waiting[start] else { return .empty }
        let slot = slot(at: now)
        return slot <= now ? .due(first) : .wait(until: slot)
    }

    /// The request of `next` is sent.
    mutating func takeFirst(at now: UInt64) {
        dropFirst()
        take(at: now)
    }

    /// The request of `next` was cancelled: it leaves its slot to the one behind it.
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

    /// A request that waits leaves the line; `nil` when it does not wait any more.
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

    /// How long the pause lasts that the server asked for; zero for none.
    func pauseLeft(at now: UInt64) -> UInt64 {
        pausedUntil > now ? pausedUntil - now : 0
    }

    /// Requests had slots elsewhere, up to a moment: the next slot comes an interval after it, without a burst.
    mutating func hold(until moment: UInt64) {
        let (next, isOver) = moment.addingReportingOverflow(limit.interval)
        nextSlot = max(nextSlot, (isOver ? .max / 2 : min(next, .max / 2)) + limit.tolerance)
    }

    /// All requests leave the line; returns those that wait, in their order.
    mutating func removeAll() -> [Waiter] {
        let all = waiting[start...].compactMap { $0 }
        firstNumber += UInt64(waiting.count - start)
        (waiting, start, goneCount) = ([], 0, 0)
        return all
    }

    /// The server asks for a pause.
    mutating func pause(until moment: UInt64) {
        pausedUntil = max(pausedUntil, moment)
    }

    /// The server says how many requests it takes until a moment.
    ///
    /// Responses overtake each other, and requests that are under way may not be in the number: until the moment that
    /// was named first, the number only goes down.
    mutating func allow(_ count: Int, until moment: UInt64, at now: UInt64) {
        if let known = quota, known.until > now {
            quota = (min(known.remaining, count), known.until)
        } else {
            quota = (count, moment)
        }
    }
}
