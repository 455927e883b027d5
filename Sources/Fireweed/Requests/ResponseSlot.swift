// A handler's place in a request: what it serialises, and how it is told.

import Dispatch
import Synchronization
import Foundation

/// The place of one response handler. Serialised once for each outcome, told once.
protocol ResponseSlot: AnyObject, Sendable {
    /// Makes the response from the request's outcome; returns the error in it, which a retrier may be asked about.
    func serialise() -> AFError?
    /// Tells the handler. Every handler of the request has been serialised.
    func deliver()
    /// Gives the conclusion of the request to whoever waits for this slot, if someone does and can run it.
    func handOver() -> Bool
}

/// A completion handler, called on a queue of its own.
final class HandlerSlot<Response: Sendable>: ResponseSlot {
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

    func deliver() {
        guard let response = response.withLock({ $0 }) else { return }
        queue.async { [handler] in handler(response) }
    }

    func handOver() -> Bool { false }
}

/// A response that tasks wait for. The first waiter also runs the request's conclusion, so that decoding costs no thread hop.
final class AwaitedSlot<Response: Sendable>: ResponseSlot {
    /// What a waiter is woken with.
    enum Signal: Sendable {
        case response(Response)
        /// The request's outcome is there: run its conclusion, then wait again.
        case conclude
    }

    private enum State {
        case pending(made: Response?, waiters: [UnsafeContinuation<Signal, Never>])
        case delivered(Response)
    }

    private let make: @Sendable () -> (Response, AFError?)
    private let state = Mutex(State.pending(made: nil, waiters: []))

    init(make: @escaping @Sendable () -> (Response, AFError?)) {
        self.make = make
    }

    func serialise() -> AFError? {
        let (made, error) = make()
        state.withLock { state in
            guard case .pending(_, let waiters) = state else { return }
            state = .pending(made: made, waiters: waiters)
        }
        return error
    }

    func deliver() {
        let (response, waiters) = state.withLock { state -> (Response?, [UnsafeContinuation<Signal, Never>]) in
            guard case .pending(let made?, let waiters) = state else { return (nil, []) }
            state = .delivered(made)
            return (made, waiters)
        }
        guard let response else { return }
        for waiter in waiters { waiter.resume(returning: .response(response)) }
    }

    func handOver() -> Bool {
        let waiter = state.withLock { state -> UnsafeContinuation<Signal, Never>? in
            guard case .pending(let made, var waiters) = state, let waiter = waiters.popLast() else { return nil }
            state = .pending(made: made, waiters: waiters)
            return waiter
        }
        waiter?.resume(returning: .conclude)
        return waiter != nil
    }

    /// Waits for the response; runs the conclusion of the request when it falls to this waiter.
    func response(of request: Request) async -> Response {
        while true {
            if case .delivered(let response) = state.withLock({ $0 }) { return response }
            // Unsafe: resumed once by construction, whoever takes it out of the state.
            let signal = await withUnsafeContinuation { (continuation: UnsafeContinuation<Signal, Never>) in
                let response = state.withLock { state -> Response? in
                    switch state {
                    case .delivered(let response): return response
                    case .pending(let made, let waiters):
                        state = .pending(made: made, waiters: waiters + [continuation])
                        return nil
                    }
                }
                if let response { continuation.resume(returning: .response(response)) }
            }
            switch signal {
            case .response(let response): return response
            case .conclude: request.conclude()
            }
        }
    }
}
