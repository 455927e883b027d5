// What happened on a server, for tests that wait for it.

import Dispatch
import Synchronization

/// An event did not come in time.
public struct EventTimeout: Error, CustomStringConvertible {
    /// What was waited for, and what came instead.
    public let description: String
}

/// Events in their order, and tests that wait for one of them.
public final class EventLog<Event: Sendable & Equatable>: Sendable {
    private struct Waiter {
        let id: Int
        let matches: @Sendable (Event) -> Bool
        let continuation: CheckedContinuation<Event, any Error>
    }

    private struct State {
        var events: [Event] = []
        var waiters: [Waiter] = []
        var waiterCount = 0
    }

    private let state = Mutex(State())

    /// Makes an empty log.
    public init() {}

    /// Everything that has happened.
    public var events: [Event] { state.withLock { $0.events } }

    func record(_ event: Event) {
        let woken = state.withLock { state in
            state.events.append(event)
            let woken = state.waiters.filter { $0.matches(event) }
            state.waiters.removeAll { waiter in woken.contains { $0.id == waiter.id } }
            return woken
        }
        for waiter in woken { waiter.continuation.resume(returning: event) }
    }

    /// Waits until an event that matches has happened, in the past or within `seconds` from now.
    @discardableResult
    public func first(
        within seconds: Int = 60, where matches: @escaping @Sendable (Event) -> Bool
    ) async throws -> Event {
        try await withCheckedThrowingContinuation { continuation in
            let step = state.withLock { state -> (found: Event?, id: Int) in
                if let found = state.events.first(where: matches) { return (found, 0) }
                state.waiterCount += 1
                state.waiters.append(Waiter(id: state.waiterCount, matches: matches, continuation: continuation))
                return (nil, state.waiterCount)
            }
            if let found = step.found { return continuation.resume(returning: found) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { self.expire(step.id) }
        }
    }

    /// Waits until this event has happened.
    public func next(_ event: Event, within seconds: Int = 60) async throws {
        try await first(within: seconds) { $0 == event }
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
