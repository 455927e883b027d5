// Results of concurrent work, in the order in which the work began.

import Synchronization

/// Hands out the numbers 0, 1, 2 and so on to workers, and gives their results to one reader in this order.
///
/// A number begins only when it is less than `lead` ahead of the oldest result that the reader has not taken.
final class ResultsInTurn<Result: Sendable>: Sendable {
    private struct State {
        var begun = 0
        var taken = 0
        /// Results that wait for their turn, by number.
        var early: [Int: Result] = [:]
        var isStopped = false
        var reader: CheckedContinuation<Void, Never>?
        var workers: [CheckedContinuation<Void, Never>] = []

        /// Removes and returns the waiting continuations of the reader or of the workers; the caller resumes them.
        mutating func waiting(reader isReaderMeant: Bool) -> [CheckedContinuation<Void, Never>] {
            guard isReaderMeant else {
                defer { workers = [] }
                return workers
            }
            defer { reader = nil }
            return reader.map { [$0] } ?? []
        }
    }

    private let count: Int
    private let lead: Int
    private let state = Mutex(State())

    /// Hands out `count` numbers.
    init(count: Int, lead: Int) {
        (self.count, self.lead) = (count, lead)
    }

    /// Waits until the next number may begin, and returns it; `nil` after the last number and after `stop()`.
    func begin() async -> Int? {
        while true {
            let number = state.withLock { state -> Int?? in
                guard !state.isStopped, state.begun < count else { return .some(nil) }
                guard state.begun < state.taken + lead else { return .none }
                state.begun += 1
                return state.begun - 1
            }
            if let number { return number }
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    let isFree = state.isStopped || state.begun < state.taken + lead
                    if !isFree { state.workers.append(continuation) }
                    return isFree
                }
                if isFree { continuation.resume() }
            }
        }
    }

    /// Stores the result of a number.
    func finish(_ number: Int, _ result: Result) {
        let waiting = state.withLock { state in
            state.early[number] = result
            return number == state.taken ? state.waiting(reader: true) : []
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Begins no more numbers, and wakes the workers and the reader that wait.
    func stop() {
        let waiting = state.withLock { state in
            state.isStopped = true
            return state.waiting(reader: true) + state.waiting(reader: false)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits for the next results, and returns them in order; `nil` at the end and after `stop()`.
    func next() async -> [Result]? {
        while true {
            let (ready, workers, isOver) = state.withLock { state in
                var ready: [Result] = []
                while let result = state.early.removeValue(forKey: state.taken) {
                    ready.append(result)
                    state.taken += 1
                }
                let isOver = ready.isEmpty && (state.taken == count || state.isStopped)
                return (ready, ready.isEmpty ? [] : state.waiting(reader: false), isOver)
            }
            for continuation in workers { continuation.resume() }
            if isOver { return nil }
            if !ready.isEmpty { return ready }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    let isReady = state.isStopped || state.early[state.taken] != nil
                    if !isReady { state.reader = continuation }
                    return isReady
                }
                if isReady { continuation.resume() }
            }
        }
    }
}
