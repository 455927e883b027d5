// Proxies.

import Foundation
import Glibc

/// A proxy, or the decision to use no proxy.
public struct Proxy: Sendable, Hashable {
    /// The protocol of a proxy.
    public enum Scheme: String, Sendable, Hashable {
        /// An HTTP proxy; `https` URLs go through it by `CONNECT` (RFC 9110 §9.3.6).
        case http
        /// An HTTP proxy to which the connection uses TLS.
        case https
        /// SOCKS 4: we look names up, and only IPv4 addresses can be reached. The user is sent as the user ID.
        case socks4
        /// SOCKS 4a: the proxy looks names up. The user is sent as the user ID.
        case socks4a
        /// SOCKS 5 (RFC 1928): we look names up.
        case socks5
        /// SOCKS 5: the proxy looks names up.
        case socks5h
    }

    /// The scheme; `nil` in `Proxy.none`.
    let scheme: Scheme?
    /// The proxy's name or address; empty in `Proxy.none`.
    package let host: String
    let port: Int
    let user: String?
    let password: String?
    package var authentication: AuthenticationSchemes
    package var alwaysTunnels: Bool
    package var bypassedHosts: [String]

    /// Makes a proxy at a host and port.
    ///
    /// - Parameters:
    ///   - scheme: the proxy's protocol.
    ///   - host: the proxy's name or address.
    ///   - port: the proxy's port.
    ///   - user: the user, if the proxy requires authentication.
    ///   - password: the user's password.
    ///   - authentication: the schemes for an HTTP proxy. Basic by default: the credentials are sent with the first
    ///     request. With more than one scheme, or with Digest, they are sent only after the proxy's challenge.
    ///   - alwaysTunnels: whether `http` URLs use a tunnel (`CONNECT`) through an HTTP proxy too; false by default.
    ///   - bypassedHosts: hosts and domains to reach directly, as in `no_proxy`.
    public init(
        _ scheme: Scheme = .http, host: String, port: Int, user: String? = nil, password: String? = nil,
        authentication: AuthenticationSchemes = .basic, alwaysTunnels: Bool = false, bypassedHosts: [String] = []
    ) {
        self.init(
            scheme: scheme, host: host, port: port, user: user, password: password, authentication: authentication,
            alwaysTunnels: alwaysTunnels, bypassedHosts: bypassedHosts)
    }

    private init(
        scheme: Scheme?, host: String, port: Int, user: String?, password: String?,
        authentication: AuthenticationSchemes = .basic, alwaysTunnels: Bool = false, bypassedHosts: [String]
    ) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.user = user
        self.password = password
        self.authentication = authentication
        self.alwaysTunnels = alwaysTunnels
        self.bypassedHosts = bypassedHosts
    }

    /// No proxy, whatever the environment says.
    public static let none = Proxy(scheme: nil, host: "", port: 0, user: nil, password: nil, bypassedHosts: [])

    /// Reads a URL such as `http://user:password@host:port` or `socks5://host`; without a scheme, the scheme is `http`.
    ///
    /// `socks` means `socks4`. The result is `nil` if the text is not such a URL, or if its scheme is not a `Scheme`.
    public init?(_ text: String) {
        self.init(text, defaultPort: \.defaultPort)
    }

    /// Reads a proxy in the same way; `defaultPort` returns the port for a text without a port.
    init?(_ text: String, defaultPort: (Scheme) -> Int) {
        let (schemeText, rest) = Self.split(text, at: "://") ?? ("http", Substring(text))
        let name = schemeText.lowercased()
        guard let scheme = Scheme(rawValue: name == "socks" ? "socks4" : name) else { return nil }
        let authority = rest.prefix { $0 != "/" }
        let userinfo = authority.lastIndex(of: "@").map { authority[..<$0] }
        let hostAndPort = userinfo.map { authority[$0.endIndex...].dropFirst() } ?? authority
        guard let (host, port) = Self.hostAndPort(hostAndPort, default: defaultPort(scheme)) else { return nil }
        let credentials = userinfo.map { $0.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) }
        self.init(
            scheme: scheme, host: host, port: port,
            user: credentials?.first.map(Self.decoded), password: credentials?.dropFirst().first.map(Self.decoded),
            bypassedHosts: [])
    }

    /// Decodes percent-encoding; a text with a malformed escape is returned unchanged.
    private static func decoded(_ text: Substring) -> String {
        String(text).removingPercentEncoding ?? String(text)
    }

    /// Returns this proxy with more hosts and domains that are reached directly.
    package func bypassing(_ hosts: [String]) -> Proxy {
        var copy = self
        copy.bypassedHosts += hosts
        return copy
    }

    /// Returns the variables that name the proxy of a URL scheme: the first one that is set counts.
    ///
    /// `HTTP_PROXY` is ignored, because a CGI program gets it from the `Proxy` field of its client's request.
    package static func variableNames(isSecure: Bool) -> [String] {
        (isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]) + ["all_proxy", "ALL_PROXY"]
    }

    /// Whether the environment has a variable that names a proxy.
    package static var isInEnvironment: Bool {
        (variableNames(isSecure: false) + variableNames(isSecure: true)).contains { getenv($0) != nil }
    }

    private static func split(_ text: String, at separator: String) -> (Substring, Substring)? {
        guard let range = text.firstRange(of: separator) else { return nil }
        return (text[..<range.lowerBound], text[range.upperBound...])
    }

    private static func hostAndPort(_ text: Substring, default port: Int) -> (String, Int)? {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            let given = rest.isEmpty ? port : Int(rest.dropFirst())
            return given.map { (String(text[...end]), $0) }
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard let host = parts.first, !host.isEmpty, parts.count <= 2 else { return nil }
        let given = parts.count == 2 ? Int(parts[1]) : port
        return given.flatMap { (1...65535).contains($0) ? (String(host), $0) : nil }
    }
}

extension Proxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The proxy as a URL, without user and password; `no proxy` for `Proxy.none`.
    public var description: String {
        guard let scheme else { return "no proxy" }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return "\(scheme.rawValue)://\(name):\(port)"
    }

    /// The description.
    public var debugDescription: String { description }

    /// No children, so that `dump` does not show the password.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Proxy.Scheme {
    fileprivate var defaultPort: Int {
        switch self {
        case .http: 8080
        case .https: 443
        case .socks4, .socks4a, .socks5, .socks5h: 1080
        }
    }
}
