// A small SOCKS proxy.

import FireweedTesting
import Foundation
import Glibc
import Synchronization

/// A SOCKS 5 proxy (RFC 1928) without authentication, and a SOCKS 4 and 4a proxy, for `CONNECT` to IPv4 loopback
/// addresses and to `localhost`.
public final class SOCKSProxyServer: Sendable {
    /// The port.
    public let port: UInt16
    private let connected = Mutex<[String]>([])
    private let descriptors: ServerDescriptors

    /// The number of connections that the proxy made for clients.
    public var connectionCount: Int { requests.count }

    /// The SOCKS request of each of these connections: `5 localhost`, `4 user 127.0.0.1` or `4a user localhost`.
    public var requests: [String] { connected.withLock { $0 } }

    /// Starts a proxy.
    public init() throws {
        let (listener, port) = try ServerSocket.listen()
        self.port = port
        descriptors = ServerDescriptors(listener: listener)
        descriptors.accept { [weak self] client in
            { [weak self] in
                guard let (request, peer) = Self.connectAsAsked(client) else { return }
                self?.connected.withLock { $0.append(request) }
                SocketRelay.run(client, peer)
                close(peer)
            }
        }
    }

    deinit { descriptors.stopListening() }

    private static func connectAsAsked(_ client: Int32) -> (request: String, peer: Int32)? {
        guard let greeting = read(client, 2) else { return nil }
        let isFour = greeting[0] == 4
        guard let (request, port) = isFour ? readFour(client, command: greeting[1]) : readFive(client, greeting[1]),
            let peer = ServerSocket.connect(to: port)
        else { return nil }
        guard write(client, isFour ? [0, 90, 0, 0, 0, 0, 0, 0] : [5, 0, 0, 1, 127, 0, 0, 1, 0, 0]) else {
            close(peer)
            return nil
        }
        return (request, peer)
    }

    /// Reads the rest of a SOCKS 4 or 4a request: port, address, user and, for the address 0.0.0.x, a host name.
    private static func readFour(_ client: Int32, command: UInt8) -> (request: String, port: UInt16)? {
        guard command == 1, let head = read(client, 6), let user = readText(client) else { return nil }
        let port = UInt16(head[0]) << 8 | UInt16(head[1])
        if head[2] == 127 { return ("4 \(user) \(head[2...].map(String.init).joined(separator: "."))", port) }
        guard head[2...4].allSatisfy({ $0 == 0 }), let name = readText(client), name == "localhost" else { return nil }
        return ("4a \(user) \(name)", port)
    }

    /// Reads the methods and the request of SOCKS 5, which must name a loopback address or `localhost` (RFC 1928 §3–5).
    private static func readFive(_ client: Int32, _ methodCount: UInt8) -> (request: String, port: UInt16)? {
        guard read(client, Int(methodCount)) != nil, write(client, [5, 0]), let request = read(client, 4),
            request[1] == 1
        else { return nil }
        let host: String
        switch request[3] {
        case 1:
            guard let address = read(client, 4), address[0] == 127 else { return nil }
            host = address.map(String.init).joined(separator: ".")
        case 3:
            guard let count = read(client, 1), let name = read(client, Int(count[0])),
                name.elementsEqual("localhost".utf8)
            else { return nil }
            host = "localhost"
        default: return nil
        }
        return read(client, 2).map { ("5 \(host)", UInt16($0[0]) << 8 | UInt16($0[1])) }
    }

    /// Reads text up to a NUL; `nil` when the connection ends first.
    private static func readText(_ client: Int32) -> String? {
        var text: [UInt8] = []
        while let byte = read(client, 1)?[0] {
            if byte == 0 { return String(decoding: text, as: UTF8.self) }
            text.append(byte)
        }
        return nil
    }

    private static func read(_ descriptor: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return recv(descriptor, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }

    private static func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
}
