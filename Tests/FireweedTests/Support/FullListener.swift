// A port that takes no further connections.

import Glibc

/// Listens with a backlog of none, which one connection of our own fills up.
final class FullListener: Sendable {
    let port: UInt16
    private let descriptors: [Int32]

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var clients: [Int32] = []
        withUnsafeMutableBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return }
            bind(listener, pointer, length)
            listen(listener, 0)
            getsockname(listener, pointer, &length)
            for _ in 0..<4 {
                let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
                connect(client, pointer, length)
                clients.append(client)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        descriptors = clients + [listener]
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
