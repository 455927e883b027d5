import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("The name that is looked up", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LookedUpNameTests {
    /// A name service that notes each name, and gives every name the same addresses.
    private final class Names: Sendable {
        let asked = EventLog<String>()
        private let answer: NameResolver.Answer

        init(_ addresses: [String]) {
            answer = .addresses(addresses.compactMap { IPAddress($0) }.map { .internet($0, port: 0) })
        }

        var parts: EngineParts {
            var parts = EngineParts()
            parts.resolver = NameResolver(lookUp: { [self] name in
                asked.note(name)
                return answer
            })
            return parts
        }
    }

    private let exchange: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small)]

    @Test(
        "a final dot is kept through the look-up, and does not appear in other places",
        arguments: [
            ("good.test", "good.test"), ("good.test.", "good.test."), ("GOOD.Test.", "good.test."),
            ("internal.", "internal."), ("b%C3%BCcher.test.", "xn--bcher-kva.test."),
        ])
    func finalDot(host: String, name: String) async throws {
        let server = try ScriptedServer.start(exchange + [.hold])
        let names = Names(["127.0.0.1"])
        try await EngineStage.play(parts: names.parts) { stage in
            let transfer = stage.transfer(server.url()) { $0.url = "http://\(host):\(server.port)/" }
            transfer.start()
            try await transfer.end()
            #expect(transfer.code == nil, "\(transfer.failureText)")
        }
        #expect(names.asked.events == [name])
    }

    @Test("one look-up finds both families, and the name with a final dot is another name")
    func oneQuestion() async throws {
        let server = try ScriptedServer.start(exchange + exchange + [.hold])
        let names = Names(["127.0.0.1", "::1"])
        try await EngineStage.play(parts: names.parts) { stage in
            for host in ["good.test", "good.test", "good.test."] {
                let transfer = try await stage.end(try #require(URL(string: "http://\(host):\(server.port)/")))
                #expect(transfer.code == nil)
            }
        }
        #expect(names.asked.events == ["good.test", "good.test."])
        let connections = server.events.events.filter { if case .accepted = $0 { true } else { false } }
        #expect(connections.count == 2)
    }

    @Test(
        "addresses of the other version of IP are left out",
        arguments: [
            (IPVersion.v4, ["::1", "127.0.0.1"], nil), (.v6, ["127.0.0.1"], URLError.Code.cannotFindHost),
            (.v4, ["::1"], .cannotFindHost), (.any, ["127.0.0.1"], nil),
        ] as [(IPVersion, [String], URLError.Code?)])
    func versions(version: IPVersion, addresses: [String], code: URLError.Code?) async throws {
        let server = try ScriptedServer.start(exchange + [.hold])
        try await EngineStage.play(parts: Names(addresses).parts, { $0.ipVersion = version }) { stage in
            let transfer = try await stage.end(try #require(URL(string: "http://good.test:\(server.port)/")))
            #expect(transfer.code == code, "\(transfer.failureText)")
            let address = transfer.record.end?.report.remoteEndpoint?.address
            #expect(address == (code == nil ? "127.0.0.1" : nil))
        }
    }

    @Test("routes and proxies are looked up by their complete names")
    func otherPlaces() async throws {
        let server = try ScriptedServer.start(exchange + [.hold])
        let url = try #require(URL(string: "http://good.test:\(server.port)/"))
        let proxy = Proxy(host: "Proxy.test.", port: Int(server.port))
        let rows: [(name: String, change: (inout TransportOptions) -> Void)] = [
            ("route.test.", { $0.connectionRoutes = [ConnectionRoute(targetHost: "route.test.")] }),
            ("proxy.test.", { $0.proxy = proxy }),
        ]
        for row in rows {
            let names = Names(["127.0.0.1"])
            try await EngineStage.play(parts: names.parts, row.change) { stage in
                let transfer = try await stage.end(url)
                #expect(transfer.code == nil, "\(transfer.failureText)")
            }
            #expect(names.asked.events == [row.name])
        }
    }

    @Test("a SOCKS proxy is told the address of the complete name, or that name", arguments: ["socks5", "socks5h"])
    func socks(scheme: String) async throws {
        let server = try ScriptedServer.start(exchange + [.hold])
        let proxy = try SOCKSProxyServer()
        let names = Names(["127.0.0.1"])
        try await EngineStage.play(parts: names.parts, { $0.proxy = Proxy("\(scheme)://127.0.0.1:\(proxy.port)") }) {
            stage in
            // The test's proxy knows the name `localhost` alone.
            let host = scheme == "socks5h" ? "localhost" : "good.test."
            let transfer = try await stage.end(try #require(URL(string: "http://\(host):\(server.port)/")))
            #expect(transfer.code == nil, "\(transfer.failureText)")
        }
        #expect(names.asked.events == (scheme == "socks5" ? ["good.test."] : []))
    }

    @Test("eight names whose server does not answer keep no other name waiting")
    func silentNames() async throws {
        let server = try ScriptedServer.start(exchange + [.hold])
        let service = SilentNameService()
        defer { service.answer() }
        var parts = EngineParts()
        parts.resolver = NameResolver(lookUp: { name in
            guard !name.hasSuffix("silent.test"), let address = IPAddress("127.0.0.1") else {
                return service.lookUp(name)
            }
            return .addresses([.internet(address, port: 0)])
        })
        try await EngineStage.play(parts: parts) { stage in
            for number in 0..<20 {
                stage.transfer(try #require(URL(string: "http://\(number).silent.test/"))).start()
            }
            for number in 0..<20 { try await service.asked.next("\(number).silent.test") }
            let transfer = try await stage.end(try #require(URL(string: "http://good.test:\(server.port)/")))
            #expect(transfer.code == nil)
        }
    }
}
