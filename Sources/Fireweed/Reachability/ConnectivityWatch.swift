// Waiting for a way out.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// Requests that wait for a route, all with one monitor, which runs only while somebody waits.
final class ConnectivityWatch: Sendable {
    private struct Waiter: Sendable {
        let subject: RouteSubject
        let filter: InterfaceFilter
        let completion: @Sendable (Bool) -> Void
        /// Whether a route that is there already counts, or only a change.
        var wantsChange: Bool
    }

    private struct State: Sendable {
        var waiters: [Int: Waiter] = [:]
        var count = 0
        var monitor: NetworkMonitor?
    }

    private let queue = DispatchQueue(label: "org.alamofire.connectivity")
    private let state = Mutex(State())

    /// Calls `completion` once, on a queue of its own: with true when there is a route, with false when there is none
    /// in time.
    ///
    /// Returns what `cancel` takes. `wantsChange` asks for a route that was changed after the call; `filter` says which
    /// interfaces count.
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
            check(isChange: false)  // it may have come while nobody listened
        }
        if let limit { clock.schedule(.delay, after: limit, on: queue) { [self] in finish(number, with: false) } }
        return number
    }

    /// Takes a waiter out; its completion is not called any more.
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
        return waiter
    }
}

extension RouteSubject {
    /// What a request to this URL needs a route to: its host where that is an address, else any destination.
    static func of(_ url: URL) -> RouteSubject {
        guard let host = url.host.map(CanonicalHost.text) else { return RouteSubject(host: nil) }
        if host == "localhost" || host.hasSuffix(".localhost") { return RouteSubject(host: "127.0.0.1") }
        return RouteSubject(host: literal(host) == nil ? nil : host)
    }
}
