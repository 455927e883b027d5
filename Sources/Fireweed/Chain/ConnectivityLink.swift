// Waiting for a route in the chain.

import Dispatch
import FireweedTransport
import Foundation

/// Holds messages back while there is no route, for sessions with `waitsForConnectivity`.
///
/// The innermost link: what a store answers needs no route.
struct ConnectivityLink: Link {
    private let watch = ConnectivityWatch()
    /// Where everything goes first, if not to the URL's own host.
    private let proxyHost: String?
    private let clock: any SessionClock

    /// `nil` when nothing leaves this machine anyway.
    init?(_ options: TransportOptions, clock: any SessionClock = SystemClock()) {
        guard options.unixSocketPath == nil else { return nil }
        proxyHost = options.proxy?.host
        self.clock = clock
    }

    func send(_ exchange: inout Exchange, for host: any LinkHost) -> Decision {
        let subject = subject(for: exchange.url)
        guard subject.status == .notReachable else { return .pass }
        host.announceWaitForRoute()
        let now = clock.monotonicNanoseconds
        let rest = host.deadlineNanoseconds.map { Duration.nanoseconds($0 > now ? Int64(clamping: $0 - now) : 0) }
        return .wait(
            Wait { [watch, clock] resume in
                let number = watch.wait(for: subject, within: rest, by: clock) { isOpen in
                    resume { _ in isOpen ? .pass : .fail(Self.noRoute) }
                }
                return { watch.cancel(number) }
            })
    }

    /// A message that found no route is sent again, and waits before it leaves; unless a stored response may answer.
    func recover(from failure: TransferFailure, in exchange: inout Exchange, for host: any LinkHost) -> Decision {
        guard failure.isOffline, exchange.cacheNote?.staleAnswer == nil,
            subject(for: exchange.url).status == .notReachable
        else { return .pass }
        // The content of a reader may have been used up.
        if case .reader = exchange.message.body { return .pass }
        return .again(exchange.message)
    }

    /// What a request to this URL needs a route to.
    private func subject(for url: URL) -> RouteSubject {
        let proxyURL = proxyHost.flatMap { $0.isEmpty ? nil : URL(string: "http://\($0)/") }
        return .of(proxyURL ?? url)
    }

    private static let noRoute = TransferFailure.exchange(
        .timedOut, detail: "no route came within the time-out", engineCode: 0)
}

extension TransferFailure {
    /// Whether the failure says that there was no way out.
    var isOffline: Bool {
        if case .exchange(.notConnectedToInternet, _, _) = self { true } else { false }
    }

    /// The same failure, told as what it is: a name cannot be found when there is no way to a name server.
    ///
    /// Names under `invalid` never exist (RFC 6761 §6.4), whatever the network.
    func refined(for url: URL) -> TransferFailure {
        guard case .exchange(.cannotFindHost, let detail, let code) = self,
            let host = url.host.map(CanonicalHost.text), host != "invalid", !host.hasSuffix(".invalid"),
            NetworkModel.current()?.status == .notReachable
        else { return self }
        return .exchange(.notConnectedToInternet, detail: "\(detail) (there is no default route)", engineCode: code)
    }
}
