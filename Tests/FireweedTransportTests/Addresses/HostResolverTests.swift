import Dispatch
import FixtureServer
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("Look-ups of names", .timeLimit(.minutes(Patience.minutes)))
struct HostResolverTests {
    /// Look-ups that end when the test says so.
    private final class NameServer: Sendable {
        let asked = EventLog<String>()
        private let highest = Mutex<(now: Int, most: Int)>((0, 0))
        private let gate = DispatchGroup()

        init() { gate.enter() }

        var most: Int { highest.withLock { $0.most } }

        /// Blocks its thread, as getaddrinfo(3) does.
        func lookUp(_ host: String) -> HostResolver.Outcome {
            highest.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
            }
            asked.note(host)
            gate.wait()
            highest.withLock { $0.now -= 1 }
            return host.hasPrefix("none") ? .failed("no such name") : .addresses([host])
        }

        func answer() { gate.leave() }
    }

    @Test("so many threads at most look names up, and each name once for all who ask; the others wait in line")
    func bound() async throws {
        let server = NameServer()
        let resolver = HostResolver(threadLimit: 4) { server.lookUp($0) }
        let outcomes = EventLog<String>()
        for number in 0..<100 {
            let name = number % 10 == 0 ? "none\(number)" : "host\(number)"
            for _ in 0..<2 {
                _ = resolver.lookUp(name) { outcome in
                    switch outcome {
                    case .addresses(let found): outcomes.note(found.joined())
                    case .scoped: outcomes.note("scoped")
                    case .failed: outcomes.note(name)
                    }
                }
            }
        }
        try await server.asked.nth(4) { _ in true }
        #expect(server.asked.events.count == 4)
        server.answer()
        try await outcomes.nth(200) { _ in true }
        #expect(server.most == 4)
        #expect(server.asked.events.count == 100)
        #expect(Set(outcomes.events).count == 100)
    }

    @Test("a name that nobody waits for any more leaves the line; a cancelled handler is not called")
    func cancel() async throws {
        let server = NameServer()
        let resolver = HostResolver(threadLimit: 1) { server.lookUp($0) }
        let outcomes = EventLog<String>()
        func ask(_ host: String) -> HostResolver.Ticket { resolver.lookUp(host) { _ in outcomes.note(host) } }
        let running = ask("running")
        try await server.asked.next("running")
        let abandoned = ask("abandoned")
        let shared = [ask("shared"), ask("shared")]
        for ticket in [running, abandoned, shared[0], shared[0]] { resolver.cancel(ticket) }
        server.answer()
        try await outcomes.next("shared")
        _ = ask("last")
        try await outcomes.next("last")
        #expect(outcomes.events == ["shared", "last"])
        #expect(server.asked.events == ["running", "shared", "last"])
    }

    @Test(
        "only names that the system looks up are looked up here",
        arguments: [
            ("http://example.com", "example.com"), ("https://EXAMPLE.com:8443", "example.com"),
            ("http://user:word@example.com:80", "example.com"), ("http://vm", "vm"), ("http://127.0.0.1:80", nil),
            ("http://0x7f.1", nil), ("http://[::1]:80", nil), ("http://localhost:80", nil), ("http://a.localhost", nil),
            ("http://hidden.onion", nil), ("http://dot.test.", nil), ("http://known.test", nil),
            ("http://bücher.test", nil),
            ("http://", nil), ("http:/", nil), ("", nil),
        ])
    func names(origin: String, host: String?) {
        var options = TransportOptions()
        options.proxy = Proxy.none
        options.addressOverrides = ["known.test": ["127.0.0.1"]]
        #expect(OriginAddresses(origin: origin, options: options)?.host == host)
    }
}
