// The orderly end of a session.

import Dispatch
import FireweedTransport
public import Foundation
import Synchronization

/// The numbers of requests that finished and that were cancelled while a session was drained.
public struct DrainReport: Sendable, Hashable {
    /// The number of requests that ended on their own, with success or with an error; includes closed WebSockets.
    public let finished: Int
    /// The number of requests that the drain ended: at the limit, or while they waited for a rate limit or a
    /// reconnection.
    public let cancelled: Int

    /// Makes a report from its numbers.
    ///
    /// - Parameters:
    ///   - finished: the requests that ended on their own.
    ///   - cancelled: the requests that the drain ended.
    public init(finished: Int, cancelled: Int) {
        self.finished = finished
        self.cancelled = cancelled
    }
}

/// Why a session that is drained ends a request; inside `AFError.sessionInvalidated(error:)`.
public enum SessionDrainError: Error, Sendable, Hashable {
    /// The session begins no more requests.
    case draining
    /// The request had not ended within the limit of the drain.
    case limitReached
}

extension SessionDrainError: CustomStringConvertible, LocalizedError {
    /// A sentence that says why the request was ended.
    public var description: String {
        switch self {
        case .draining: "the session is shutting down and begins no more requests"
        case .limitReached: "the session has shut down before the request ended"
        }
    }

    /// The description.
    public var errorDescription: String? { description }
}

extension Session {
    /// Shuts the session down gracefully: lets requests that have begun end within a limit, and begins no others.
    ///
    /// From the call on:
    /// - Other requests fail with ``SessionDrainError/draining`` in `AFError.sessionInvalidated(error:)`, also those
    ///   that were made before and not resumed. So do requests that a ``RateLimiter`` delays before their first
    ///   attempt, and sources of server-sent events that wait to reconnect.
    /// - Requests that have begun continue, with their retries and redirects, until their handlers are on their queues.
    ///   Sources of server-sent events do not reconnect.
    /// - WebSockets are closed with the code 1001; those that are not open yet are cancelled.
    /// - Idle connections are closed, and so are connections that become idle later. Background revalidations of stored
    ///   responses are cancelled.
    ///
    /// At the limit the remaining requests fail with ``SessionDrainError/limitReached``; their handlers may be called
    /// after the return. Then the method waits until responses are stored (``flushResponseStore()``), for the rest of
    /// the limit but for at least one second, and invalidates the session. The session's clock measures the limit.
    ///
    /// Handlers of other requests are on their queues before the return, and may still run then. Requests that an
    /// interceptor makes with the drained session, for instance to refresh a token, are refused like others: an
    /// ``Authenticator`` needs its own session for them.
    ///
    /// Safe from every thread. A second call ignores its own limit, waits for the first call, and returns the same
    /// report. When a task that waits in this method is cancelled, the wait for requests ends as at the limit.
    ///
    /// - Parameter limit: the longest time that requests may take; zero or less cancels them immediately.
    /// - Returns: how many requests ended on their own, and how many the drain ended.
    @discardableResult
    public func drain(within limit: Duration) async -> DrainReport {
        await withTaskCancellationHandler {
            guard core.registry.beginDrain() else { return await core.registry.drainReport() }
            return await performDrain(within: limit)
        } onCancel: {
            core.registry.reachDrainLimit()
        }
    }

    /// Whether ``drain(within:)`` was called; stays true after its end.
    public var isDraining: Bool { core.registry.isDraining }

    /// The number of requests that have begun, and whose handlers have not been called.
    public var activeRequestCount: Int { core.registry.activeCount }

    private func performDrain(within limit: Duration) async -> DrainReport {
        let registry = core.registry
        let start = core.clock.monotonicNanoseconds
        var timer: (any ScheduledCall)?
        if limit > .zero {
            timer = core.clock.schedule(.limit, after: limit, on: DispatchQueue.global()) {
                registry.reachDrainLimit()
            }
        } else {
            registry.reachDrainLimit()
        }
        core.endWhatNeedNotFinish()
        await registry.waitForRequests()
        timer?.cancel()
        let error = AFError.sessionInvalidated(error: SessionDrainError.limitReached)
        for request in registry.closeDrain() { request.abort(error) }
        let elapsed = Duration.nanoseconds(Int64(clamping: core.clock.monotonicNanoseconds &- start))
        await storeResponses(within: max(limit - elapsed, Self.leastTimeToStore))
        core.invalidate(.sessionDraining)
        return registry.finishDrain()
    }

    /// The minimum time that a drain waits for the store, even if the requests have used up the limit.
    private static let leastTimeToStore = Duration.seconds(1)

    /// Waits until responses are stored, but no longer than `limit`.
    ///
    /// A store over a network may not answer. After the task is cancelled, the wait lasts at most one second.
    private func storeResponses(within limit: Duration) async {
        guard let cache = core.cache else { return }
        let (ends, end) = AsyncStream<Void>.makeStream()
        cache.flush { end.finish() }
        let timer = core.clock.schedule(.limit, after: limit, on: DispatchQueue.global()) { end.finish() }
        await withTaskCancellationHandler {
            // A new task is needed, since the iteration would end immediately in a cancelled task.
            await Task { for await _ in ends {} }.value
        } onCancel: {
            _ = core.clock.schedule(.limit, after: Self.leastTimeToStore, on: DispatchQueue.global()) { end.finish() }
        }
        timer.cancel()
    }
}

extension SessionCore {
    /// Closes or ends all work that a drain does not wait for: idle connections, WebSockets, and requests that are held
    /// back.
    fileprivate func endWhatNeedNotFinish() {
        let (active, dormant, validations) = registry.requestsToDrain()
        for request in dormant { request.abort(.sessionDraining) }
        for request in active {
            if let socket = request as? WebSocketRequest, socket.isOpenOrClosed {
                socket.close(sendingCode: .goingAway)
            } else if request is WebSocketRequest || request.isHeldBack {
                refuse(request)
            }
        }
        for attempt in validations { attempt.cancel() }
        transport.closeIdleConnections()
    }

    /// Ends a request that a drain does not wait for.
    func refuse(_ request: Request) {
        registry.cancelForDrain(request)
        request.abort(.sessionDraining)
    }

    /// Releases a request that has ended; `deliver` calls its handlers.
    func release(_ request: Request, afterDelivery deliver: () -> Void) {
        let isAwaited = registry.remove(request)
        deliver()
        guard isAwaited else { return }
        // The request's connection may be idle now, and a drain closes idle connections.
        transport.closeIdleConnections()
        registry.noteDelivered()
    }
}

extension Request {
    /// Whether a drain ends the request instead of waiting: the request was never resumed, or waits for a rate limit
    /// before its first attempt, or for a reconnection.
    var isHeldBack: Bool {
        mutable.withLock { state in
            switch (state.lifecycle.intent, state.lifecycle.work) {
            case (.initialized, _): true
            case (_, .making): state.attempts.isEmpty && state.extras?.awaitsRateLimit == true
            case (_, .awaitingRetry): state.extras?.reconnects == true
            case (_, .idle), (_, .transferring), (_, .validating), (_, .serialising), (_, .done): false
            }
        }
    }

    /// Notes whether the request waits for a rate limit; a drain ends a request that does so before its first attempt.
    func noteRateLimitWait(_ waits: Bool) {
        guard waits else { return mutable.withLock { $0.extras?.awaitsRateLimit = false } }
        mutable.withLock { state in state.withExtras { $0.awaitsRateLimit = true } }
        if core.registry.isDraining, isHeldBack { core.refuse(self) }
    }
}

extension WebSocketRequest {
    fileprivate var isOpenOrClosed: Bool {
        let (channel, isClosed) = receiver.connection
        return channel != nil || isClosed
    }
}

extension AFError {
    /// The error of a request that a drained session does not begin.
    static var sessionDraining: AFError { .sessionInvalidated(error: SessionDrainError.draining) }
}
