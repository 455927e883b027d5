// The kernel's messages about links, routes and local addresses, read from their bytes.

import CLinux

/// One message of rtnetlink(7), with the parts that reachability and the watch over local addresses need.
package enum NetlinkMessage: Equatable, Sendable {
    case link(NetworkLink)
    case route(NetworkRoute)
    /// A local address: its 4 or 16 bytes.
    case address([UInt8])
    /// A local address that an interface has lost.
    case removedAddress([UInt8])
    /// The end of a response of several messages.
    case done
    /// The errno with which the kernel refused a request; 0 for an acknowledgement.
    case error(Int32)
    /// Any other message, such as the removal of a link; its content is not read.
    case other
}

/// A network interface.
package struct NetworkLink: Equatable, Sendable {
    package var index: Int32
    package var name: String
    /// `IFF_…` of netdevice(7).
    package var flags: UInt32
    /// `ARPHRD_…`: the kind of hardware.
    package var kind: UInt16

    private static let (up, loopback, running): (UInt32, UInt32, UInt32) = (0x1, 0x8, 0x40)
    private static let (kindPPP, kindRawIP): (UInt16, UInt16) = (512, 519)
    package static let kindEthernet: UInt16 = 1
    package static let wirelessKinds: ClosedRange<UInt16> = 801...803
    private static let cellularNames = ["ww", "ppp", "rmnet"]

    package init(index: Int32, name: String, flags: UInt32, kind: UInt16) {
        (self.index, self.name, self.flags, self.kind) = (index, name, flags, kind)
    }

    /// Whether the link is switched on and has a carrier.
    package var isUsable: Bool { flags & Self.up != 0 && flags & Self.running != 0 }
    package var isLoopback: Bool { flags & Self.loopback != 0 }
    /// Mobile broadband: WWAN, PPP and Qualcomm's rmnet, by name or by kind.
    package var isCellular: Bool {
        kind == Self.kindPPP || kind == Self.kindRawIP || Self.cellularNames.contains(where: name.hasPrefix)
    }
}

/// A route.
package struct NetworkRoute: Equatable, Sendable {
    package var family: UInt8
    /// The length of the destination's prefix in bits; 0 for a default route.
    package var prefixLength: UInt8
    /// `RTN_…`: 1 is unicast, 2 local.
    package var type: UInt8
    package var isDead: Bool
    /// The indices of the links that the route leads to; several for a multipath route.
    package var links: [Int32]
    /// The route's priority; a lower metric is preferred.
    package var metric: UInt32

    private static let (unicast, local): (UInt8, UInt8) = (1, 2)

    package init(family: UInt8, prefixLength: UInt8, type: UInt8, isDead: Bool, links: [Int32], metric: UInt32) {
        (self.family, self.prefixLength, self.type) = (family, prefixLength, type)
        (self.isDead, self.links, self.metric) = (isDead, links, metric)
    }

    package var isDefault: Bool { prefixLength == 0 && type == Self.unicast && !isDead }
    package var leadsSomewhere: Bool { (type == Self.unicast || type == Self.local) && !isDead }
    package var isLocal: Bool { type == Self.local }
}

extension NetlinkMessage {
    /// Reads the messages of one datagram; an incomplete message ends the reading.
    package static func all(in bytes: UnsafeRawBufferPointer) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = bytes[...]
        let headerSize = MemoryLayout<nlmsghdr>.size
        while rest.count >= headerSize {
            let datagram = UnsafeRawBufferPointer(rebasing: rest)
            let header = datagram.loadUnaligned(as: nlmsghdr.self)
            let length = Int(header.nlmsg_len)
            guard length >= headerSize, length <= datagram.count else { break }
            messages.append(message(header.nlmsg_type, UnsafeRawBufferPointer(rebasing: datagram[headerSize..<length])))
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return messages
    }

    private static func message(_ type: UInt16, _ payload: UnsafeRawBufferPointer) -> NetlinkMessage {
        switch Int(type) {
        case Int(NLMSG_DONE): .done
        case Int(NLMSG_ERROR): payload.count >= 4 ? .error(0 &- payload.loadUnaligned(as: Int32.self)) : .error(0)
        case Int(RTM_NEWLINK): link(payload).map { .link($0) } ?? .other
        case Int(RTM_NEWROUTE): route(payload).map { .route($0) } ?? .other
        case Int(RTM_NEWADDR): localAddress(payload).map { .address($0) } ?? .other
        case Int(RTM_DELADDR): localAddress(payload).map { .removedAddress($0) } ?? .other
        default: .other
        }
    }

    private static func link(_ payload: UnsafeRawBufferPointer) -> NetworkLink? {
        guard payload.count >= MemoryLayout<ifinfomsg>.size else { return nil }
        let fixed = payload.loadUnaligned(as: ifinfomsg.self)
        var link = NetworkLink(index: fixed.ifi_index, name: "", flags: fixed.ifi_flags, kind: fixed.ifi_type)
        forEachAttribute(in: payload, after: MemoryLayout<ifinfomsg>.size) { type, value in
            if type == 3 { link.name = String(decoding: value.prefix { $0 != 0 }, as: UTF8.self) }  // IFLA_IFNAME
        }
        return link
    }

    private static func localAddress(_ payload: UnsafeRawBufferPointer) -> [UInt8]? {
        guard payload.count >= MemoryLayout<ifaddrmsg>.size else { return nil }
        var (local, address): ([UInt8]?, [UInt8]?)
        forEachAttribute(in: payload, after: MemoryLayout<ifaddrmsg>.size) { type, value in
            guard value.count == 4 || value.count == 16 else { return }
            if type == 1 { address = Array(value) }  // IFA_ADDRESS: the peer's, on a point-to-point link
            if type == 2 { local = Array(value) }  // IFA_LOCAL
        }
        return local ?? address
    }

    private static func route(_ payload: UnsafeRawBufferPointer) -> NetworkRoute? {
        guard payload.count >= MemoryLayout<rtmsg>.size else { return nil }
        let fixed = payload.loadUnaligned(as: rtmsg.self)
        let dead: UInt32 = 1 | 16  // RTNH_F_DEAD, RTNH_F_LINKDOWN
        var route = NetworkRoute(
            family: fixed.rtm_family, prefixLength: fixed.rtm_dst_len, type: fixed.rtm_type,
            isDead: fixed.rtm_flags & dead != 0, links: [], metric: 0)
        forEachAttribute(in: payload, after: MemoryLayout<rtmsg>.size) { type, value in
            switch Int(type) {
            case 4 where value.count >= 4: route.links.append(value.loadUnaligned(as: Int32.self))  // RTA_OIF
            case 6 where value.count >= 4: route.metric = value.loadUnaligned(as: UInt32.self)  // RTA_PRIORITY
            case 9: route.links += nextHops(value)  // RTA_MULTIPATH
            default: break
            }
        }
        return route
    }

    /// The links of a multipath route's next hops that are not dead.
    private static func nextHops(_ bytes: UnsafeRawBufferPointer) -> [Int32] {
        var links: [Int32] = []
        var offset = 0
        let size = MemoryLayout<rtnexthop>.size
        while offset + size <= bytes.count {
            let hop = bytes.loadUnaligned(fromByteOffset: offset, as: rtnexthop.self)
            guard Int(hop.rtnh_len) >= size else { break }
            if hop.rtnh_flags & 17 == 0 { links.append(hop.rtnh_ifindex) }
            offset += (Int(hop.rtnh_len) + 3) & ~3
        }
        return links
    }

    private static func forEachAttribute(
        in payload: UnsafeRawBufferPointer, after fixedSize: Int,
        _ body: (_ type: UInt16, _ value: UnsafeRawBufferPointer) -> Void
    ) {
        var offset = (fixedSize + 3) & ~3
        while offset + 4 <= payload.count {
            let length = Int(payload.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            let type = payload.loadUnaligned(fromByteOffset: offset + 2, as: UInt16.self)
            guard length >= 4, offset + length <= payload.count else { return }
            // The two highest bits are flags of the attribute (NLA_F_NESTED, NLA_F_NET_BYTEORDER).
            body(type & 0x3FFF, UnsafeRawBufferPointer(rebasing: payload[(offset + 4)..<(offset + length)]))
            offset += (length + 3) & ~3
        }
    }
}
