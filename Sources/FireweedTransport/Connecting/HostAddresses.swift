// Addresses of hosts that need no look-up.

import Glibc

/// The addresses of a host that are known without the name service.
enum HostAddresses {
    /// Returns the addresses of a host that needs no look-up; `nil` for a name that must be looked up.
    ///
    /// These are the addresses that `overrides`, from the options, has for the host; else the host itself if it is an
    /// address; else the loopback addresses for `localhost` (RFC 6761 §6.3). The list is empty for `.onion` names (RFC
    /// 7686 §2), and if all addresses in `overrides` are invalid.
    static func known(of host: String, overrides: [String: [String]]) -> [SocketAddress]? {
        if let texts = CanonicalHost.rule(for: host, in: overrides), !texts.isEmpty {
            return texts.compactMap { address(of: $0) }
        }
        let host = CanonicalHost.text(of: host)
        if let address = address(of: host) { return [address] }
        if host == "localhost" || host.hasSuffix(".localhost") { return loopback }
        return host == "onion" || host.hasSuffix(".onion") ? [] : nil
    }

    private static let loopback: [SocketAddress] = ["::1", "127.0.0.1"].compactMap { address(of: $0) }

    /// Reads an address, with a zone for IPv6 (RFC 4007 §11); `nil` for other texts and unknown zones.
    static func address(of text: String) -> SocketAddress? {
        let halves = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = halves.first, let address = IPAddress(String(first)) else { return nil }
        guard halves.count == 2 else { return .internet(address, port: 0) }
        let zone = String(halves[1])
        guard let scope = UInt32(zone) ?? Optional(if_nametoindex(zone)), scope > 0 else { return nil }
        return .internet(address, port: 0, scope: scope)
    }
}
