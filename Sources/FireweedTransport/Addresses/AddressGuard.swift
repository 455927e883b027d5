// The addresses that a session may connect to.

/// Refuses connections by IP address, after the name look-up.
///
/// For programs that fetch URLs from untrusted sources (SSRF): the host of such a URL may be a machine that only this
/// program can reach. The guard checks each address just before a connection to it is opened, also after a redirect, so
/// that a name server that changes its answer (DNS rebinding) gains nothing. A refusal fails the transfer with
/// `TransferRefusal.address`, inside `URLError.resourceUnavailable`.
///
/// With a proxy, the guard checks the proxy's address, so a private address of a proxy has to be in `exceptions`. An
/// HTTP proxy decides itself where it connects. For a SOCKS proxy, the origin's address is checked too, and a proxy
/// that looks names up itself is refused. Unix-domain sockets are not checked.
///
/// ```swift
/// var options = TransportOptions()
/// options.addressGuard = .publicOnly
/// ```
public struct AddressGuard: Sendable, Hashable {
    /// The networks that are refused.
    public var refused: [IPNetwork]
    /// The networks that are allowed although `refused` covers them.
    public var exceptions: [IPNetwork]

    /// Makes a guard.
    ///
    /// - Parameters:
    ///   - refused: the networks that are refused.
    ///   - exceptions: networks that are allowed although `refused` covers them; none by default.
    public init(refusing refused: [IPNetwork], except exceptions: [IPNetwork] = []) {
        self.refused = refused
        self.exceptions = exceptions
    }

    /// Refuses nothing.
    public static let none = AddressGuard(refusing: [])

    /// Refuses all addresses outside the public Internet: loopback, private, link-local, shared, multicast and reserved
    /// addresses.
    public static let publicOnly = AddressGuard(refusing: specialNetworks)

    /// Refuses all addresses outside the public Internet, apart from `exceptions`.
    public static func publicOnly(except exceptions: [IPNetwork]) -> AddressGuard {
        AddressGuard(refusing: specialNetworks, except: exceptions)
    }

    /// Whether a connection to an address may be opened.
    ///
    /// An IPv6 address with an IPv4 address in it is refused if either address is; an exception for either one allows
    /// it.
    public func allows(_ address: IPAddress) -> Bool {
        if refused.isEmpty || exceptions.contains(where: { $0.contains(address) }) { return true }
        if let embedded = address.embedded {
            if exceptions.contains(where: { $0.contains(embedded) }) { return true }
            if refused.contains(where: { $0.contains(embedded) }) { return false }
        }
        return !refused.contains { $0.contains(address) }
    }

    /// The special-purpose addresses of IANA's registries (RFC 6890 and later additions), and multicast.
    private static let specialNetworks: [IPNetwork] = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32",
        "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    ].compactMap { IPNetwork($0) }
}
