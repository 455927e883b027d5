import FireweedTransport
import Testing

@testable import Fireweed

@Suite("Network model")
struct NetworkModelTests {
    typealias Status = NetworkReachabilityManager.NetworkReachabilityStatus

    private static let up: UInt32 = 0x1 | 0x40

    private static func link(_ index: Int32, _ name: String, flags: UInt32 = up, kind: UInt16 = 1) -> NetlinkMessage {
        .link(NetworkLink(index: index, name: name, flags: flags, kind: kind))
    }

    private static func route(
        _ link: Int32, metric: UInt32 = 0, prefix: UInt8 = 0, type: UInt8 = 1, isDead: Bool = false
    ) -> NetlinkMessage {
        .route(NetworkRoute(family: 2, prefixLength: prefix, type: type, isDead: isDead, links: [link], metric: metric))
    }

    @Test(
        "any destination is reachable by a default route over a link that works",
        arguments: [
            ([], .notReachable),
            ([link(2, "eth0"), route(2)], .reachable(.ethernetOrWiFi)),
            ([link(2, "eth0")], .notReachable),
            ([route(2)], .notReachable),
            ([link(2, "eth0", flags: 0x1), route(2)], .notReachable),  // no carrier
            ([link(2, "eth0", flags: 0x40), route(2)], .notReachable),  // switched off
            ([link(1, "lo", flags: up | 0x8), route(1)], .notReachable),
            ([link(2, "eth0"), route(2, prefix: 24)], .notReachable),  // a route to a neighbour
            ([link(2, "eth0"), route(2, type: 7)], .notReachable),  // an unreachable route
            ([link(2, "eth0"), route(2, isDead: true)], .notReachable),
            ([link(3, "wwan0"), route(3)], .reachable(.cellular)),
            ([link(3, "wwp0s20u4"), route(3)], .reachable(.cellular)),
            ([link(3, "ppp0", kind: 512), route(3)], .reachable(.cellular)),
            ([link(3, "rmnet_data0", kind: 519), route(3)], .reachable(.cellular)),
            (
                [link(2, "wlan0"), link(3, "wwan0"), route(2, metric: 600), route(3, metric: 700)],
                .reachable(.ethernetOrWiFi)
            ),
            (
                [link(2, "wlan0"), link(3, "wwan0"), route(2, metric: 900), route(3, metric: 700)],
                .reachable(.cellular)
            ),
            ([link(2, "wlan0", flags: 1), link(3, "wwan0"), route(2), route(3, metric: 700)], .reachable(.cellular)),
            ([link(2, "wlan0"), link(3, "wwan0"), route(2), route(3)], .reachable(.ethernetOrWiFi)),
        ] as [([NetlinkMessage], Status)])
    func anyDestination(messages: [NetlinkMessage], expected: Status) {
        var model = NetworkModel()
        for message in messages { model.apply(message) }
        #expect(model.status == expected)
    }

    @Test(
        "an interface's type is told by its flags, its hardware and its name",
        arguments: [
            ("lo", 0x8, 772, .loopback), ("eth0", 0, 1, .wiredEthernet), ("enp3s0", 0, 1, .wiredEthernet),
            ("wlan0", 0, 1, .wifi), ("wlp2s0", 0, 1, .wifi), ("mon0", 0, 803, .wifi), ("wwan0", 0, 1, .cellular),
            ("ppp0", 0, 512, .cellular), ("tun0", 0, 65534, .other), ("wg0", 0, 65534, .other),
        ] as [(String, UInt32, UInt16, NetworkInterfaceType)])
    func types(name: String, flags: UInt32, kind: UInt16, expected: NetworkInterfaceType) {
        #expect(NetworkLink(index: 1, name: name, flags: flags, kind: kind).type == expected)
    }

    @Test("a route counts when it leads over an interface that counts")
    func filtered() {
        var model = NetworkModel()
        for message in [Self.link(2, "eth0"), Self.link(3, "wwan0"), Self.route(3)] { model.apply(message) }
        let filters: [(InterfaceFilter, Bool)] = [
            (.any, true), (.required(.cellular), true), (.required(.wiredEthernet), false), (.prohibited([]), true),
            (.prohibited([.cellular]), false), (.prohibited([.wiredEthernet, .wifi]), true),
        ]
        for (filter, expected) in filters { #expect(model.isReachable(over: filter) == expected, "\(filter)") }
        let wired = NetworkRoute(family: 2, prefixLength: 24, type: 1, isDead: false, links: [2], metric: 0)
        #expect(model.isReachable(by: wired, over: .required(.wiredEthernet)))
        #expect(!model.isReachable(by: wired, over: .required(.cellular)))
        #expect(!model.isReachable(by: nil, over: .any))
        let local = NetworkRoute(family: 2, prefixLength: 32, type: 2, isDead: false, links: [1], metric: 0)
        #expect(model.isReachable(by: local, over: .required(.loopback)))
        #expect(!model.isReachable(by: local, over: .prohibited([.loopback])))
    }

    @Test("a host is reachable by the route that the kernel takes to it")
    func host() {
        var model = NetworkModel()
        for message in [Self.link(2, "eth0"), Self.link(3, "wwan0"), Self.link(4, "eth1", flags: 1)] {
            model.apply(message)
        }
        func status(_ link: Int32, type: UInt8 = 1) -> Status {
            model.status(
                by: NetworkRoute(family: 2, prefixLength: 32, type: type, isDead: false, links: [link], metric: 0))
        }
        #expect(status(2) == .reachable(.ethernetOrWiFi) && status(3) == .reachable(.cellular))
        #expect(status(4) == .notReachable && status(9) == .notReachable && model.status(by: nil) == .notReachable)
        #expect(status(9, type: 2) == .reachable(.ethernetOrWiFi), "an address of our own needs no link")
        #expect(status(2, type: 7) == .notReachable)
    }

    @Test("a later message about a link replaces the earlier one")
    func replacement() {
        var model = NetworkModel()
        model.apply(Self.link(2, "eth0"))
        model.apply(Self.route(2))
        model.apply(Self.link(2, "eth0", flags: 0))
        #expect(model.status == .notReachable)
    }
}

@Suite("Netlink message parsing")
struct NetlinkMessageTests {
    private func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }  // the kernel speaks in the machine's own order
    }

    private func message(_ type: UInt16, _ payload: [UInt8]) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: (4 - payload.count % 4) % 4)
        let head = bytes(UInt32(16 + payload.count)) + bytes(type) + bytes(UInt16(2)) + bytes(UInt64(0))
        return head + payload + padding
    }

    private func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
        return bytes(UInt16(4 + value.count)) + bytes(type) + value + padding
    }

    private func parsed(_ bytes: [UInt8]) -> [NetlinkMessage] {
        bytes.withUnsafeBytes { NetlinkMessage.all(in: $0) }
    }

    private var link: [UInt8] {
        // ifinfomsg: family, padding, kind, index, flags, change
        var payload: [UInt8] = [0, 0] + bytes(UInt16(1))
        payload += bytes(Int32(7))
        payload += bytes(UInt32(0x41))
        payload += bytes(UInt32(0))
        payload += attribute(3, Array("eth0\0".utf8))
        payload += attribute(4, bytes(UInt32(1500)))
        return message(16, payload)
    }

    @Test("links and routes are read with their attributes")
    func read() {
        let head: [UInt8] = [2, 0, 0, 0, 254, 3, 0, 1] + bytes(UInt32(0))
        let gateway = attribute(5, [192, 0, 2, 1])
        let single = message(24, head + gateway + attribute(4, bytes(Int32(7))) + attribute(6, bytes(UInt32(100))))
        let hop: [UInt8] = bytes(UInt16(8)) + [0, 0] + bytes(Int32(8))
        let deadHop: [UInt8] = bytes(UInt16(8)) + [1, 0] + bytes(Int32(9))
        let multiple = message(24, head + attribute(9, hop + deadHop))
        let done = message(3, bytes(Int32(0)))
        let messages = parsed(link + single + multiple + done)
        let expected: [NetlinkMessage] = [
            .link(NetworkLink(index: 7, name: "eth0", flags: 0x41, kind: 1)),
            .route(NetworkRoute(family: 2, prefixLength: 0, type: 1, isDead: false, links: [7], metric: 100)),
            .route(NetworkRoute(family: 2, prefixLength: 0, type: 1, isDead: false, links: [8], metric: 0)),
            .done,
        ]
        #expect(messages == expected)
        #expect(parsed(message(2, bytes(Int32(-101)))) == [.error(101)])
        #expect(parsed(message(25, head)) == [.other] && parsed(message(21, [])) == [.other])
        // ifaddrmsg: family, prefix length, flags, scope, index
        let local = [2, 24, 0, 0] + bytes(UInt32(7))
        let address = attribute(1, [10, 0, 0, 9]) + attribute(2, [10, 0, 0, 1])
        #expect(parsed(message(20, local + address)) == [.address([10, 0, 0, 1])])
        #expect(parsed(message(21, local + attribute(1, [10, 0, 0, 1]))) == [.removedAddress([10, 0, 0, 1])])
        #expect(parsed(message(21, local + attribute(1, [10, 0]))) == [.other], "an address of no family")
    }

    @Test("bytes that end too early are no message, and nothing is read beyond them")
    func truncated() {
        for count in 0..<link.count {
            let messages = parsed(Array(link.prefix(count)))
            #expect(messages.isEmpty)
        }
        #expect(parsed(message(16, [0, 0])) == [.other])
        #expect(parsed([0, 0, 0, 0] + [UInt8](repeating: 0, count: 12)).isEmpty)
        // An attribute that claims to be longer than its message.
        let claim: [UInt8] = bytes(UInt16(400)) + bytes(UInt16(3))
        let lying = message(16, [UInt8](repeating: 0, count: 16) + claim)
        #expect(parsed(lying) == [.link(NetworkLink(index: 0, name: "", flags: 0, kind: 0))])
    }

    @Test("addresses that are written as such are told from names")
    func literals() {
        #expect(RouteSubject.literal("192.0.2.1") == [192, 0, 2, 1])
        #expect(RouteSubject.literal("[::1]")?.count == 16 && RouteSubject.literal("::1")?.last == 1)
        #expect(RouteSubject.literal("example.com") == nil && RouteSubject.literal("1.2") == nil)
    }
}
