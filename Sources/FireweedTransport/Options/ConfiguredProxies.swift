// The proxies of a `URLSessionConfiguration`.

import Foundation

/// The proxies of a configuration's `connectionProxyDictionary`, with the keys of Apple's CFNetwork.
///
/// A dictionary replaces the environment's proxies: a URL scheme without an HTTP proxy in it uses the SOCKS proxy, if
/// any, or a direct connection. If the proxy for a request cannot be used, the request fails, since a direct connection
/// would bypass the proxy that the user wanted.
package struct ConfiguredProxies: Sendable {
    /// How to reach the hosts of one URL scheme.
    enum Choice {
        case direct
        case proxy(Proxy)
        case unusable(String)
    }

    let clearText: Choice
    let secure: Choice
    /// Whether hosts without a dot in their names are reached directly.
    let bypassesSimpleNames: Bool

    /// Reads a dictionary; `nil` without one.
    package init?(_ dictionary: [AnyHashable: Any]?) {
        guard let dictionary else { return nil }
        let values = ProxyDictionary(dictionary)
        bypassesSimpleNames = values.isSet("ExcludeSimpleHostnames")
        guard !values.isSet("ProxyAutoConfigEnable"), !values.isSet("ProxyAutoDiscoveryEnable") else {
            (clearText, secure) = (.unusable("a script"), .unusable("a script"))
            return
        }
        let socks = Self.choice("SOCKS", .socks5h, defaultPort: 1080, values)
        clearText = Self.choice("HTTP", .http, defaultPort: 80, values) ?? socks ?? .direct
        secure = Self.choice("HTTPS", .http, defaultPort: 443, values) ?? socks ?? .direct
    }

    /// Returns the proxy for a prefix of keys, such as `HTTP` in `HTTPEnable`; `nil` if it is not enabled.
    private static func choice(
        _ prefix: String, _ scheme: Proxy.Scheme, defaultPort: Int, _ values: ProxyDictionary
    ) -> Choice? {
        guard values.isSet(prefix + "Enable") else { return nil }
        guard let host = values.text(prefix + "Proxy"), !host.isEmpty else { return .unusable("it has no host") }
        let port = values.has(prefix + "Port") ? values.number(prefix + "Port") : defaultPort
        guard let port, 1...65535 ~= port else { return .unusable("its port is no number from 1 to 65535") }
        return .proxy(
            Proxy(
                scheme, host: host, port: port, user: values.text("kCFProxyUsernameKey"),
                password: values.text("kCFProxyPasswordKey"), bypassedHosts: values.exceptions))
    }
}

/// The entries of the dictionary, by string keys.
private struct ProxyDictionary {
    private let values: [String: Any]

    init(_ dictionary: [AnyHashable: Any]) {
        var values: [String: Any] = [:]
        for (key, value) in dictionary { values["\(key.base)"] = value }
        self.values = values
    }

    func has(_ key: String) -> Bool { values[key] != nil }

    func text(_ key: String) -> String? {
        switch values[key] {
        case let text as String: text
        case let text as NSString: text as String
        default: nil
        }
    }

    func number(_ key: String) -> Int? {
        switch values[key] {
        case let number as Int: number
        case let number as NSNumber: number.intValue
        case let integer as any BinaryInteger: Int(exactly: integer)
        default: text(key).flatMap { Int($0) }
        }
    }

    /// Whether a value is `true`, or a number other than zero.
    func isSet(_ key: String) -> Bool {
        if let value = values[key] as? Bool { return value }
        return number(key).map { $0 != 0 } ?? false
    }

    /// The hosts to reach directly; `*.example.com` means every name below `example.com`.
    var exceptions: [String] {
        let list = values["ExceptionsList"] as? [Any] ?? []
        return list.map { entry in
            let text = "\(entry)"
            return text.hasPrefix("*.") ? String(text.dropFirst()) : text
        }
    }
}
