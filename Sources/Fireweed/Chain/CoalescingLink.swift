// Equal requests in the chain (RFC 9111 §4).

import Dispatch
import FireweedTransport
import Foundation

/// Sends the first of several equal requests, and lets the others wait until its response is stored.
///
/// This link is outside the cache's link: after the wait, the cache's link answers the request.
final class CoalescingLink: Link {
    let fetches: CoalescedFetches
    let cache: ResponseCache

    init(fetches: CoalescedFetches, cache: ResponseCache) {
        self.fetches = fetches
        self.cache = cache
    }

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        guard exchange.webSocket == nil, case .byRules = exchange.cacheUse else { return .pass }
        guard cache.scope.clientIdentity(for: exchange.url) != nil else { return enter(&exchange, for: host) }
        // Reading the file of a client identity may block on a disk, so the work is done on the cache's queue.
        return .deferred(on: cache.queue) { [self] in enter(&$0, for: host) }
    }

    private func enter(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        let query = CacheQuery(exchange, policy: host.cachePolicy, in: cache)
        guard let key = CoalescedFetches.Key(query, idleTimeout: host.idleTimeout) else { return .pass }
        switch fetches.enter(key, mayLead: host.storingPolicy.mayLead) {
        case .leads(let lead): exchange.lead = lead
        case .waits(let follower): return wait(follower, key, in: &exchange, for: host)
        case .alone: break
        }
        return .pass
    }

    /// Waits for the response to an equal request.
    private func wait(
        _ follower: FetchFollower, _ key: CoalescedFetches.Key, in exchange: inout ChainContext,
        for host: any LinkContext
    ) -> Decision {
        let wait = exchange.fetchWait ?? FetchWait(of: host, by: cache.clock)
        exchange.fetchWait = wait
        return .deferred(
            DeferredDecision { [self, cache, fetches] resume in
                let call = wait.limit.map { limit in
                    cache.clock.schedule(.limit, after: limit.rest(by: cache.clock), on: cache.queue) {
                        follower.resolve(limit.outcome)
                    }
                }
                follower.wait { outcome in
                    call?.cancel()
                    fetches.leave(key, follower)
                    cache.queue.async { resume { self.decision(after: outcome, &$0, for: host) } }
                }
                return {
                    call?.cancel()
                    follower.cancel()
                    fetches.leave(key, follower)
                }
            })
    }

    private func decision(
        after outcome: FetchOutcome, _ exchange: inout ChainContext, for host: any LinkContext
    ) -> Decision {
        switch outcome {
        case .stored, .unshared: break
        case .handedOver: return enter(&exchange, for: host)
        case .stale: exchange.originFailure = .status
        case .failed(let failure): exchange.originFailure = .transfer(failure)
        case .outOfTime:
            exchange.isUnsent = true
            let detail = "an equal request was not answered within the time-out"
            return .fail(.exchange(.timedOut, detail: detail, engineCode: 0))
        }
        return .pass
    }
}

/// The failure of the origin for an equal request.
enum OriginFailure: Sendable {
    /// The origin answered with an error; a stale response may be used instead (RFC 5861 §4).
    case status
    case transfer(TransferFailure)
}

/// The start and the limit of a request's wait for equal requests, in this process and in others.
struct FetchWait: Sendable {
    struct Limit: Sendable {
        /// The end of the wait, on the clock of the session.
        let nanoseconds: UInt64
        /// The outcome of the wait when the limit is reached.
        let outcome: FetchOutcome

        func rest(by clock: any SessionClock) -> Duration {
            .nanoseconds(Int64(clamping: nanoseconds - min(nanoseconds, clock.monotonicNanoseconds)))
        }
    }

    /// The start of the wait, in nanoseconds of the system's monotonic clock.
    let start = StoredPlayback.nanoseconds
    /// `nil` when the time is not limited.
    let limit: Limit?

    /// Starts a wait that ends at the request's deadline or after its idle time-out, whichever comes first.
    init(of host: any LinkContext, by clock: any SessionClock) {
        let deadline = host.deadlineNanoseconds.map { Limit(nanoseconds: $0, outcome: .outOfTime) }
        guard host.idleTimeout > 0, host.idleTimeout < 1e9 else {
            limit = deadline
            return
        }
        let idle = clock.monotonicNanoseconds &+ Duration.seconds(host.idleTimeout).nanosecondCount
        limit =
            if let deadline, deadline.nanoseconds <= idle { deadline } else {
                Limit(nanoseconds: idle, outcome: .unshared)
            }
    }
}
