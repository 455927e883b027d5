// The addresses of an origin's host, as far as we look them up.

/// Addresses that libcurl is told, so that it looks nothing up.
final class OriginAddresses {
    /// In lower case.
    let host: String
    private let port: Int
    /// libcurl's form of the addresses; `nil` while they are not known, or libcurl looks them up.
    private(set) var entry: String?
    /// Grows with each change of `entry`.
    private(set) var version = 0
    /// Until when no look-up is needed.
    var expiry: LoopInstant = 0

    /// libcurl forgets an entry after 60 s.
    private static let lifetime: LoopInstant = 55_000_000_000

    /// `nil` for an origin whose host is an address, or is looked up by libcurl, by a proxy or by nobody.
    init?(origin: String, options: TransportOptions) {
        guard options.unixSocketPath == nil, options.ipVersion == .any, options.connectionRoutes.isEmpty,
            options.proxy.map({ $0.scheme == nil }) ?? !Proxy.isInEnvironment,
            let start = origin.firstIndex(of: ":"), origin[start...].hasPrefix("://")
        else { return nil }
        let authority = origin[origin.index(start, offsetBy: 3)...]
        let place = authority[
            (authority.lastIndex(of: "@").map { authority.index(after: $0) } ?? authority.startIndex)...]
        let parts = place.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first?.lowercased(), Self.isLookedUp(name),
            CanonicalHost.rule(for: name, in: options.addressOverrides) == nil
        else {
            return nil
        }
        let usual = origin.hasBytePrefix("https:") ? 443 : 80
        guard let port = parts.count == 2 && !parts[1].isEmpty ? Int(parts[1]) : usual else { return nil }
        host = name
        self.port = port
    }

    /// Takes the addresses over.
    func note(_ addresses: [String]?, at now: LoopInstant) {
        // The plus sign lets the entry grow old.
        entry = addresses.map { "+\(host):\(port):\($0.joined(separator: ","))" }
        version &+= 1
        expiry = now + Self.lifetime
    }

    /// Whether a host is a name that the system looks up: no address in any form (inet_aton(3)), and none of the names
    /// that libcurl treats in a way of its own (RFC 6761 §6.3, RFC 7686).
    private static func isLookedUp(_ host: String) -> Bool {
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x25 && $0 != 0x5B }),
            let last = host.split(separator: ".", omittingEmptySubsequences: false).last, let first = last.utf8.first
        else { return false }
        return !(0x30...0x39).contains(first) && last != "localhost" && last != "onion"
    }
}
