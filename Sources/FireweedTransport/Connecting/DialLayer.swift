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

    /// Returns the layers of a connection to an origin, from the socket up; a proxy connects to `host` and `port`.
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

    /// Scheme, host and port: the key for remembered nonces of Digest.
    var name: String { "\(scheme?.rawValue ?? "")://\(CanonicalHost.text(of: host)):\(port)" }

    /// A field line that asks HTTP/1.0 proxies to keep the connection, as curl and browsers do.
    static let connectionLine = Array("Proxy-Connection: Keep-Alive\r\n".utf8)

    /// Whether an older proxy announces in `Proxy-Connection` that it closes the connection.
    static func closesConnection(_ head: ResponseHead) -> Bool {
        head.value(of: "Proxy-Connection")?.lowercased().contains("close") ?? false
    }

    /// Whether the proxy speaks HTTP.
    var isHTTP: Bool { scheme == .http || scheme == .https }

    /// Whether the proxy gets messages in clear text in the absolute form, without a tunnel (RFC 9112 §3.2.2).
    var takesAbsoluteForm: Bool { isHTTP && !alwaysTunnels }
}
