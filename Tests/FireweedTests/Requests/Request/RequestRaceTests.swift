import Fireweed
import FixtureServer
import Foundation
import Synchronization
import Testing

@Suite("Request races", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RequestRaceTests {
    let server: FixtureServer

    init() throws {
        server = try FixtureServer.start()
    }

    @Test("resumed by many threads at once, a request is sent once")
    func resumeAtOnce() async throws {
        let session = Session.isolated(startRequestsImmediately: false)
        let request = session.request(server.url("/get"))
        DispatchQueue.concurrentPerform(iterations: 16) { _ in request.resume() }
        #expect(await request.serializingData().response.error == nil)
        #expect(server.requests.count == 1 && request.tasks.count == 1)
    }

    @Test("suspended and resumed while it is being made, a request is sent once; suspended last, never")
    func suspendInTheMaking() async throws {
        let brake = Brake()
        let adapter = Adapter { request, _, completion in brake.hold { completion(.success(request)) } }
        let session = Session.isolated(interceptor: adapter)
        let sent = session.request(server.url("/get")).resume()
        sent.suspend().resume().suspend().resume()
        let held = session.request(server.url("/uuid")).resume()
        held.suspend()
        let cancelled = session.request(server.url("/json")).resume()
        cancelled.cancel()
        brake.release()
        #expect(await sent.serializingData().response.error == nil)
        #expect(await cancelled.serializingData().response.error?.isExplicitlyCancelledError == true)
        #expect(held.isSuspended && held.task?.state == .suspended && cancelled.tasks.isEmpty)
        #expect(server.requests.map(\.path) == ["/get"])
        held.cancel()
        #expect(await held.serializingData().response.error?.isExplicitlyCancelledError == true)
    }

    @Test("cancelled before its turn on the queue of requests, a request asks no adapter")
    func cancelBeforeMaking() async throws {
        let asked = ProtectedList<Int>()
        let adapter = Adapter { request, _, completion in
            asked.append(0)
            completion(.success(request))
        }
        let queue = DispatchQueue(label: "requests")
        let session = Session(configuration: .af.ephemeral, requestQueue: queue, interceptor: adapter)
        queue.suspend()
        let request = session.request(server.url("/get"))
        let task = request.serializingData()
        request.resume().cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
        queue.resume()
        queue.sync {}
        #expect(asked.all.isEmpty && request.requests.isEmpty)
    }

    @Test("cancelled when the task has completed and the request has not, it ends as cancelled, once")
    func cancelAfterTask() async throws {
        let calls = ProtectedList<Int>()
        let session = Session.isolated(interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let request = session.request(server.url("/get")).validate { [calls] _, _, _ in
            calls.append(0)
            return .success(())
        }
        let inValidation = Gate()
        request.validate { _, _, _ in
            inValidation.pass()
            return .success(())
        }
        inValidation.onPass { request.cancel() }
        let response = await request.serializingData().response
        #expect(response.error?.isExplicitlyCancelledError == true && request.isCancelled && calls.all == [0])
        #expect(request.retryCount == 0 && request.response?.statusCode == 200)
    }

    @Test("cancelled while the retrier is asked, a request is not retried")
    func cancelInRetrier() async throws {
        let retrier = Retrier { request, _, _, completion in
            request.cancel()
            completion(.retry)
        }
        let session = Session.isolated(interceptor: retrier)
        let request = session.request(server.url("/status/503")).validate()
        let response = await request.serializingData().response
        // The retrier might have changed the outcome: the cancel is the cause.
        #expect(response.error?.isExplicitlyCancelledError == true && request.isCancelled && request.retryCount == 0)
        #expect(server.requests.count == 1)
    }

    @Test(
        "a session that goes while a retry waits, or the retrier is asked, ends the request", arguments: [true, false])
    func sessionGoesInRetry(isGranted: Bool) async throws {
        let asked = Gate()
        let pending = Mutex<(@Sendable (RetryResult) -> Void)?>(nil)
        let retrier = Retrier { _, _, _, completion in
            if isGranted { completion(.retryWithDelay(3600)) } else { pending.withLock { $0 = completion } }
            asked.pass()
        }
        var session: Session? = .isolated(interceptor: retrier)
        let kept = isGranted ? nil : session
        let request = try #require(session?.request(server.url("/status/503")).validate())
        let task = request.serializingData()
        await asked.passed()
        session = nil
        // The question to a retrier holds the session: that one is invalidated.
        kept?.invalidate()
        pending.withLock { $0 }?(.retryWithDelay(3600))
        let error = await task.response.error
        #expect((error?.isSessionDeinitializedError == true) == isGranted)
        #expect((error?.isSessionInvalidatedError == true) == !isGranted, "\(String(describing: error))")
    }

    @Test("an invalidated session ends held and dormant requests too, with its error")
    func invalidation() async throws {
        let session = Session.isolated(startRequestsImmediately: false)
        // Not answered before the suspension, however late that comes.
        let held = session.request(server.url("/delay/60")).resume().suspend()
        let dormant = session.request(server.url("/get"))
        let tasks = [held.serializingData(), dormant.serializingData()]
        session.invalidate(with: URLError(.cancelled))
        for task in tasks {
            guard case .sessionInvalidated(let cause as URLError) = await task.response.error else {
                Issue.record("another error")
                continue
            }
            #expect(cause.code == .cancelled)
        }
    }

    @Test("handlers added before, while and after a request ends are called in their order, on their queue")
    func handlersInOrder() async throws {
        let session = Session.isolated()
        for _ in 0..<60 {
            let queue = DispatchQueue(label: "handlers")
            let (called, count) = (ProtectedList<Int>(), 40)
            let request = session.request(server.url("/small"))
            await withCheckedContinuation { continuation in
                for number in 0..<count {
                    request.responseData(queue: queue) { _ in
                        dispatchPrecondition(condition: .onQueue(queue))
                        called.append(number)
                        if number == count - 1 { continuation.resume() }
                    }
                    // Some at once, some while it runs, some when it has ended.
                    if number % 8 == 7 { sched_yield() }
                }
            }
            #expect(called.all == Array(0..<count))
        }
    }

    @Test("a handler that is added in the last callback is called, and finds the stored outcome")
    func handlerInHandler() async throws {
        let session = Session.isolated()
        let request = session.request(server.url("/uuid"))
        let (first, second) = await withCheckedContinuation { continuation in
            request.responseString(queue: .global()) { outer in
                request.responseString(queue: .global()) { inner in
                    continuation.resume(returning: (outer.value, inner.value))
                }
            }
        }
        #expect(first != nil && first == second && server.requests.count == 1)
        #expect(try await becomes { request.isFinished })
    }

    @Test("a handler on a held request lets it go on")
    func handlerResumes() async throws {
        let session = Session.isolated()
        let request = session.request(server.url("/get")).suspend()
        #expect(request.isSuspended)
        #expect(await request.serializingData().response.error == nil)
    }

    @Test("suspended and resumed by many threads at once, and resumed last, a request continues to its end")
    func suspendAndResumeAtOnce() async throws {
        let session = Session.isolated()
        for _ in 0..<100 {
            let request = session.request(server.url("/small"))
            DispatchQueue.concurrentPerform(iterations: 4) { number in
                for _ in 0..<10 {
                    if number % 2 == 0 { request.suspend() } else { request.resume() }
                }
            }
            request.resume()
            #expect(await request.serializingData().response.error == nil)
        }
    }

    @Test("nothing changes a finished request")
    func finished() async throws {
        let session = Session.isolated()
        let request = session.request(server.url("/get"))
        _ = await request.serializingData().response
        request.cancel().suspend().resume()
        #expect(request.isFinished && request.error == nil && request.tasks.count == 1)
        #expect(await request.serializingData().response.error == nil)
    }
}

/// A place that code passes once, and tests that wait for it.
private final class Gate: Sendable {
    private struct State {
        var hasPassed = false
        var actions: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    func pass() {
        let actions = state.withLock { state in
            state.hasPassed = true
            defer { state.actions = [] }
            return state.actions
        }
        for action in actions { action() }
    }

    /// Calls `action` on the thread that passes, or at once.
    func onPass(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if !state.hasPassed { state.actions.append(action) }
            return state.hasPassed
        }
        if isLate { action() }
    }

    func passed() async {
        await withCheckedContinuation { continuation in onPass { continuation.resume() } }
    }
}

/// Holds closures back until it is told to let them go.
private final class Brake: Sendable {
    private let gate = Gate()

    func hold(_ action: @escaping @Sendable () -> Void) { gate.onPass(action) }
    func release() { gate.pass() }
}
