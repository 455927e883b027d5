// Rate-limit queues of one process.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// Holds requests in queues, one for each key, and lets each request through at its slot.
final class LocalRateLimits: Sendable {
    /// A request in a queue.
    struct Waiter: Sendable {
        /// False for a request that has ended.
        let isWanted: @Sendable () -> Bool
        let proceed: @Sendable () -> Void
        /// Asks for a slot of the shared limit again; `nil` without a shared limit.
        var retakes: (@Sendable () -> Void)?
    }

    private struct State {
        var queues: [String: RateLimitQueue<Waiter>] = [:]
        /// The first number of a new queue; greater than the number of any request of a removed queue.
        ///
        /// A request of a removed queue may end after its key has a new queue, and its number must not match a request
        /// there.
        var firstNumber: UInt64 = 0
        /// When there are this many queues, the next new key removes the idle ones.
        var sweepCount = LocalRateLimits.keyLimit
        /// For each key, the time for which the next `drain` is scheduled.
        var scheduled: [String: UInt64] = [:]
    }

    /// The number of keys below which no queue is removed.
    private static let keyLimit = 1024

    private let limit: RateLimit?
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "fireweed.rate-limits")

    /// Makes the queues; without a limit, only the server's pauses and quotas hold requests back.
    init(limit: RateLimit?) {
        self.limit = limit
    }

    /// Used instead of a missing limit: its slots are a nanosecond apart.
    private static let unlimited = RateLimit(1_000_000_000, burst: 1_000_000_000)

    var waitingCount: Int { state.withLock { $0.queues.values.reduce(0) { $0 + $1.waitingCount } } }

    /// Adds a request to the queue of its key, unless the request is sent or refused at once.
    ///
    /// `waiter.proceed` is called on the dispatch queue at the request's slot.
    ///
    /// - Returns: whether the request is sent, waits or is refused, and its number in the queue if it waits.
    func enter(
        _ key: String, clock: any SessionClock, maximumWait: Duration?, _ waiter: @autoclosure () -> Waiter
    ) -> (arrival: RateLimitQueue<Waiter>.Arrival, number: UInt64) {
        let now = clock.monotonicNanoseconds
        let outcome = change(key, at: now) {
            let arrival = $0.arrive(waiter(), at: now, maximumWait: maximumWait.map(\.nanosecondCount))
            return (arrival, $0.lastNumber)
        }
        if case .wait = outcome.0 { schedule(key, clock) }
        return outcome
    }

    /// Removes a waiting request from its queue; the request behind it takes its place.
    func leave(_ key: String, _ number: UInt64) {
        _ = state.withLock { $0.queues[key]?.remove(number) }
    }

    /// Makes the next slot of a key come after `moment`, on the key's clock: until then, requests have slots of the
    /// shared limit.
    func hold(_ key: String, until moment: UInt64, clock: any SessionClock) {
        // Without a limit, requests need no slots of this process.
        guard limit != nil else { return }
        change(key, at: clock.monotonicNanoseconds) { $0.hold(until: moment) }
    }

    /// Called when the shared limit has slots again: all requests that wait here ask for those slots, in order.
    func release(_ key: String) {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.queues[key]?.waitingCount ?? 0 > 0 else { return [] }
            return state.queues[key]?.removeAll() ?? []
        }
        for waiter in waiters { (waiter.retakes ?? waiter.proceed)() }
    }

    /// Returns the nanoseconds left of the pause that the server asked for; zero for no pause.
    func pauseLeft(of key: String, clock: any SessionClock) -> UInt64 {
        let now = clock.monotonicNanoseconds
        return state.withLock { $0.queues[key]?.pauseLeft(at: now) ?? 0 }
    }

    /// Starts a pause that the server asked for.
    func pause(_ key: String, for nanoseconds: UInt64, clock: any SessionClock) {
        let now = clock.monotonicNanoseconds
        change(key, at: now) { $0.pause(until: now &+ nanoseconds) }
    }

    /// Notes how many requests the server accepts within a time.
    func allow(_ key: String, _ count: Int, for nanoseconds: UInt64, clock: any SessionClock) {
        let now = clock.monotonicNanoseconds
        change(key, at: now) { $0.allow(count, until: now &+ nanoseconds, at: now) }
        // The new quota may let a waiting request through.
        schedule(key, clock)
    }

    @discardableResult
    private func change<Result: Sendable>(
        _ key: String, at now: UInt64, _ body: (inout RateLimitQueue<Waiter>) -> Result
    ) -> Result {
        state.withLock { state in
            if state.queues.count >= state.sweepCount, state.queues[key] == nil {
                let idle = state.queues.filter { $0.value.isIdle(at: now) }
                state.firstNumber = idle.reduce(state.firstNumber) { max($0, $1.value.firstNumber) }
                for key in idle.keys { state.queues[key] = nil }
                // If few queues are idle, the next sweep comes later, so that not every new key checks all queues.
                state.sweepCount = max(Self.keyLimit, 2 * state.queues.count)
            }
            let empty = RateLimitQueue<Waiter>(limit: limit ?? Self.unlimited, firstNumber: state.firstNumber)
            return body(&state.queues[key, default: empty])
        }
    }

    /// Schedules `drain` for the slot of a key's first waiting request.
    private func schedule(_ key: String, _ clock: any SessionClock) {
        let now = clock.monotonicNanoseconds
        let moment: UInt64? = state.withLock { state in
            guard let queue = state.queues[key], queue.waitingCount > 0 else { return nil }
            let slot = queue.slot(at: now)
            if let known = state.scheduled[key], known <= slot { return nil }
            state.scheduled[key] = slot
            return slot
        }
        guard let moment else { return }
        let delay = Duration.nanoseconds(Int64(clamping: moment > now ? moment - now : 0))
        clock.schedule(.delay, after: delay, on: queue) { [self] in drain(key, clock, scheduled: moment) }
    }

    /// Lets requests through whose slots have come; runs on the dispatch queue, one call at a time.
    private func drain(_ key: String, _ clock: any SessionClock, scheduled moment: UInt64) {
        state.withLock { state in
            if state.scheduled[key] == moment { state.scheduled[key] = nil }
        }
        while true {
            let now = clock.monotonicNanoseconds
            let (next, number) = state.withLock { state in
                (state.queues[key]?.next(at: now) ?? .empty, state.queues[key]?.firstNumber)
            }
            guard case .due(let waiter) = next else { break }
            // `isWanted` is called outside of the lock, so the request may leave the queue during the call; then
            // `firstNumber` has changed.
            let isWanted = waiter.isWanted()
            let isFirst = state.withLock { state in
                guard state.queues[key]?.firstNumber == number else { return false }
                if isWanted { state.queues[key]?.takeFirst(at: now) } else { state.queues[key]?.dropFirst() }
                return true
            }
            if isWanted, isFirst { waiter.proceed() }
        }
        schedule(key, clock)
    }
}
