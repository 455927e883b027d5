// Which proxy a message goes through.

import Foundation
import Glibc

/// Chooses proxies: the options' own, else the environment's as curl reads it.
struct ProxyChoice {
    /// Looks up a variable of the environment.
    var variable: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }

    /// The proxy for a message; `nil` when its origin is reached directly.
    ///
    /// A proxy that is named and cannot be understood is an error, `cannotConnectToHost`: without it the message would
    /// go where it was not to go.
    func proxy(for target: RequestTarget, _ options: TransportOptions) throws(TransferFailure) -> Proxy? {
        guard options.unixSocketPath == nil else { return nil }
        guard let proxy = options.proxy else { return try environmentProxy(for: target) }
        guard proxy.scheme != nil else { return nil }
        return ProxyBypass(proxy.bypassedHosts.joined(separator: ",")).contains(target.host) ? nil : proxy
    }

    /// The proxy of the first variable that counts.
    ///
    /// An empty variable is the same as none. `HTTP_PROXY` does not count: a client of a CGI server can set that
    /// variable by the field ``Proxy``.
    private func environmentProxy(for target: RequestTarget) throws(TransferFailure) -> Proxy? {
        guard let bypass = first(of: ["no_proxy", "NO_PROXY"]), ProxyBypass(bypass.value).contains(target.host) else {
            let own = target.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
            guard let found = first(of: own + ["all_proxy", "ALL_PROXY"]) else { return nil }
            // curl's ports for proxies without one.
            guard let proxy = Proxy(found.value, defaultPort: { $0 == .https ? 443 : 1080 }) else {
                // Not the text itself, which may have a password.
                let detail = "the environment variable \(found.name) names no proxy that is understood"
                throw .exchange(.cannotConnectToHost, detail: detail, engineCode: 0)
            }
            return proxy
        }
        return nil
    }

    private func first(of names: [String]) -> (name: String, value: String)? {
        for name in names {
            if let value = variable(name), !value.isEmpty { return (name, value) }
        }
        return nil
    }
}
