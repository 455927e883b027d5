// A request that a limiter holds.

import Foundation
import FoundationNetworking
import Synchronization

/// A request that a limiter holds, or lets through.
struct RateLimitPermit: Sendable {
    let urlRequest: URLRequest
    let request: Request?
    let key: String
    let clock: any SessionClock
    let completion: @Sendable (Result<URLRequest, any Error>) -> Void
    /// Whether the request has already waited in a queue: if so, `maximumWait` no longer applies.
    var hasWaited = false

    /// False for a request that has ended.
    var isWanted: Bool { request.map { !$0.isCancelled && !$0.isFinished } ?? true }

    func proceed() {
        request?.noteRateLimitWait(false)
        completion(.success(urlRequest))
    }

    func fail(_ error: any Error) { completion(.failure(error)) }

    /// Notifies monitors and the observer that the request waits.
    func announce(_ duration: Duration) {
        request?.noteRateLimitWait(true)
        request?.notifyMonitors(.waiting) { $0.request($1, isWaitingForRateLimit: duration) }
        request?.notifyObserver(.waitsForRateLimit(duration))
    }

    /// Calls `body` when the request has ended, on any thread; at once when it has ended already.
    func whenRequestEnds(_ body: @escaping @Sendable () -> Void) {
        guard let request else { return }
        request.mutable.withLock { state in state.withExtras { $0.endings.append(body) } }
        // If the request ended before the closure was added, only this call runs `body`. Calling `body` twice does no
        // harm.
        if !isWanted { body() }
    }
}
