// From completion forms to `async` ones.

/// Runs `async` work for an interface with a completion handler.
enum CompletionBridge {
    /// Gives what `work` returns or throws to `completion`, once, on the work's own task, which is returned to be
    /// cancelled.
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

    /// Gives what `work` returns to `completion`, once, on the work's own task.
    static func run<Value: Sendable>(
        _ completion: @escaping @Sendable (Value) -> Void, _ work: @escaping @Sendable () async -> Value
    ) {
        Task { completion(await work()) }
    }
}
