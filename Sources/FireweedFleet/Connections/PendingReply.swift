// One command that waits for its reply.

import Synchronization

/// Hands the outcome of a command to the task that waits, once: the reply, a failure, or the task's cancellation.
final class PendingReply: Sendable {
    private enum Stage {
        case idle
        case awaited(CheckedContinuation<RESPValue, any Error>)
        case over(Result<RESPValue, any Error>)
    }

    /// Moment of the monotonic clock, in nanoseconds, at which the command fails.
    let deadline: UInt64
    /// How long that is from the start.
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
    func value() async throws -> RESPValue {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<RESPValue, any Error>? = stage.withLock { stage in
                    if case .over(let outcome) = stage { return outcome }
                    stage = .awaited(continuation)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }

    /// Sets the outcome; every later call does nothing.
    func finish(_ outcome: Result<RESPValue, any Error>) {
        let waiting: CheckedContinuation<RESPValue, any Error>? = stage.withLock { stage in
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
        waiting?.resume(with: outcome)
    }
}
