// An answer from a completion handler to a task, which may be cancelled first.

import Synchronization

/// Holds the first answer to one question; cancelling the task that awaits the answer ends the wait.
final class OneAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(UnsafeContinuation<Value, Never>)
        case given(Value)
        case taken
    }

    private let state = Mutex(State.open)

    /// Gives the answer; later answers are ignored.
    func give(_ value: Value) {
        let continuation = state.withLock { state -> UnsafeContinuation<Value, Never>? in
            switch state {
            case .open:
                state = .given(value)
                return nil
            case .awaited(let continuation):
                state = .taken
                return continuation
            case .given, .taken: return nil
            }
        }
        continuation?.resume(returning: value)
    }

    /// The answer, or `cancelled` when the task is cancelled before the answer is given; may be awaited only once.
    func value(ifCancelled cancelled: Value) async -> Value {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let value = state.withLock { state -> Value? in
                    switch state {
                    case .open:
                        state = .awaited(continuation)
                        return nil
                    case .given(let value):
                        state = .taken
                        return value
                    case .awaited, .taken: preconditionFailure("an answer is awaited once")
                    }
                }
                if let value { continuation.resume(returning: value) }
            }
        } onCancel: {
            give(cancelled)
        }
    }
}
