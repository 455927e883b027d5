// A response that tasks wait for.

import Synchronization

/// Where tasks wait for a response.
///
/// Not generic, so that what happens for every request is compiled for what it is.
final class Rendezvous: Sendable {
    /// What a waiter is woken for.
    enum Wake: Sendable {
        case ready
        /// The request's outcome is there: run its conclusion, then wait again.
        case conclude
    }

    private struct State {
        var isReady = false
        var first: UnsafeContinuation<Wake, Never>?
        var others: [UnsafeContinuation<Wake, Never>] = []
    }

    private let state = Mutex(State())

    var isReady: Bool { state.withLock { $0.isReady } }

    /// Wakes everyone, now and later, with `.ready`.
    func open() {
        let waiters = state.withLock { state in
            state.isReady = true
            defer {
                state.first = nil
                state.others = []
            }
            return (first: state.first, others: state.others)
        }
        waiters.first?.resume(returning: .ready)
        for waiter in waiters.others { waiter.resume(returning: .ready) }
    }

    /// Gives the conclusion to the first waiter, if there is one.
    func handOver() -> Bool {
        let waiter = state.withLock { state in
            defer { state.first = nil }
            return state.first
        }
        waiter?.resume(returning: .conclude)
        return waiter != nil
    }

    func wait() async -> Wake {
        // Unsafe: resumed once by construction, by whoever takes it out of the state.
        await withUnsafeContinuation { continuation in
            let isReady = state.withLock { state in
                if !state.isReady {
                    if state.first == nil { state.first = continuation } else { state.others.append(continuation) }
                }
                return state.isReady
            }
            if isReady { continuation.resume(returning: .ready) }
        }
    }
}

/// A response that tasks wait for.
///
/// The first waiter also runs the request's conclusion, so that decoding costs no thread hop.
final class AwaitedSlot<Response: Sendable>: ResponseSlot, @unchecked Sendable {
    private let make: @Sendable () -> (Response, AFError?)
    private let rendezvous = Rendezvous()
    // SAFETY: written by the request's conclusion, of which one runs at a time, and read only once the rendezvous is open.
    private var response: Response?

    init(make: @escaping @Sendable () -> (Response, AFError?)) {
        self.make = make
    }

    func serialise() -> AFError? {
        let (made, error) = make()
        response = made
        return error
    }

    func deliver() {
        rendezvous.open()
    }

    func handOver() -> Bool {
        rendezvous.handOver()
    }

    /// Waits for the response; runs the conclusion of the request when it falls to this waiter.
    func response(of request: Request) async -> Response {
        while true {
            if rendezvous.isReady, let response { return response }
            if await rendezvous.wait() == .conclude { request.conclude() }
        }
    }
}
