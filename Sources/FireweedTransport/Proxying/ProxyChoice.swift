// The choice of the proxy for a message.

package import Foundation
import Glibc

/// Chooses the proxy for a message: from the options, else from the configuration, else from the environment variables,
/// which are read as curl reads them.
struct ProxyChoice {
    /// Returns the value of an environment variable; `nil` if it is not set.
    var variable: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }

    /// Returns the proxy for a message; `nil` if its origin is reached directly.
    ///
    /// Throws `cannotConnectToHost` if a proxy setting cannot be used, since the message would otherwise bypass the
    /// proxy.
    func proxy(for target: RequestTarget, _ options: TransportOptions) throws(TransferFailure) -> Proxy? {
        guard options.unixSocketPath == nil, var proxy = try chosen(for: target, options) else { return nil }
        // A route needs a tunnel to its target: with the absolute form, the proxy would connect to the URL's host.
        if options.connectionRoutes.leadsElsewhere(target) { proxy.alwaysTunnels = true }
        return proxy
    }

    private func chosen(for target: RequestTarget, _ options: TransportOptions) throws(TransferFailure) -> Proxy? {
        if let proxy = options.proxy { return proxy.scheme == nil || proxy.isBypassed(for: target) ? nil : proxy }
        if let configured = options.configuredProxies { return try configured.proxy(for: target) }
        let choice = ProxyChoice { [variable] name in options.proxyVariables[name] ?? variable(name) }
        var proxy = try choice.environmentProxy(for: target)
        if options.tunnelsByVariables { proxy?.alwaysTunnels = true }
        if let schemes = options.authenticationByVariables { proxy?.authentication = schemes }
        return proxy
    }

    /// Returns the proxy in the first variable that is set; `nil` if none is set, or if `no_proxy` contains the host.
    ///
    /// An empty variable is treated as not set. `HTTP_PROXY` is ignored, because a client of a CGI server can set that
    /// variable with the field `Proxy`.
    private func environmentProxy(for target: RequestTarget) throws(TransferFailure) -> Proxy? {
        guard let bypass = first(of: ["no_proxy", "NO_PROXY"]), ProxyBypass(bypass.value).contains(target.host) else {
            guard let found = first(of: Proxy.variableNames(isSecure: target.isSecure)) else { return nil }
            // These are curl's default ports for proxies.
            guard let proxy = Proxy(found.value, defaultPort: { $0 == .https ? 443 : 1080 }) else {
                // The text must not contain the variable's value, which may contain a password.
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

extension [ConnectionRoute] {
    /// Whether routes send connections for an origin to another host or port than the URL's.
    fileprivate func leadsElsewhere(_ target: RequestTarget) -> Bool {
        guard !isEmpty else { return false }
        let (host, port) = (target.canonicalHost, UInt16(truncatingIfNeeded: target.port))
        return place(forHost: host, lookedUpAs: host, port: port) != (host, port)
    }
}

extension ConfiguredProxies {
    /// Returns the proxy for a message; `nil` if its origin is reached directly.
    ///
    /// Throws `cannotConnectToHost` if the proxy cannot be used.
    func proxy(for target: RequestTarget) throws(TransferFailure) -> Proxy? {
        if bypassesSimpleNames, !target.host.contains("."), !target.host.hasPrefix("[") { return nil }
        switch target.isSecure ? secure : clearText {
        case .direct: return nil
        case .proxy(let proxy): return proxy.isBypassed(for: target) ? nil : proxy
        case .unusable(let reason):
            throw .exchange(
                .cannotConnectToHost,
                detail: "the configuration's connectionProxyDictionary names a proxy that cannot be used: \(reason)",
                engineCode: 0)
        }
    }
}

extension Proxy {
    /// Whether the host of a message is reached without this proxy.
    func isBypassed(for target: RequestTarget) -> Bool {
        ProxyBypass(bypassedHosts.joined(separator: ",")).contains(target.host)
    }
}

extension TransportOptions {
    /// Whether messages may need a proxy; false for most sessions, which then skip the choice of a proxy.
    package var mayHaveProxy: Bool {
        proxy != nil || configuredProxies != nil || !proxyVariables.isEmpty || Proxy.isInEnvironment
    }

    /// Returns the host of the proxy for a URL; `nil` for a direct connection, and if the proxy cannot be used.
    package func proxyHost(for url: URL) -> String? {
        try? ProxyChoice().proxy(for: RequestTarget(url.absoluteString), self)?.host
    }

    /// Returns the proxy for a URL as text, without its password; `nil` for a direct connection.
    ///
    /// The text is `unusable` if the proxy cannot be used: messages to the URL fail.
    package func proxyText(for url: URL) -> String? {
        do throws(TransferFailure) {
            let proxy = try ProxyChoice().proxy(for: RequestTarget(url.absoluteString), self)
            return proxy.map { "\($0.scheme?.rawValue ?? "")://\($0.user ?? "")@\($0.host.lowercased()):\($0.port)" }
        } catch {
            return "unusable"
        }
    }
}
