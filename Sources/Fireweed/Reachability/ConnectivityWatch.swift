// Waiting for a route.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// The requests that wait for a route, with one network monitor, which runs only while requests wait.
final class ConnectivityWatch: Sendable {
    private struct Waiter: Sendable {
        let subject: RouteSubject
        let filter: InterfaceFilter
        let completion: @Sendable (Bool) -> Void
        /// Whether the wait ends only after a change of the network, and not with a route that exists already.
        var wantsChange: Bool
        /// The call that ends the wait at its limit; `nil` until it is scheduled, and for a wait without a limit.
        var limit: (any ScheduledCall)?
    }

    private struct State: Sendable {
        var waiters: [Int: Waiter] = [:]
        var count = 0
        var monitor: NetworkMonitor?
    }

    private let queue = DispatchQueue(label: "org.alamofire.connectivity")
    private let state = Mutex(State())

    /// Calls `completion` once, on the watch's queue: with true when there is a route, with false when the limit passes
    /// without a route.
    ///
    /// Returns the number for `cancel`. With `wantsChange`, routes are tested only after a change of the network;
    /// `filter` says which interfaces a route may use.
    func wait(
        for subject: RouteSubject, over filter: InterfaceFilter = .any, within limit: Duration?,
        by clock: any SessionClock, wantsChange: Bool = false,
        completion: @escaping @Sendable (Bool) -> Void
    ) -> Int {
        let number = state.withLock { state in
            state.count += 1
            state.waiters[state.count] = Waiter(
                subject: subject, filter: filter, completion: completion, wantsChange: wantsChange)
            return state.count
        }
        queue.async { [self] in
            startMonitor()
            check(isChange: false)  // the route may have come before the monitor started
            if let limit { end(number, after: limit, by: clock) }
        }
        return number
    }

    /// Ends a wait when its time is over; does nothing for a wait that has ended.
    private func end(_ number: Int, after limit: Duration, by clock: any SessionClock) {
        guard state.withLock({ $0.waiters[number] != nil }) else { return }
        let call = clock.schedule(.delay, after: limit, on: queue) { [self] in finish(number, with: false) }
        let isWaiting = state.withLock { state in
            state.waiters[number]?.limit = call
            return state.waiters[number] != nil
        }
        if !isWaiting { call.cancel() }
    }

    /// Removes a waiter; its completion is not called any more.
    func cancel(_ number: Int) {
        let taken = take(number)
        _ = taken
    }

    private func startMonitor() {
        guard state.withLock({ $0.monitor == nil && !$0.waiters.isEmpty }) else { return }
        let made = NetworkMonitor(queue: queue) { [weak self] in self?.check(isChange: true) }
        state.withLock { $0.monitor = made }
    }

    private func check(isChange: Bool) {
        let waiters = state.withLock { $0.waiters }
        for (number, waiter) in waiters where isChange || !waiter.wantsChange {
            if waiter.subject.isReachable(over: waiter.filter) { finish(number, with: true) }
        }
    }

    private func finish(_ number: Int, with isAvailable: Bool) {
        take(number)?.completion(isAvailable)
    }

    private func take(_ number: Int) -> Waiter? {
        let (waiter, monitor) = state.withLock { state -> (Waiter?, NetworkMonitor?) in
            let waiter = state.waiters.removeValue(forKey: number)
            guard state.waiters.isEmpty else { return (waiter, nil) }
            defer { state.monitor = nil }
            return (waiter, state.monitor)
        }
        _ = monitor  // released outside the lock
        waiter?.limit?.cancel()
        return waiter
    }
}

extension RouteSubject {
    /// Returns what a request to this URL needs a route to: the host if it is an address or `localhost`, else any
    /// destination.
    static func of(_ url: URL) -> RouteSubject {
        guard let host = url.host.map(CanonicalHost.text) else { return RouteSubject(host: nil) }
        if host == "localhost" || host.hasSuffix(".localhost") { return RouteSubject(host: "127.0.0.1") }
        return RouteSubject(host: literal(host) == nil ? nil : host)
    }
}
