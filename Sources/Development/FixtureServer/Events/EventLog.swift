// A log of a server's events, for tests that wait for them.

import Dispatch
import Synchronization

/// An event did not come in time.
public struct EventTimeout: Error, CustomStringConvertible {
    /// The events that were logged instead.
    public let description: String
}

/// Events in order, for which tests can wait.
///
/// The oldest events are dropped, since a server may run for days.
public final class EventLog<Event: Sendable & Equatable>: Sendable {
    private struct Waiter {
        let id: Int
        /// The number of matching events that are still to come.
        var missing: Int
        let matches: @Sendable (Event) -> Bool
        let continuation: CheckedContinuation<Event, any Error>
    }

    private struct State {
        var events: [Event] = []
        var waiters: [Waiter] = []
        var waiterCount = 0
    }

    /// The number of events that remain after the oldest are dropped, which happens at twice as many.
    static var limit: Int { 100_000 }

    private let state = Mutex(State())

    /// Makes an empty log.
    public init() {}

    /// The events so far, at least the last 100,000.
    public var events: [Event] { state.withLock { $0.events } }

    func record(_ event: Event) {
        let woken = state.withLock { state in
            if state.events.count >= 2 * Self.limit { state.events.removeFirst(Self.limit) }
            state.events.append(event)
            for index in state.waiters.indices where state.waiters[index].matches(event) {
                state.waiters[index].missing -= 1
            }
            defer { state.waiters.removeAll { $0.missing == 0 } }
            return state.waiters.filter { $0.missing == 0 }
        }
        for waiter in woken { waiter.continuation.resume(returning: event) }
    }

    /// Adds an event, for tests that use a log of their own.
    public func note(_ event: Event) {
        record(event)
    }

    /// Waits until a matching event has happened, and returns the first one in the log, which may be an earlier event.
    ///
    /// Throws `EventTimeout` if no such event comes in time.
    @discardableResult
    public func first(where matches: @escaping @Sendable (Event) -> Bool) async throws -> Event {
        try await nth(1, where: matches)
    }

    /// Waits until `count` matching events have happened, and returns the last of them; `count` must be at least 1.
    ///
    /// Throws `EventTimeout` if they do not come in time.
    @discardableResult
    public func nth(_ count: Int, where matches: @escaping @Sendable (Event) -> Bool) async throws -> Event {
        try await withCheckedThrowingContinuation { continuation in
            let step = state.withLock { state -> (found: Event?, id: Int) in
                let found = state.events.filter(matches).prefix(count)
                if found.count == count { return (found.last, 0) }
                state.waiterCount += 1
                state.waiters.append(
                    Waiter(
                        id: state.waiterCount, missing: count - found.count, matches: matches,
                        continuation: continuation))
                return (nil, state.waiterCount)
            }
            if let found = step.found { return continuation.resume(returning: found) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(TestTimeouts.seconds)) {
                self.expire(step.id)
            }
        }
    }

    /// Waits until this event has happened; throws `EventTimeout` if it does not come in time.
    public func next(_ event: Event) async throws {
        try await first { $0 == event }
    }

    private func expire(_ id: Int) {
        let expired = state.withLock { state -> (Waiter?, [Event]) in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return (nil, []) }
            return (state.waiters.remove(at: index), state.events)
        }
        let came = expired.1.map { "\($0)" }.joined(separator: "\n")
        expired.0?.continuation.resume(
            throwing: EventTimeout(description: "no such event in time; what came:\n\(came)"))
    }
}
