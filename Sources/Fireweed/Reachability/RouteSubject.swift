// The host or network whose reachability is determined.

import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// A destination to reach: a host, or any destination.
final class RouteSubject: Sendable {
    typealias Status = NetworkReachabilityManager.NetworkReachabilityStatus

    private let host: String?
    /// The host's addresses at the last look-up.
    private let addresses: Mutex<[[UInt8]]>

    /// Makes a subject; `nil` means any destination outside this machine.
    init(host: String?) {
        self.host = host
        addresses = Mutex(host.flatMap(Self.literal).map { [$0] } ?? [])
    }

    /// The present status, by the kernel's tables and the known addresses; never waits for a name server.
    var status: Status {
        guard let socket = NetlinkSocket() else { return .unknown }
        let model = NetworkModel.current(socket)
        guard host != nil else { return model.status }
        let known = addresses.withLock { $0 }
        var best = Status.notReachable
        for address in known {
            switch model.status(by: socket.route(to: address)) {
            case .reachable(.ethernetOrWiFi): return .reachable(.ethernetOrWiFi)
            case .reachable(.cellular): best = .reachable(.cellular)
            case .notReachable, .unknown: break
            }
        }
        return best
    }

    /// Whether there is a route over an interface that the filter accepts; true when the kernel cannot be asked.
    func isReachable(over filter: InterfaceFilter) -> Bool {
        guard let socket = NetlinkSocket() else { return true }
        let model = NetworkModel.current(socket)
        guard host != nil else { return model.isReachable(over: filter) }
        return addresses.withLock { $0 }.contains { model.isReachable(by: socket.route(to: $0), over: filter) }
    }

    /// Whether the host has no known address yet.
    var needsResolution: Bool { host != nil && addresses.withLock { $0.isEmpty } }

    /// Looks the host's name up, which may take long; true when there are addresses now.
    func resolve() -> Bool {
        guard let host, needsResolution else { return true }
        let found = Self.lookUp(host)
        addresses.withLock { if $0.isEmpty { $0 = found } }
        return !found.isEmpty
    }

    /// The bytes of a literal address, with or without brackets.
    static func literal(_ host: String) -> [UInt8]? {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, bare, &bytes) == 1 { return bytes }
        }
        return nil
    }

    private static func lookUp(_ host: String) -> [[UInt8]] {
        BlockingCall.check("getaddrinfo")
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        return sequence(first: list, next: { $0?.pointee.ai_next }).prefix { $0 != nil }.compactMap { entry in
            guard let entry, let address = entry.pointee.ai_addr else { return nil }
            let raw = UnsafeRawBufferPointer(start: address, count: Int(entry.pointee.ai_addrlen))
            switch entry.pointee.ai_family {
            case AF_INET where raw.count >= 8: return Array(raw[4..<8])
            case AF_INET6 where raw.count >= 24: return Array(raw[8..<24])
            default: return nil
            }
        }
    }
}
