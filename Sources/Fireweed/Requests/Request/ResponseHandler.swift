// A response handler of a request: its serialiser, and how it is called.

import Dispatch
import Foundation
import Synchronization

/// One response handler of a request.
///
/// `serialise()` runs once for each outcome, `deliver()` once.
protocol ResponseHandler: AnyObject, Sendable {
    /// Makes the response from the request's outcome; returns the serialiser's failure, which retriers are asked about.
    func serialise() -> AFError?
    /// Replaces the failure of the response by the error that a retrier returned for that failure.
    func fail(with error: AFError)
    /// Calls the handler, after the serialisers of all handlers have run.
    func deliver()
    /// Lets a task that awaits the response run the conclusion of the request; returns false when no task awaits it.
    func wakeForConclusion() -> Bool
}

/// A completion handler that is called on a given queue.
final class CompletionHandler<Response: FailableResponse & Sendable>: ResponseHandler {
    private let make: @Sendable () -> (Response, AFError?)
    private let queue: DispatchQueue
    private let handler: @Sendable (Response) -> Void
    private let response = Mutex<Response?>(nil)

    init(
        queue: DispatchQueue, make: @escaping @Sendable () -> (Response, AFError?),
        handler: @escaping @Sendable (Response) -> Void
    ) {
        self.queue = queue
        self.make = make
        self.handler = handler
    }

    func serialise() -> AFError? {
        let (made, error) = make()
        response.withLock { $0 = made }
        return error
    }

    func fail(with error: AFError) {
        response.withLock { $0 = $0?.failed(with: error) }
    }

    func deliver() {
        guard let response = response.withLock({ $0 }) else { return }
        queue.async { [handler] in handler(response) }
    }

    func wakeForConclusion() -> Bool { false }
}
