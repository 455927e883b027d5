// Look-ups of names by the C library.

import Glibc

/// Why a name has no address.
struct LookupFailure: Sendable, Equatable {
    /// True when the process is out of descriptors, memory or threads, so that nothing is known of the name.
    var isExhaustion: Bool
    /// The text of gai_strerror(3), or of strerror(3).
    var text: String
    /// The number that getaddrinfo(3) gave; `EAI_NONAME` where it was not called.
    var code: Int32 = EAI_NONAME

    /// A name without any address, or without an address of the family that is wanted.
    static let noAddress = LookupFailure(isExhaustion: false, text: "it has no address")

    /// Whether a number of getaddrinfo(3) means that a name server knows no such name, or no address of the name.
    static func isDefinite(_ code: Int) -> Bool {
        // The last two are of glibc: the name exists without an address, or without one of the family.
        [Int(EAI_NONAME), -5, -9].contains(code)
    }
}

/// Calls getaddrinfo(3).
enum SystemLookup {
    /// The addresses of a name in both families; blocks.
    ///
    /// One call for both families decides which name is meant. With a call for each, a family without an address would
    /// be searched for in the next source or search domain (nsswitch.conf(5), resolv.conf(5)): an entry of the hosts
    /// file with an IPv4 address, or a name of the Internet, would have IPv6 addresses of another machine.
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
