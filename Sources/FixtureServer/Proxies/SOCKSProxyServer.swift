// A small SOCKS 5 proxy.

import Foundation
import Glibc
import Synchronization

/// A SOCKS 5 proxy (RFC 1928) without authentication, for `CONNECT` to IPv4 addresses of loopback, and to `localhost`.
public final class SOCKSProxyServer: Sendable {
    /// The port.
    public let port: UInt16
    private let connections = Mutex(0)
    private let listener: Int32

    /// How many connections went through.
    public var connectionCount: Int { connections.withLock { $0 } }

    /// Starts a proxy.
    public init() throws {
        (listener, port) = try LoopbackSocket.listen(port: 0)
        Thread { [listener, weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                Thread { [weak self] in
                    if let peer = Self.connectAsAsked(client) {
                        self?.connections.withLock { $0 += 1 }
                        SocketRelay.run(client, peer)
                        close(peer)
                    }
                    close(client)
                }.start()
            }
            close(listener)
        }.start()
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func connectAsAsked(_ client: Int32) -> Int32? {
        guard let greeting = read(client, 2), read(client, Int(greeting[1])) != nil, write(client, [5, 0]),
            let request = read(client, 4), request[1] == 1, let port = readPort(client, kind: request[3])
        else { return nil }
        guard let peer = LoopbackSocket.connect(to: port) else { return nil }
        guard write(client, [5, 0, 0, 1, 127, 0, 0, 1, 0, 0]) else {
            close(peer)
            return nil
        }
        return peer
    }

    /// The rest of a request behind its kind of address: the port, where the address is one of loopback (RFC 1928 §5).
    private static func readPort(_ client: Int32, kind: UInt8) -> UInt16? {
        switch kind {
        case 1: guard let address = read(client, 4), address[0] == 127 else { return nil }
        case 3:
            guard let count = read(client, 1), let name = read(client, Int(count[0])),
                name.elementsEqual("localhost".utf8)
            else { return nil }
        default: return nil
        }
        return read(client, 2).map { UInt16($0[0]) << 8 | UInt16($0[1]) }
    }

    private static func read(_ descriptor: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return recv(descriptor, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }

    private static func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
}
