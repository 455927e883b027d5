// Waiting for a route in the chain.

import Dispatch
import FireweedTransport
import Foundation

/// Holds messages back while there is no route, for sessions with `waitsForConnectivity`.
///
/// This is the innermost link, since a stored response needs no route.
final class ConnectivityLink: Link {
    private let watch = ConnectivityWatch()
    /// Returns the host of the proxy for a URL; `nil` for a direct connection.
    private let proxyHost: (@Sendable (URL) -> String?)?
    private let clock: any SessionClock

    /// Returns `nil` for a transport over a Unix socket, which needs no route.
    init?(_ options: TransportOptions, clock: any SessionClock = SystemClock()) {
        guard options.unixSocketPath == nil else { return nil }
        proxyHost = options.mayHaveProxy ? { @Sendable url in options.proxyHost(for: url) } : nil
        self.clock = clock
    }

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        let subject = subject(for: exchange.url)
        guard subject.status == .notReachable else { return .pass }
        host.announceWaitForRoute()
        let now = clock.monotonicNanoseconds
        let rest = host.deadlineNanoseconds.map { Duration.nanoseconds($0 > now ? Int64(clamping: $0 - now) : 0) }
        return .deferred(
            DeferredDecision { [watch, clock] resume in
                let number = watch.wait(for: subject, within: rest, by: clock) { isOpen in
                    resume { _ in isOpen ? .pass : .fail(Self.noRoute) }
                }
                return { watch.cancel(number) }
            })
    }

    /// Sends a message that failed without a route again, so that it waits for a route; not when a stored response can
    /// answer.
    func ended(_ outcome: ExchangeOutcome, of exchange: ChainContext, for host: any LinkContext) -> Recovery? {
        // Content that is read while it is sent (a file, pipe or reader) may not be readable a second time, so such a
        // message is not sent again.
        guard case .failed(let failure) = outcome, failure.isOffline, exchange.cacheNote?.staleAnswer == nil,
            subject(for: exchange.url).status == .notReachable, !exchange.message.body.isRead
        else { return nil }
        return .again(exchange.message)
    }

    /// The host that a request to this URL needs a route to: that of the proxy, if the URL has one.
    private func subject(for url: URL) -> RouteSubject {
        let proxyURL = proxyHost?(url).flatMap { URL(string: "http://\($0)/") }
        return .of(proxyURL ?? url)
    }

    private static let noRoute = TransferFailure.exchange(
        .timedOut, detail: "no route came within the time-out", engineCode: 0)
}

extension TransferFailure {
    /// Whether the failure means that the machine is offline.
    var isOffline: Bool {
        if case .exchange(.notConnectedToInternet, _, _) = self { true } else { false }
    }

    /// Returns `notConnectedToInternet` for a `cannotFindHost` failure without a default route; other failures
    /// unchanged.
    ///
    /// A name server's answer that the name is unknown stays: a name server on this machine needs no route. Failures
    /// for names under `invalid` stay too, since such names never exist (RFC 6761 §6.4).
    func refined(for url: URL) -> TransferFailure {
        guard case .exchange(.cannotFindHost, let detail, let code) = self, !isUnknownName,
            let host = url.host.map(CanonicalHost.text), host != "invalid", !host.hasSuffix(".invalid"),
            NetworkModel.current()?.status == .notReachable
        else { return self }
        return .exchange(.notConnectedToInternet, detail: "\(detail) (there is no default route)", engineCode: code)
    }
}
