// The socket of `fireweed serve`.

import CommandLanguage
import FireweedTesting
import Glibc

/// A socket that listens at an address of this machine.
struct ListeningSocket {
    let descriptor: Int32
    let port: UInt16
    /// The host in the form of a URL: an IPv6 address is in brackets.
    let host: String
    /// The subject alternative names of a certificate for the address, in OpenSSL's notation.
    let certificateNames: [String]

    /// Listens at an address or a name of this machine; port 0 chooses a free port.
    ///
    /// Throws `UsageError` if `host` is neither an address nor a known name, and `OutputError` if the system does not
    /// permit it.
    init(host: String, port: UInt16) throws {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        var (hints, found) = (addrinfo(), UnsafeMutablePointer<addrinfo>?.none)
        hints.ai_flags = AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let code = getaddrinfo(bare, String(port), &hints, &found)
        guard code == 0, let address = found else {
            throw UsageError(
                message: "--host \(host) is no address of this machine: \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(address) }
        (descriptor, self.port) = try Self.listen(address.pointee, "\(host):\(port)")
        self.host = bare.contains(":") ? "[\(bare)]" : bare
        let isAddress = bare.contains(":") || bare.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
        certificateNames =
            ["DNS:localhost", "IP:127.0.0.1", "IP:::1"]
            + (["0.0.0.0", "::"].contains(bare) ? Self.machine.map { ["DNS:\($0)"] } ?? [] : [])
            + (["localhost", "127.0.0.1", "::1", "0.0.0.0", "::"].contains(bare)
                ? [] : ["\(isAddress ? "IP" : "DNS"):\(bare)"])
    }

    /// Whether other machines can connect.
    var isReachable: Bool { host != "localhost" && host != "[::1]" && !host.hasPrefix("127.") }

    private static func listen(_ address: addrinfo, _ place: String) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(address.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        // A restarted server can bind its port while old connections are still closing.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard descriptor >= 0, bind(descriptor, address.ai_addr, address.ai_addrlen) == 0,
            Glibc.listen(descriptor, 4096) == 0, let port = port(of: descriptor)
        else {
            let reason = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw OutputError(errorDescription: "cannot listen on \(place): \(reason)")
        }
        return (descriptor, port)
    }

    private static func port(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                getsockname(descriptor, pointer, &length) == 0
            else { return nil }
            // IPv4 and IPv6 have the port at the same offset (ip(7), ipv6(7)).
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    /// The name of the machine.
    private static var machine: String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }
}
