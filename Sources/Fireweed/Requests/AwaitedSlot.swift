// A response that tasks wait for.

import Foundation
import Synchronization

/// Where tasks wait for a response.
///
/// Not generic, so that what happens for every request is compiled for what it is.
struct Rendezvous: ~Copyable, Sendable {
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
        // Unsafe: the caller that takes the continuation out of the state resumes it, so that it is resumed once.
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
/// The first waiter also runs the request's conclusion, so that decoding costs no thread hop. Subclasses make the
/// response.
class AwaitedSlot<Response: FailableResponse & Sendable>: ResponseSlot, @unchecked Sendable {
    private let rendezvous = Rendezvous()
    // SAFETY: the request's conclusion writes it, one at a time; it is read only after the rendezvous is open.
    private var response: Response?

    /// Makes the response from the request's outcome.
    func make() -> (Response, AFError?) {
        preconditionFailure("every slot makes its own")
    }

    // Specialised, like what calls it: generic code asks the runtime for a type wherever it copies a response.
    @specialized(where Response == AFDataResponse<Data>)
    final func serialise() -> AFError? {
        let (made, error) = make()
        response = made
        return error
    }

    final func fail(with error: AFError) {
        response = response?.failed(with: error)
    }

    final func deliver() {
        rendezvous.open()
    }

    final func handOver() -> Bool {
        rendezvous.handOver()
    }

    /// Waits for the response; runs the conclusion of the request when it falls to this waiter.
    @specialized(where Response == AFDataResponse<Data>)
    final func response(of request: Request) async -> Response {
        while true {
            if rendezvous.isReady, let response { return response }
            if await rendezvous.wait() == .conclude { request.conclude() }
        }
    }
}

/// A response that a closure makes.
final class ClosureSlot<Response: FailableResponse & Sendable>: AwaitedSlot<Response>, @unchecked Sendable {
    // SAFETY: as for every slot; what is added is constant.
    private let making: @Sendable () -> (Response, AFError?)

    init(make: @escaping @Sendable () -> (Response, AFError?)) {
        making = make
    }

    override func make() -> (Response, AFError?) { making() }
}

/// The response of a data request that one of the library's serialisers makes; without the closures that it would take.
final class SerialisedSlot<Serializer: EvidenceSerializing>: AwaitedSlot<AFDataResponse<Serializer.SerializedObject>>,
    @unchecked Sendable
{
    // SAFETY: as for every slot; what is added is constant.
    private let request: DataRequest
    private let serializer: Serializer

    init(request: DataRequest, serializer: Serializer) {
        self.request = request
        self.serializer = serializer
    }

    override func make() -> (AFDataResponse<Serializer.SerializedObject>, AFError?) {
        request.serialised(by: serializer)
    }
}
