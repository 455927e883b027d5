// The outcomes of a rolling window.

/// Counts outcomes and failures over a rolling window, in ten spans that expire one after the other.
///
/// Pure: the time is an argument, in nanoseconds of a monotonic clock.
package struct OutcomeWindow: Sendable, Equatable {
    private struct Span: Sendable, Equatable {
        let number: UInt64
        var count = 0
        var failureCount = 0
    }

    private let spanNanoseconds: UInt64
    /// The spans with outcomes, the oldest first.
    private var spans: [Span] = []

    private static let spanCount: UInt64 = 10

    /// Makes an empty window of this many nanoseconds.
    package init(nanoseconds: UInt64) {
        spanNanoseconds = max(1, nanoseconds / Self.spanCount)
    }

    /// Adds an outcome.
    package mutating func note(isFailure: Bool, at now: UInt64) {
        let number = now / spanNanoseconds
        spans.removeAll { $0.number + Self.spanCount <= number }
        if spans.last?.number != number { spans.append(Span(number: number)) }
        spans[spans.count - 1].count += 1
        if isFailure { spans[spans.count - 1].failureCount += 1 }
    }

    /// Returns the number of outcomes in the window, and the number of failures among them.
    package func counts(at now: UInt64) -> (all: Int, failures: Int) {
        let number = now / spanNanoseconds
        return spans.reduce((0, 0)) { sum, span in
            guard span.number + Self.spanCount > number else { return sum }
            return (sum.0 + span.count, sum.1 + span.failureCount)
        }
    }
}
