// A command that waits for its reply.

import Synchronization

/// A reply, and when it arrived.
struct RESPReply: Sendable {
    let value: RESPValue
    /// When the event loop received the reply, in nanoseconds of the monotonic clock; a task may see the reply later.
    let arrival: UInt64
}

/// Hands the outcome of a command, once, to the waiting task: the reply, a failure, or the task's cancellation.
final class PendingReply: Sendable {
    private enum Stage {
        case idle
        case awaited(CheckedContinuation<Void, Never>)
        case over(Result<RESPReply, any Error>)
    }

    /// Moment of the monotonic clock, in nanoseconds, at which the command fails.
    let deadline: UInt64
    /// The time from the start to `deadline`.
    let limit: Duration
    private let stage = Mutex(Stage.idle)

    init(deadline: UInt64, limit: Duration) {
        self.deadline = deadline
        self.limit = limit
    }

    var isOver: Bool {
        stage.withLock { if case .over = $0 { true } else { false } }
    }

    /// Waits for the outcome; throws `FleetError` or `CancellationError`.
    func value() async throws -> RESPReply {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = stage.withLock { stage in
                    if case .over = stage { return true }
                    stage = .awaited(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            finish(.failure(CancellationError()))
        }
        // The continuation passes no value: ThreadSanitizer cannot follow such a value if the continuation is resumed
        // before its function waits. ThreadSanitizer understands the lock.
        guard case .over(let outcome) = stage.withLock({ $0 }) else { preconditionFailure("it was resumed") }
        return try outcome.get()
    }

    /// Sets the outcome; every later call does nothing.
    func finish(_ outcome: Result<RESPReply, any Error>) {
        let waiting: CheckedContinuation<Void, Never>? = stage.withLock { stage in
            switch stage {
            case .idle:
                stage = .over(outcome)
                return nil
            case .awaited(let continuation):
                stage = .over(outcome)
                return continuation
            case .over: return nil
            }
        }
        waiting?.resume()
    }
}
