// Cancelling a Swift task from anywhere.

/// Runs work on a task that any thread can cancel.
struct TaskSwitch: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// Cancels the task; does nothing the second time, or after the task's end.
    func cancel() {
        continuation.finish()
    }

    /// Runs `work` in a child task that `cancel()` cancels, and waits for its end.
    func run(_ work: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await work()
                continuation.finish()
                return true
            }
            group.addTask { [stream] in
                for await _ in stream {}
                return false
            }
            for await isOver in group where !isOver { group.cancelAll() }
        }
    }
}
