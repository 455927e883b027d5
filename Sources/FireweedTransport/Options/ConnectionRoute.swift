// Rules that change the host and port to connect to.

/// A rule that sends connections for some origins to another host and port.
///
/// The request does not change: its `Host` field, the server name in TLS and the name in the certificate are still the
/// URL's. Set a session's rules with `TransportOptions.connectionRoutes`.
public struct ConnectionRoute: Sendable, Hashable {
    /// The URL host to which the rule applies, in any case; IPv6 addresses without brackets.
    ///
    /// `nil` applies to every host.
    public let host: String?
    /// The URL port to which the rule applies.
    ///
    /// `nil` applies to every port.
    public let port: Int?
    /// The host to connect to, a name or an address; IPv6 addresses without brackets.
    ///
    /// `nil` keeps the URL's host.
    public let targetHost: String?
    /// The port to connect to, from 1 to 65,535.
    ///
    /// `nil` keeps the URL's port.
    public let targetPort: Int?

    /// Makes a rule.
    ///
    /// - Parameters:
    ///   - host: the URL host to which the rule applies; `nil` for every host.
    ///   - port: the URL port to which the rule applies; `nil` for every port.
    ///   - targetHost: the host to connect to; `nil` for the URL's host.
    ///   - targetPort: the port to connect to; `nil` for the URL's port.
    public init(host: String? = nil, port: Int? = nil, targetHost: String? = nil, targetPort: Int? = nil) {
        self.host = host
        self.port = port
        self.targetHost = targetHost
        self.targetPort = targetPort
    }

    /// Reads `HOST1:PORT1:HOST2:PORT2`, the format of curl's `--connect-to`.
    ///
    /// A part may be empty, and is then `nil`. IPv6 addresses need brackets. The result is `nil` for any other text.
    public init?(_ text: String) {
        var parts: [String] = []
        var rest = text[...]
        while true {
            let isBracketed = rest.hasPrefix("[")
            guard let end = isBracketed ? rest.firstIndex(of: "]").map(rest.index(after:)) : rest.firstIndex(of: ":")
            else {
                guard !isBracketed else { return nil }
                parts.append(String(rest))
                break
            }
            parts.append(String(isBracketed ? rest[..<end].dropFirst().dropLast() : rest[..<end]))
            guard end < rest.endIndex else { break }
            guard rest[end] == ":" else { return nil }
            rest = rest[rest.index(after: end)...]
        }
        guard parts.count == 4, let port = Self.port(parts[1]), let targetPort = Self.port(parts[3]) else { return nil }
        self.init(
            host: parts[0].isEmpty ? nil : parts[0], port: port, targetHost: parts[2].isEmpty ? nil : parts[2],
            targetPort: targetPort)
    }

    /// Parses a port: `.some(nil)` for an empty text, `nil` for an invalid text.
    private static func port(_ text: String) -> Int?? {
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(text), port > 0 else {
            return nil
        }
        return .some(Int(port))
    }

    /// The rule in the format of curl's `--connect-to`.
    package var text: String {
        let ports = [port, targetPort].map { $0.map(String.init) ?? "" }
        let hosts = [host, targetHost].map { host in
            host.map { $0.contains(":") ? "[\($0)]" : $0 } ?? ""
        }
        return "\(hosts[0]):\(ports[0]):\(hosts[1]):\(ports[1])"
    }
}

extension [ConnectionRoute] {
    /// Returns the host and port to connect to for an origin, by the first route that applies.
    ///
    /// `host` is canonical. `name` is returned instead of it if no route replaces the host. An invalid port in a route
    /// is ignored.
    func place(forHost host: String, lookedUpAs name: String, port: UInt16) -> (host: String, port: UInt16) {
        let route = first { route in
            route.host.map { CanonicalHost.text(of: $0) == host } ?? true && route.port.map { $0 == Int(port) } ?? true
        }
        let targetPort = route?.targetPort.flatMap { UInt16(exactly: $0) } ?? port
        return (route?.targetHost.map { CanonicalHost.identity(of: $0) } ?? name, targetPort)
    }
}

extension TransportOptions {
    /// Returns where connections for an origin lead, as text; `nil` if they lead to the addresses of the URL's host.
    package func detour(fromHost host: String, port: UInt16) -> String? {
        if let unixSocketPath { return "socket \(unixSocketPath)" }
        let place = connectionRoutes.place(forHost: host, lookedUpAs: host, port: port)
        let addresses = CanonicalHost.rule(for: CanonicalHost.text(of: place.host), in: addressOverrides)
        guard addresses != nil || place != (host, port) else { return nil }
        return "\(place.host) \(place.port) \((addresses ?? []).sorted().joined(separator: " "))"
    }
}

/// The versions of the Internet Protocol to connect with.
public enum IPVersion: Sendable, Hashable {
    /// Both: IPv6 starts 250 ms before IPv4 (happy eyeballs, RFC 8305).
    case any
    /// Only IPv4 (RFC 791).
    case v4
    /// Only IPv6 (RFC 8200).
    case v6
}
