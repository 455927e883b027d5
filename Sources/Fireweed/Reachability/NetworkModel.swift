// Links and routes, and the reachability of destinations.

import CLinux
import FireweedTransport
import Glibc

/// The links and routes of this machine; pure, and built from the kernel's messages.
struct NetworkModel: Equatable, Sendable {
    typealias Status = NetworkReachabilityManager.NetworkReachabilityStatus

    private(set) var links: [Int32: NetworkLink] = [:]
    private(set) var defaultRoutes: [NetworkRoute] = []

    mutating func apply(_ message: NetlinkMessage) {
        switch message {
        case .link(let link): links[link.index] = link
        case .route(let route): if route.isDefault { defaultRoutes.append(route) }
        case .address, .removedAddress, .done, .error, .other: break
        }
    }

    /// How destinations outside this machine can be reached: by the preferred default route over a working link.
    var status: Status {
        let usable = defaultRoutes.compactMap { route in
            link(of: route).flatMap { $0.isLoopback ? nil : (metric: route.metric, link: $0) }
        }
        guard let lowest = usable.map(\.metric).min() else { return .notReachable }
        // Of several routes with the lowest metric, a route that is not cellular takes precedence.
        let isCellular = usable.filter { $0.metric == lowest }.allSatisfy(\.link.isCellular)
        return .reachable(isCellular ? .cellular : .ethernetOrWiFi)
    }

    /// How a destination can be reached, given the route that the kernel would use.
    func status(by route: NetworkRoute?) -> Status {
        guard let route, route.leadsSomewhere else { return .notReachable }
        if route.isLocal { return .reachable(.ethernetOrWiFi) }
        guard let link = link(of: route) else { return .notReachable }
        return .reachable(link.isCellular ? .cellular : .ethernetOrWiFi)
    }

    /// Whether destinations outside this machine can be reached over an interface that the filter accepts.
    func isReachable(over filter: InterfaceFilter) -> Bool {
        defaultRoutes.contains { route in
            link(of: route).map { !$0.isLoopback && filter.accepts($0.type) } ?? false
        }
    }

    /// Whether the route that the kernel would take to a destination uses an interface that the filter accepts.
    func isReachable(by route: NetworkRoute?, over filter: InterfaceFilter) -> Bool {
        guard let route, route.leadsSomewhere else { return false }
        if route.isLocal { return filter.accepts(.loopback) }
        return link(of: route).map { filter.accepts($0.type) } ?? false
    }

    private func link(of route: NetworkRoute) -> NetworkLink? {
        route.links.compactMap { links[$0] }.first(where: \.isUsable)
    }
}

extension NetworkModel {
    /// The network as the kernel describes it; `nil` when the kernel cannot be asked.
    static func current() -> NetworkModel? {
        guard let socket = NetlinkSocket() else { return nil }
        return current(socket)
    }

    static func current(_ socket: borrowing NetlinkSocket) -> NetworkModel {
        var model = NetworkModel()
        for message in socket.dump(Int(RTM_GETLINK), family: AF_UNSPEC, fixedSize: MemoryLayout<ifinfomsg>.size) {
            model.apply(message)
        }
        for family in [AF_INET, AF_INET6] {
            for message in socket.dump(Int(RTM_GETROUTE), family: family, fixedSize: MemoryLayout<rtmsg>.size) {
                model.apply(message)
            }
        }
        return model
    }
}
