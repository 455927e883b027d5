import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Reachability on this machine", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ReachabilityTests {
    @Test("an address of our own is reachable, whatever the network, and says so once")
    func ownAddress() async throws {
        let manager = try #require(NetworkReachabilityManager(host: "127.0.0.1"))
        #expect(manager.status == .reachable(.ethernetOrWiFi))
        #expect(manager.isReachable && manager.isReachableOnEthernetOrWiFi && !manager.isReachableOnCellular)
        let named = try #require(NetworkReachabilityManager(host: "localhost"))
        #expect(named.isReachable)
        #expect(NetworkReachabilityManager(host: "") == nil)
        #expect(try #require(NetworkReachabilityManager(host: "does-not-exist.invalid")).status == .notReachable)
    }

    @Test("a listener hears the status on its queue, a second one replaces it, and both are released")
    func listening() async throws {
        final class Token: Sendable {}
        let manager = try #require(NetworkReachabilityManager(host: "127.0.0.1"))
        let queue = DispatchQueue(label: "listener")
        let heard = EventLog<String>()
        weak var first: Token?
        weak var second: Token?
        do {
            let token = Token()
            first = token
            let isListening = manager.startListening(onQueue: queue) { [token] status in
                dispatchPrecondition(condition: .onQueue(queue))
                heard.note("first \(status) \(type(of: token))")
            }
            #expect(isListening)
        }
        try await heard.first { $0.hasPrefix("first reachable") }
        do {
            let token = Token()
            second = token
            manager.startListening(onQueue: queue) { [token] status in heard.note("second \(status) \(type(of: token))")
            }
        }
        try await heard.first { $0.hasPrefix("second reachable") }
        manager.stopListening()
        manager.reachabilityQueue.sync {}  // it may still have the listener that it has just handed to the other queue
        queue.sync {}
        #expect(heard.events.count == 2 && first == nil && second == nil)
    }

    @Test("an async sequence gives the status, and ends listening with its iterator")
    func sequence() async throws {
        let manager = try #require(NetworkReachabilityManager(host: "::1"))
        for await status in manager.statuses() {
            #expect(status == .reachable(.ethernetOrWiFi) || status == .notReachable)  // IPv6 may be off
            break
        }
        var isDefaultKnown = false
        for await status in try #require(NetworkReachabilityManager.default).statuses() {
            isDefaultKnown = status != .unknown
            break
        }
        #expect(isDefaultKnown)
    }
}

@Suite(
    "Reachability in a network namespace", .timeLimit(.minutes(TestTimeouts.minutes)),
    .enabled(if: NetworkNamespace.obstacle == nil, "network namespaces are not permitted here"))
struct NamespaceTests {
    private static let up =
        "reachable(Fireweed.NetworkReachabilityManager.NetworkReachabilityStatus.ConnectionType.ethernetOrWiFi)"

    /// How long after a change it was seen, in milliseconds.
    private struct Delay: CustomStringConvertible {
        let event: String
        /// After the end of the `ip` command, by which the kernel has made the change: negative when it was seen before
        /// that.
        let behind: Double

        var description: String { "\(event): seen \(String(format: "%.1f", behind)) ms after the end of `ip`" }
    }

    /// Waits until a change is seen; how long that takes on a busy machine says nothing about us.
    private func delay(
        _ event: String, _ program: NamespacedProgram, _ text: String, since change: NetworkNamespace.Change
    ) async throws -> Delay {
        let time = try await program.time(of: text, after: change.start)
        return Delay(event: event, behind: (Double(time) - Double(change.end)) / 1e6)
    }

    /// Plays a scenario up to five times, until everything in it was seen within 100 ms.
    ///
    /// What looked at the network now and then would be later each time; what was late since the machine was busy is
    /// not.
    private func expectSoon(_ scenario: () async throws -> [Delay]) async throws {
        var delays: [Delay] = []
        for _ in 0..<5 {
            delays = try await scenario()
            if delays.allSatisfy({ $0.behind < 100 }) { break }
        }
        #expect(delays.allSatisfy { $0.behind < 100 }, "\(delays)")
    }

    @Test("links, addresses and default routes that go and come are each seen within 100 ms, once")
    func anyDestination() async throws {
        try await expectSoon(playAnyDestination)
    }

    private func playAnyDestination() async throws -> [Delay] {
        var delays: [Delay] = []
        let namespace = try NetworkNamespace()
        let program = try NamespacedProgram(network: "watch", in: namespace)
        _ = try await program.time(of: Self.up)
        var moment = try namespace.ip("route del default")
        delays.append(try await delay("default route removed", program, "notReachable", since: moment))
        moment = try namespace.ip("route add default via 10.77.0.2")
        delays.append(try await delay("default route restored", program, Self.up, since: moment))
        moment = try namespace.ip("link set veth0 down")
        delays.append(try await delay("link down", program, "notReachable", since: moment))
        try namespace.ip("link set veth0 up")
        moment = try namespace.ip("route add default via 10.77.0.2")
        // Not measured: the kernel itself looks at the carrier of a link no more than once a second.
        _ = try await program.time(of: Self.up, after: moment.start)
        moment = try namespace.ip("addr del 10.77.0.1/24 dev veth0")
        delays.append(try await delay("address removed", program, "notReachable", since: moment))
        try namespace.ip("addr add 10.77.0.1/24 dev veth0")
        moment = try namespace.ip("route add default via 10.77.0.2")
        delays.append(try await delay("address back", program, Self.up, since: moment))
        // A route to one host is no way to any destination: nothing is said of it.
        try namespace.ip("route add 198.51.100.7/32 via 10.77.0.2")
        moment = try namespace.ip("route del default")
        delays.append(try await delay("default route removed, host route left", program, "notReachable", since: moment))
        let turns = [Self.up, "notReachable"]
        #expect(program.said == turns + turns + turns + turns, "no status comes twice in a row")
        return delays
    }

    @Test("a host is reachable by a route of its own without a default route")
    func host() async throws {
        try await expectSoon(playHost)
    }

    private func playHost() async throws -> [Delay] {
        var delays: [Delay] = []
        let namespace = try NetworkNamespace()
        let program = try NamespacedProgram(network: "watch", "198.51.100.7", in: namespace)
        _ = try await program.time(of: Self.up)
        var moment = try namespace.ip("route del default")
        delays.append(try await delay("default route removed, for a host", program, "notReachable", since: moment))
        moment = try namespace.ip("route add 198.51.100.7/32 via 10.77.0.2")
        delays.append(try await delay("host route added", program, Self.up, since: moment))
        moment = try namespace.ip("route del 198.51.100.7/32")
        delays.append(try await delay("host route removed", program, "notReachable", since: moment))
        #expect(program.said == [Self.up, "notReachable", Self.up, "notReachable"])
        return delays
    }

    @Test("a link by the name of a modem counts as cellular")
    func cellular() async throws {
        let namespace = try NetworkNamespace()
        try namespace.ip("link set veth0 down")
        try namespace.ip("link set veth0 name wwan0")
        try namespace.ip("link set wwan0 up")
        try namespace.ip("route add default via 10.77.0.2")
        let program = try NamespacedProgram(network: "watch", in: namespace)
        _ = try await program.time(of: Self.up.replacingOccurrences(of: "ethernetOrWiFi", with: "cellular"))
    }

    /// Python's own server at the other end, on all its addresses.
    private func server(_ namespace: NetworkNamespace) async throws -> NamespacedProgram {
        let script = """
            import http.server, socketserver, time
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"ok")
            server = http.server.HTTPServer(("0.0.0.0", 8080), Handler)
            print(time.time_ns(), "listening", flush=True)
            server.serve_forever()
            """
        let program = try NamespacedProgram(["/usr/bin/python3", "-c", script], in: namespace.peer)
        _ = try await program.time(of: "listening")
        return program
    }

    @Test("the offline retrier completes a request when the route returns")
    func offlineRetrier() async throws {
        let namespace = try NetworkNamespace()
        let server = try await server(namespace)
        try namespace.ip("route del default")
        let program = try NamespacedProgram(network: "retry", "http://198.51.100.7:8080/", in: namespace)
        _ = try await program.time(of: "started")
        try namespace.ip("addr add 10.78.0.1/24 dev veth0")  // a change that is of no use to it
        let moment = try namespace.ip("route add default via 10.77.0.2")
        _ = try await program.time(of: "done", after: moment.start)
        #expect(program.said.filter { $0 == "done" || $0.hasPrefix("failed") } == ["done"])
        withExtendedLifetime(server) {}
    }

    @Test("a request that waits for connectivity goes when the route comes, and times out when none does")
    func waitsForConnectivity() async throws {
        let namespace = try NetworkNamespace()
        let server = try await server(namespace)
        try namespace.ip("route del default")
        let program = try NamespacedProgram(network: "wait", "http://198.51.100.7:8080/", in: namespace)
        _ = try await program.time(of: "waiting")
        let moment = try namespace.ip("route add default via 10.77.0.2")
        _ = try await program.time(of: "done", after: moment.start)
        try namespace.ip("route del default")
        let hopeless = try NamespacedProgram(network: "wait", "http://198.51.100.7:8080/", "3", in: namespace)
        let line = try await hopeless.lines.first { $0.contains("failed") }
        #expect(line.hasSuffix("failed -1001"))
        withExtendedLifetime(server) {}
    }

    @Test("without a retrier a request without a route is notConnectedToInternet")
    func offlineError() async throws {
        let namespace = try NetworkNamespace()
        try namespace.ip("route del default")
        let program = try NamespacedProgram(network: "retry", "http://198.51.100.7:8080/", "3", in: namespace)
        try await program.lines.first { $0.contains("failed") }
        #expect(program.said.last == "failed -1009")
    }
}
