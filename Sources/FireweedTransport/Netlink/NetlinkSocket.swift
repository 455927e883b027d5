// A socket to the kernel's routing tables.

import CLinux
import Glibc

/// Owns a socket of rtnetlink(7).
package struct NetlinkSocket: ~Copyable {
    package let descriptor: Int32

    /// Opens a socket; with multicast groups, the socket is non-blocking and receives the groups' reports.
    ///
    /// `nil` when the kernel refuses, as in a sandbox without AF_NETLINK.
    package init?(groups: Int32 = 0) {
        let flags = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue) | (groups == 0 ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        descriptor = socket(AF_NETLINK, flags, Int32(NETLINK_ROUTE))
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = UInt32(bitPattern: groups)
        let isBound = withUnsafeBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return bind(descriptor, pointer, socklen_t(bytes.count)) == 0
        }
        // The kernel answers at once; the time-out ends the wait for a kernel that never answers.
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard isBound else {
            close(descriptor)
            return nil
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The groups that report changes of links, addresses and routes.
    package static let changes =
        Int32(RTMGRP_LINK) | Int32(RTMGRP_IPV4_IFADDR) | Int32(RTMGRP_IPV4_ROUTE) | Int32(RTMGRP_IPV6_IFADDR)
        | Int32(RTMGRP_IPV6_ROUTE)

    /// The groups that report changes of local addresses.
    static let addressChanges = Int32(RTMGRP_IPV4_IFADDR) | Int32(RTMGRP_IPV6_IFADDR)

    /// Returns every link, route or address, depending on `type`, of one address family; incomplete if the socket
    /// fails.
    package func dump(_ type: Int, family: Int32, fixedSize: Int) -> [NetlinkMessage] {
        var body = [UInt8](repeating: 0, count: fixedSize)
        body[0] = UInt8(family)
        return exchange(type, flags: Int(NLM_F_REQUEST) | Int(NLM_F_DUMP), body)
    }

    /// Returns every local address, of both families.
    func addresses() -> [NetlinkMessage] {
        dump(Int(RTM_GETADDR), family: AF_UNSPEC, fixedSize: MemoryLayout<ifaddrmsg>.size)
    }

    /// Returns the route that the kernel would take to an address of 4 or 16 bytes; `nil` if there is none.
    package func route(to address: [UInt8]) -> NetworkRoute? {
        var fixed = rtmsg()
        fixed.rtm_family = UInt8(address.count == 4 ? AF_INET : AF_INET6)
        fixed.rtm_dst_len = UInt8(address.count * 8)
        let length = UInt16(4 + address.count)
        let attribute = withUnsafeBytes(of: (length, UInt16(1))) { Array($0) }  // RTA_DST
        let body = withUnsafeBytes(of: fixed) { Array($0) } + attribute + address
        for case .route(let route) in exchange(Int(RTM_GETROUTE), flags: Int(NLM_F_REQUEST), body) { return route }
        return nil
    }

    private func exchange(_ type: Int, flags: Int, _ body: [UInt8]) -> [NetlinkMessage] {
        var header = nlmsghdr()
        header.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + body.count)
        header.nlmsg_type = UInt16(type)
        header.nlmsg_flags = UInt16(flags)
        let request = withUnsafeBytes(of: header) { Array($0) } + body
        guard request.withUnsafeBytes({ Glibc.send(descriptor, $0.baseAddress, $0.count, 0) }) == request.count else {
            return []
        }
        let isDump = flags & Int(NLM_F_DUMP) == Int(NLM_F_DUMP)
        var messages: [NetlinkMessage] = []
        var buffer = [UInt8](repeating: 0, count: 32 * 1024)
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return messages }
            let more = buffer.withUnsafeBytes {
                NetlinkMessage.all(in: UnsafeRawBufferPointer(rebasing: $0.prefix(count)))
            }
            messages += more
            let isOver = more.contains { message in
                switch message {
                case .done, .error: true
                case .link, .route, .address, .removedAddress, .other: !isDump
                }
            }
            if isOver { return messages }
        }
    }
}
