// A handler's place in a request: what it serialises, and how it is told.

import Dispatch
import Foundation
import Synchronization

/// The place of one response handler.
///
/// Serialised once for each outcome, told once.
protocol ResponseSlot: AnyObject, Sendable {
    /// Makes the response from the request's outcome; returns the serialiser's failure, which retriers are asked about.
    func serialise() -> AFError?
    /// Replaces the failure of the response by the error that a retrier gave for it.
    func fail(with error: AFError)
    /// Tells the handler. Every handler of the request has been serialised.
    func deliver()
    /// Gives the conclusion of the request to whoever waits for this slot, if someone does and can run it.
    func handOver() -> Bool
}

/// A completion handler, called on a queue of its own.
final class HandlerSlot<Response: FailableResponse & Sendable>: ResponseSlot {
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

    func handOver() -> Bool { false }
}
