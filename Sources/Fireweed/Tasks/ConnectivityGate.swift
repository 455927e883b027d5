// What `waitsForConnectivity` asks for.

import Dispatch
import FireweedTransport
import Foundation

/// Holds hops back while there is no route; a session without `waitsForConnectivity` has none.
final class ConnectivityGate: Sendable {
    private let watch = ConnectivityWatch()
    /// Where everything goes first, if not to the URL's own host.
    private let proxyHost: String?

    /// `nil` when nobody wants to wait, and when nothing leaves this machine anyway.
    init?(_ options: TransportOptions, isWanted: Bool) {
        guard isWanted, options.unixSocketPath == nil else { return nil }
        proxyHost = options.proxy?.host
    }

    /// What a request to this URL needs a route to.
    func subject(for url: URL) -> RouteSubject {
        let proxyURL = proxyHost.flatMap { $0.isEmpty ? nil : URL(string: "http://\($0)/") }
        return .of(proxyURL ?? url)
    }

    /// True when a request to this URL would find no route now.
    func isClosed(for url: URL) -> Bool {
        subject(for: url).status == .notReachable
    }

    /// Calls `completion` with true when there is a route to go by, with false at the deadline on the monotonic clock.
    func wait(
        for url: URL, deadlineNanoseconds: UInt64?, completion: @escaping @Sendable (Bool) -> Void
    ) -> Int {
        watch.wait(
            for: subject(for: url), until: deadlineNanoseconds.map { DispatchTime(uptimeNanoseconds: $0) },
            completion: completion)
    }

    func cancel(_ number: Int) {
        watch.cancel(number)
    }
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
