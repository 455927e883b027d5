// Look-ups of names by the C library.

import Glibc

/// The reason why a look-up gave no address.
struct LookupFailure: Sendable, Equatable {
    /// Whether the process is out of descriptors, memory or threads, so that nothing is known about the name.
    var isExhaustion: Bool
    /// The reason, mostly the text of gai_strerror(3) or strerror(3).
    var text: String
    /// The error number of getaddrinfo(3); `EAI_NONAME` if getaddrinfo(3) was not called or gave no address.
    var code: Int32 = EAI_NONAME

    /// The host has no address, or none that may be used.
    static let noAddress = LookupFailure(isExhaustion: false, text: "it has no address")

    /// Whether an error number of getaddrinfo(3) means that the name does not exist, or has no address.
    static func isDefinite(_ code: Int) -> Bool {
        // -5 and -9 are glibc's EAI_NODATA and EAI_ADDRFAMILY: the name exists, but has no address, or none of the
        // family.
        [Int(EAI_NONAME), -5, -9].contains(code)
    }
}

/// Looks up names with getaddrinfo(3), and names with a final dot first in the hosts file.
enum SystemLookup {
    /// Returns the addresses of a name in both families; blocks.
    ///
    /// One call covers both families, so that all addresses belong to one machine. With a call for each family, the
    /// look-up of a family without an address would continue with the next source or search domain (nsswitch.conf(5),
    /// resolv.conf(5)): an IPv4 address from the hosts file could be joined by IPv6 addresses of another machine.
    @Sendable
    static func answer(to name: String) -> NameResolver.Answer {
        BlockingCall.check("getaddrinfo")
        Descriptors.makeRoom()
        if name.utf8.last == UInt8(ascii: ".") {
            let listed = HostsFile.addresses(of: String(name.dropLast()))
            if !listed.isEmpty { return .addresses(listed) }
        }
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &first)
        guard status == 0 else { return .failed(failure(status, errno)) }
        defer { freeaddrinfo(first) }
        var found: [SocketAddress] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ai_next
            guard let address = entry.ai_addr.flatMap({ SocketAddress($0) }), !found.contains(address) else { continue }
            found.append(address)
        }
        return found.isEmpty ? .failed(.noAddress) : .addresses(found)
    }

    private static func failure(_ status: Int32, _ error: Int32) -> LookupFailure {
        guard status != EAI_SYSTEM else {
            let isExhaustion = [EMFILE, ENFILE, ENOMEM].contains(error)
            return LookupFailure(isExhaustion: isExhaustion, text: String(cString: strerror(error)), code: status)
        }
        return LookupFailure(
            isExhaustion: status == EAI_MEMORY, text: String(cString: gai_strerror(status)), code: status)
    }
}
