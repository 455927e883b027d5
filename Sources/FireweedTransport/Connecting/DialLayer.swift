// The layers above a connected socket.

/// One layer of a connection, from the socket up.
enum DialLayer: Hashable {
    /// TLS with the proxy.
    case proxyTLS(Proxy)
    /// A tunnel that an HTTP proxy makes to a host and port (CONNECT).
    case connect(Proxy, host: String, port: UInt16)
    /// A tunnel that a SOCKS proxy makes.
    case socks(Proxy, Proxy.Scheme, host: String, port: UInt16)
    /// TLS with the origin.
    case originTLS(OriginKey)

    /// The layers of a connection to an origin, which is asked of a proxy under this host and port.
    static func layers(to key: OriginKey, host: String, port: UInt16, tunnelsClearText: Bool = false) -> [DialLayer] {
        var layers: [DialLayer] = []
        if let proxy = key.proxy, let scheme = proxy.scheme {
            switch scheme {
            case .http, .https:
                if scheme == .https { layers.append(.proxyTLS(proxy)) }
                if key.isSecure || tunnelsClearText || proxy.alwaysTunnels {
                    layers.append(.connect(proxy, host: host, port: port))
                }
            case .socks4, .socks4a, .socks5, .socks5h:
                layers.append(.socks(proxy, scheme, host: host, port: port))
            }
        }
        return key.isSecure ? layers + [.originTLS(key)] : layers
    }
}

extension Proxy {
    /// The credentials for an HTTP proxy.
    var credentials: RequestMessage.Credentials? {
        user.map { RequestMessage.Credentials(user: $0, password: password ?? "", schemes: authentication) }
    }

    /// Scheme, host and port, by which nonces of Digest are remembered.
    var name: String { "\(scheme?.rawValue ?? "")://\(CanonicalHost.text(of: host)):\(port)" }

    /// Asks HTTP proxies of HTTP/1.0 to keep the connection, as curl and browsers do.
    static let connectionLine = Array("Proxy-Connection: Keep-Alive\r\n".utf8)

    /// Whether older proxies say in a field of their own that they close.
    static func closesConnection(_ head: ResponseHead) -> Bool {
        head.value(of: "Proxy-Connection")?.lowercased().contains("close") ?? false
    }

    /// Whether it speaks HTTP.
    var isHTTP: Bool { scheme == .http || scheme == .https }

    /// Whether messages in clear text are told to it in the absolute form (RFC 9112 §3.2.2).
    var takesAbsoluteForm: Bool { isHTTP && !alwaysTunnels }
}
