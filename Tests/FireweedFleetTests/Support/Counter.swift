// Counts what happens on several threads.

import Synchronization

/// A number that only grows.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Adds one; returns the new number.
    @discardableResult
    func increment() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}
