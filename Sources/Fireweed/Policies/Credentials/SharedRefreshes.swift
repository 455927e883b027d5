// Refreshes that several callers wait for.

import Synchronization

/// Runs the refresh of a credential once for all callers of this process, and never cancels it.
///
/// A caller that is cancelled stops waiting. The refresh continues even without callers: the server may have replaced
/// the credential already, so that dropping the outcome would lock all processes out.
final class SharedRefreshes<Value: Sendable>: Sendable {
    private enum Caller {
        case entered
        case waiting(CheckedContinuation<Value, any Error>)
        case over(Result<Value, any Error>)
    }

    private struct Run {
        let number: Int
        var callers: Set<Int>
    }

    private struct State {
        var runs: [String: Run] = [:]
        var callers: [Int: Caller] = [:]
        var count = 0

        /// Gives a caller its number, and the number of a new run if the caller is the first.
        mutating func enter(_ key: String) -> (caller: Int, run: Int?) {
            count += 1
            callers[count] = .entered
            if runs[key] != nil {
                runs[key]?.callers.insert(count)
                return (count, nil)
            }
            runs[key] = Run(number: count, callers: [count])
            return (count, count)
        }

        /// Sets the outcome of a caller; returns the continuation to resume.
        mutating func end(
            _ caller: Int, _ outcome: Result<Value, any Error>
        ) -> CheckedContinuation<Value, any Error>? {
            switch callers[caller] {
            case .entered:
                callers[caller] = .over(outcome)
                return nil
            case .waiting(let continuation):
                callers[caller] = nil
                return continuation
            case .over, nil: return nil
            }
        }
    }

    /// A running refresh.
    struct Handle: Sendable {
        fileprivate let refreshes: SharedRefreshes
        fileprivate let key: String
        fileprivate let run: Int

        /// Ends the run if all of its callers were cancelled: later callers begin a new run.
        ///
        /// - Throws: `CancellationError` when the run is over.
        func checkAbandonment() throws {
            let isAbandoned = refreshes.state.withLock { state in
                guard let run = state.runs[key], run.number == self.run, run.callers.isEmpty else { return false }
                state.runs[key] = nil
                return true
            }
            if isAbandoned { throw CancellationError() }
        }
    }

    private let state = Mutex(State())

    /// Waits for the refresh of a key that is under way, or begins a refresh.
    ///
    /// - Throws: the error of `work`; `CancellationError` when the caller is cancelled.
    func value(
        of key: String, by work: @escaping @Sendable (Handle) async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let (caller, run) = state.withLock { $0.enter(key) }
        if let run {
            // The task is unstructured: a child task would be cancelled with its caller, so that the new credential
            // would not be stored, and the lock would not be released.
            Task {
                let handle = Handle(refreshes: self, key: key, run: run)
                do {
                    finish(handle, .success(try await work(handle)))
                } catch {
                    finish(handle, .failure(error))
                }
            }
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait(caller, $0) }
        } onCancel: {
            leave(key, caller)
        }
    }

    private func wait(_ caller: Int, _ continuation: CheckedContinuation<Value, any Error>) {
        let outcome: Result<Value, any Error>? = state.withLock { state in
            if case .over(let outcome) = state.callers[caller] {
                state.callers[caller] = nil
                return outcome
            }
            state.callers[caller] = .waiting(continuation)
            return nil
        }
        if let outcome { continuation.resume(with: outcome) }
    }

    private func leave(_ key: String, _ caller: Int) {
        let outcome = Result<Value, any Error>.failure(CancellationError())
        let continuation = state.withLock { state in
            state.runs[key]?.callers.remove(caller)
            return state.end(caller, outcome)
        }
        continuation?.resume(with: outcome)
    }

    private func finish(_ handle: Handle, _ outcome: Result<Value, any Error>) {
        let continuations = state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            guard let run = state.runs[handle.key], run.number == handle.run else { return [] }
            state.runs[handle.key] = nil
            return run.callers.sorted().compactMap { state.end($0, outcome) }
        }
        for continuation in continuations { continuation.resume(with: outcome) }
    }
}
