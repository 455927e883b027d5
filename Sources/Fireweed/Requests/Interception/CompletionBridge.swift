// A bridge from methods with a completion handler to `async` methods.

/// Runs `async` work for an interface with a completion handler.
enum CompletionBridge {
    /// Runs `work` in a new task, which then calls `completion` once with the value or the error; returns the task, so
    /// that the caller can cancel it.
    @discardableResult
    static func run<Value: Sendable>(
        _ completion: @escaping @Sendable (Result<Value, any Error>) -> Void,
        _ work: @escaping @Sendable () async throws -> Value
    ) -> Task<Void, Never> {
        Task {
            do {
                completion(.success(try await work()))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Runs `work` in a new task, which then calls `completion` once with the value.
    static func run<Value: Sendable>(
        _ completion: @escaping @Sendable (Value) -> Void, _ work: @escaping @Sendable () async -> Value
    ) {
        Task { completion(await work()) }
    }
}
