// A response that tasks wait for.

import Foundation
import Synchronization

/// The Swift tasks that await one response.
///
/// Not generic, so that the code that runs for every request is not specialised for each type of response.
struct AwaitingTasks: ~Copyable, Sendable {
    /// The reason for which a waiting task is resumed.
    enum Wake: Sendable {
        case ready
        /// An attempt has ended: the waiter runs the request's conclusion, then waits again.
        case runConclusion
    }

    private struct State {
        var isReady = false
        var first: UnsafeContinuation<Wake, Never>?
        var others: [UnsafeContinuation<Wake, Never>] = []
    }

    private let state = Mutex(State())

    var isReady: Bool { state.withLock { $0.isReady } }

    /// Wakes all waiting tasks with `.ready`; later calls of `wait()` return `.ready` at once.
    func wakeAll() {
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

    /// Wakes the first waiter so that it runs the conclusion; returns false when there is no first waiter.
    func wakeForConclusion() -> Bool {
        let waiter = state.withLock { state in
            defer { state.first = nil }
            return state.first
        }
        waiter?.resume(returning: .runConclusion)
        return waiter != nil
    }

    func wait() async -> Wake {
        // An unsafe continuation is safe here: only the code that takes it out of the state resumes it, and does so
        // once.
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

/// A response that Swift tasks await.
///
/// The first waiter also runs the request's conclusion, so that decoding costs no thread hop.
///
/// `Response` need not be `Sendable`: JSON as Foundation's objects is `Any`. Sending it is safe: the request makes the
/// response from content that nothing else refers to, and hands over its last reference to the response.
final class AwaitingHandler<Response: FailableResponse>: ResponseHandler, @unchecked Sendable {
    private let tasks = AwaitingTasks()
    private let make: @Sendable () -> (Response, AFError?)
    // SAFETY: only conclusions write these, and they never overlap; they are read only after the tasks are woken.
    /// The memory of the response: an `Optional` of a generic type looks up its metadata at each access.
    private let made = UnsafeMutablePointer<Response>.allocate(capacity: 1)
    private var isMade = false

    /// `make` makes the response from the request's outcome; a conclusion calls it, once for each outcome.
    init(make: @escaping @Sendable () -> (Response, AFError?)) {
        self.make = make
    }

    deinit {
        if isMade { made.deinitialize(count: 1) }
        made.deallocate()
    }

    // Specialised, like `DataRequest.serialised(by:)` and `DataTask.response`: unspecialised code fetches type metadata
    // whenever it copies a response.
    @specialized(where Response == AFDataResponse<Data>)
    func serialise() -> AFError? {
        let (response, error) = make()
        if isMade { made.pointee = response } else { made.initialize(to: response) }
        isMade = true
        return error
    }

    func fail(with error: AFError) {
        if isMade { made.pointee = made.pointee.failed(with: error) }
    }

    func deliver() {
        tasks.wakeAll()
    }

    func wakeForConclusion() -> Bool {
        tasks.wakeForConclusion()
    }

    /// Waits until the request is finished; runs the request's conclusion when this waiter is chosen for that.
    ///
    /// Decoding runs outside the caller's actor; `response` is read on that actor.
    @concurrent
    func finish(_ request: Request) async {
        while !tasks.isReady {
            if await tasks.wait() == .runConclusion { request.runConclusion() }
        }
    }

    /// The response; may be read only after `finish(_:)` has returned.
    var response: Response {
        precondition(isMade, "a finished request has its response")
        return made.pointee
    }

    /// Returns the value of the response, or throws its error; may be called only after `finish(_:)` has returned.
    func value() throws -> Response.Value {
        precondition(isMade, "a finished request has its response")
        return try made.pointee.outcome()
    }
}
