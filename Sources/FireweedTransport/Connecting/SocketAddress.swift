// Addresses of sockets: of the peer, and of the local end.

import Glibc

/// The family of an internet address, in the order in which RFC 8305 §4 prefers them.
enum AddressFamily: Sendable, Hashable, CaseIterable {
    case ipv6, ipv4

    /// The number of the family for socket(2) and getaddrinfo(3).
    var number: Int32 { self == .ipv6 ? AF_INET6 : AF_INET }

    /// The other family.
    var other: AddressFamily { self == .ipv6 ? .ipv4 : .ipv6 }
}

/// The address of a socket: an internet address with a port, or the path of a Unix-domain socket.
enum SocketAddress: Sendable, Hashable {
    /// `scope` is the number of the interface for a link-local IPv6 address (RFC 4007 §6), otherwise 0.
    case internet(IPAddress, port: UInt16, scope: UInt32 = 0)
    case path(String)

    /// The longest path that fits into an address, in bytes, without its final NUL (unix(7)).
    static let longestPath = 107

    /// Reads a socket address of the kernel or of getaddrinfo(3); `nil` for families other than IPv4 and IPv6.
    init?(_ address: UnsafePointer<sockaddr>) {
        guard let host = IPAddress(address) else { return nil }
        let start = UnsafeRawPointer(address)
        // Both families have the port at the same place, in network order.
        let port = UInt16(bigEndian: start.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        let scopeOffset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_scope_id) ?? 24
        let scope = host.bytes.count == 16 ? start.loadUnaligned(fromByteOffset: scopeOffset, as: UInt32.self) : 0
        self = .internet(host, port: port, scope: scope)
    }

    /// The family, or `nil` for a path.
    var family: AddressFamily? {
        guard case .internet(let address, _, _) = self else { return nil }
        return address.bytes.count == 16 ? .ipv6 : .ipv4
    }

    /// The number of the address family for socket(2), AF_UNIX for a path.
    var familyNumber: Int32 { family?.number ?? AF_UNIX }

    /// The same address with another port; a path stays as it is.
    func with(port: UInt16) -> SocketAddress {
        guard case .internet(let address, _, let scope) = self else { return self }
        return .internet(address, port: port, scope: scope)
    }

    /// Calls `body` with the address as the kernel's structure.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        switch self {
        case .internet(let address, let port, let scope):
            return address.bytes.count == 16
                ? Self.call(Self.ipv6(address.bytes, port, scope), MemoryLayout<sockaddr_in6>.size, body)
                : Self.call(Self.ipv4(address.bytes, port), MemoryLayout<sockaddr_in>.size, body)
        case .path(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.checkedCopy(from: path.utf8.prefix(Self.longestPath)) }
            return Self.call(address, MemoryLayout<sockaddr_un>.size, body)
        }
    }

    private static func ipv4(_ bytes: [UInt8], _ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin_addr) { $0.checkedCopy(from: bytes) }
        return address
    }

    private static func ipv6(_ bytes: [UInt8], _ port: UInt16, _ scope: UInt32) -> sockaddr_in6 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_scope_id = scope
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0.checkedCopy(from: bytes) }
        return address
    }

    private static func call<Address, Result>(
        _ address: Address, _ size: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(size)) }
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// The address with its port, as error texts and notes contain it.
    var placeText: String {
        guard case .internet(_, let port, _) = self else { return description }
        return "\(self) port \(port)"
    }

    /// The address without its port.
    var description: String {
        switch self {
        case .internet(let address, _, let scope): scope == 0 ? address.description : "\(address)%\(scope)"
        case .path(let path): path
        }
    }
}

extension SocketAddress {
    /// The address and port for reports; `nil` for a path.
    var endpoint: (address: String, port: Int)? {
        guard case .internet(_, let port, _) = self else { return nil }
        return (description, Int(port))
    }

    /// The local address of a connected socket; `nil` for a Unix-domain socket.
    static func local(of descriptor: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(descriptor, address, &length) == 0 ? SocketAddress(address) : nil
            }
        }
    }
}
