// IP addresses and networks, as bytes.

import Glibc

/// An IPv4 or IPv6 address.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// The 4 or 16 bytes, in network order.
    public let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads an address as `inet_pton(3)` does; `nil` if the text is not an address.
    public init?(_ text: String) {
        let isIPv6 = text.contains(":")
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        guard inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, &bytes) == 1 else { return nil }
        self.bytes = bytes
    }

    /// Reads the IP address in a socket address; `nil` for families other than IPv4 and IPv6.
    init?(_ address: UnsafePointer<sockaddr>) {
        let start = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let field = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4
            bytes = Array(UnsafeRawBufferPointer(start: start + field, count: 4))
        case AF_INET6:
            let field = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8
            bytes = Array(UnsafeRawBufferPointer(start: start + field, count: 16))
        default: return nil
        }
    }

    /// The IPv4 address that an IPv6 address contains: mapped and compatible (RFC 4291 §2.5.5), translated (RFC 6052
    /// §2.1, RFC 2765 §2.1), 6to4 (RFC 3056 §2) and Teredo (RFC 4380 §4); `nil` for any other address.
    var embedded: IPAddress? {
        guard bytes.count == 16 else { return nil }
        let tail = Array(bytes[12...])
        if bytes[..<10].allSatisfy({ $0 == 0 }) {
            if bytes[10] == 0xFF, bytes[11] == 0xFF { return IPAddress(bytes: tail) }
            let isCompatible = bytes[10] == 0 && bytes[11] == 0 && tail[..<3] != [0, 0, 0]
            return isCompatible ? IPAddress(bytes: tail) : nil
        }
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0]) { return IPAddress(bytes: tail) }
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return IPAddress(bytes: tail) }
        if bytes.starts(with: [0x20, 0x02]) { return IPAddress(bytes: Array(bytes[2..<6])) }
        if bytes.starts(with: [0x20, 0x01, 0, 0]) { return IPAddress(bytes: tail.map { ~$0 }) }
        return nil
    }

    /// The address as `inet_ntop(3)` writes it.
    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 16 ? AF_INET6 : AF_INET
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A range of addresses, in CIDR notation (RFC 4632 §3.1).
public struct IPNetwork: Sendable, Hashable, CustomStringConvertible {
    /// The address before the slash, as it was given; bits beyond the prefix may be set.
    public let base: IPAddress
    /// The number of leading bits that all addresses of the network share.
    public let prefixLength: Int

    /// Reads `10.0.0.0/8` or `fc00::/7`, or a single address; `nil` when the text is neither.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let base = IPAddress(String(parts[0])) else { return nil }
        let bitCount = base.bytes.count * 8
        guard let length = parts.count == 2 ? Int(parts[1]) : bitCount, 0...bitCount ~= length else { return nil }
        self.base = base
        prefixLength = length
    }

    /// Whether an address is in the network; false for an address of the other family.
    public func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == base.bytes.count else { return false }
        let whole = prefixLength / 8
        guard address.bytes[..<whole] == base.bytes[..<whole] else { return false }
        let rest = prefixLength % 8
        return rest == 0 || (address.bytes[whole] ^ base.bytes[whole]) >> (8 - rest) == 0
    }

    /// The network in CIDR notation.
    public var description: String { "\(base)/\(prefixLength)" }
}
