// The kinds of network interfaces.

import FireweedTransport

/// The kind of a network interface; the cases are those of Apple's `NWInterface.InterfaceType`.
public enum NetworkInterfaceType: Sendable, Hashable, CaseIterable {
    /// A virtual interface, or one of an unknown kind.
    case other
    /// Wi-Fi.
    case wifi
    /// Mobile broadband.
    case cellular
    /// Ethernet, including the interfaces of most virtual machines and containers.
    case wiredEthernet
    /// The loopback interface.
    case loopback
}

/// The interfaces that a route may use.
enum InterfaceFilter: Sendable {
    case any
    case required(NetworkInterfaceType)
    case prohibited(Set<NetworkInterfaceType>)

    func accepts(_ type: NetworkInterfaceType) -> Bool {
        switch self {
        case .any: true
        case .required(let required): type == required
        case .prohibited(let prohibited): !prohibited.contains(type)
        }
    }
}

extension NetworkLink {
    /// The kind of the interface, by its flags, its hardware and its name.
    ///
    /// Wi-Fi has the hardware type of Ethernet, but its names begin with `wl`, in systemd.net-naming-scheme(7) and
    /// before.
    var type: NetworkInterfaceType {
        if isLoopback { return .loopback }
        if isCellular { return .cellular }
        if name.hasPrefix("wl") || Self.wirelessKinds.contains(kind) { return .wifi }
        return kind == Self.kindEthernet ? .wiredEthernet : .other
    }
}
