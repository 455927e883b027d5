// What the system knows of a name.

import Glibc

/// Why a name has no address.
struct LookupFailure: Sendable, Equatable {
    /// True when the process is out of descriptors, memory or threads, so that nothing is known of the name.
    var isExhaustion: Bool
    /// The text of gai_strerror(3), or of strerror(3).
    var text: String
}

/// Asks getaddrinfo(3).
enum SystemLookup {
    /// The addresses of a host in one family; blocks.
    @Sendable
    static func answer(to question: NameQuestion) -> NameResolver.Answer {
        var hints = addrinfo()
        hints.ai_family = question.family.number
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(question.host, nil, &hints, &first)
        guard status == 0 else { return .failed(failure(status, errno)) }
        defer { freeaddrinfo(first) }
        var found: [SocketAddress] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ai_next
            guard let address = entry.ai_addr.flatMap({ SocketAddress($0) }), !found.contains(address) else { continue }
            found.append(address)
        }
        return found.isEmpty ? .failed(failure(EAI_NONAME, 0)) : .addresses(found)
    }

    private static func failure(_ status: Int32, _ error: Int32) -> LookupFailure {
        guard status != EAI_SYSTEM else {
            let isExhaustion = [EMFILE, ENFILE, ENOMEM].contains(error)
            return LookupFailure(isExhaustion: isExhaustion, text: String(cString: strerror(error)))
        }
        return LookupFailure(isExhaustion: status == EAI_MEMORY, text: String(cString: gai_strerror(status)))
    }
}
