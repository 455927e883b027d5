// Waiting for the next request.

import Dispatch
import Foundation
import Synchronization

/// A waiting caller of `takeRequest`, which is resumed once.
final class RequestTaker: Sendable {
    private enum State {
        case made
        case waiting(CheckedContinuation<RecordedRequest, any Error>)
        case over(Result<RecordedRequest, any Error>)
    }

    private let state = Mutex(State.made)

    /// Ends the wait; later calls have no effect.
    func take(_ result: Result<RecordedRequest, any Error>) {
        let waiting = state.withLock { state -> CheckedContinuation<RecordedRequest, any Error>? in
            switch state {
            case .over: return nil
            case .made:
                state = .over(result)
                return nil
            case .waiting(let continuation):
                state = .over(result)
                return continuation
            }
        }
        waiting?.resume(with: result)
    }

    func value() async throws -> RecordedRequest {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<RecordedRequest, any Error>? in
                    if case .over(let result) = state { return result }
                    state = .waiting(continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            take(.failure(CancellationError()))
        }
    }
}

extension Stubs {
    /// Returns the next request that was not taken yet, in order of arrival; waits when there is none.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait, in real time; 10 seconds by default.
    ///   - filePath: the file of the call, for the error.
    ///   - line: the line of the call, for the error.
    /// - Returns: the request, which is not returned again.
    /// - Throws: ``StubExpectationError`` when none arrives in time, `CancellationError` when the task is cancelled.
    public func takeRequest(
        within timeout: Duration = .seconds(10), filePath: StaticString = #filePath, line: UInt = #line
    ) async throws -> RecordedRequest {
        let taker = RequestTaker()
        let place = SourcePlace(filePath: filePath, line: line)
        let known = state.withLock { state -> RecordedRequest? in
            guard state.takenCount < state.requests.count, state.takers.isEmpty else {
                state.takers.append(taker)
                return nil
            }
            defer { state.takenCount += 1 }
            return state.requests[state.takenCount]
        }
        if let known { return known }
        DispatchQueue.global().asyncAfter(deadline: .now() + timeout.seconds) {
            [weak self, weak taker] in
            guard let self, let taker else { return }
            self.state.withLock { state in state.takers.removeAll { $0 === taker } }
            taker.take(.failure(StubExpectationError("No request came within \(timeout).", at: place)))
        }
        defer { state.withLock { state in state.takers.removeAll { $0 === taker } } }
        return try await taker.value()
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: TimeInterval {
        TimeInterval(components.seconds) + TimeInterval(components.attoseconds) / 1e18
    }
}
