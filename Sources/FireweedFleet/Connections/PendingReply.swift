// One command that waits for its reply.

import Synchronization

/// A reply, and when it arrived.
struct RESPReply: Sendable {
    let value: RESPValue
    /// A moment of the monotonic clock, in nanoseconds, on the event loop: a task may see the reply later.
    let arrival: UInt64
}

/// Hands the outcome of a command to the task that waits, once: the reply, a failure, or the task's cancellation.
final class PendingReply: Sendable {
    private enum Stage {
        case idle
        case awaited(CheckedContinuation<RESPReply, any Error>)
        case over(Result<RESPReply, any Error>)
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
    func value() async throws -> RESPReply {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<RESPReply, any Error>? = stage.withLock { stage in
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
    func finish(_ outcome: Result<RESPReply, any Error>) {
        let waiting: CheckedContinuation<RESPReply, any Error>? = stage.withLock { stage in
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
