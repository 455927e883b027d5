// Commands over real connections to a real server.

import Fireweed
import FireweedFleet
import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Commands of a fleet", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FleetCommandTests {
    private func fleet(_ url: String) throws -> Fleet { try Fleet(url: url, configuration: .patient) }

    @Test("over TCP and over a Unix-domain socket, what is stored is read")
    func roundTrip() async throws {
        let server = try RedisServer()
        for url in ["\(server.url)/3", "\(server.socketURL)?db=3"] {
            let fleet = try fleet(url)
            let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
            try await fleet.command("SET", fleet.key("test", "a"), RESPArgument(bytes), "PX", 60_000)
            #expect(try await fleet.command("GET", fleet.key("test", "a")) == .bulk(bytes))
            #expect(try await fleet.command("GET", fleet.key("test", "b")).isNull)
            #expect(try await fleet.command("DBSIZE").integer == 1, "the database was selected")
            try await fleet.command("FLUSHDB")
        }
    }

    @Test("over TLS the server's certificate is judged by our trust")
    func secure() async throws {
        let authority = try CertificateAuthority()
        let server = try RedisServer(certificate: try authority.issue())
        var configuration = Fleet.Configuration.patient
        configuration.transportOptions.certificateAuthorities = .file(authority.certificate)
        let trusted = try Fleet(url: server.secureURL, configuration: configuration)
        #expect(try await trusted.command("PING") == .simple("PONG"))
        configuration.serverTrustManager = ServerTrustManager(evaluators: [:])
        let refused = try Fleet(url: server.secureURL, configuration: configuration)
        await #expect(throws: FleetError.self) { try await refused.command("PING") }
        let unknown = try fleet(server.secureURL)
        await #expect(throws: FleetError.self) { try await unknown.command("PING") }
    }

    @Test("users and passwords are accepted or refused, in RESP3 and, where that is not spoken, in RESP2")
    func authentication() async throws {
        let server = try RedisServer(["--requirepass", "s3cret"])
        let url = "127.0.0.1:\(server.port)"
        for user in [":s3cret@", "default:s3cret@"] {
            #expect(try await fleet("redis://\(user)\(url)").command("PING") == .simple("PONG"))
        }
        for user in ["", ":wrong@", "nobody:s3cret@"] {
            do {
                try await fleet("redis://\(user)\(url)").command("PING")
                Issue.record("it was accepted")
            } catch FleetError.notAuthorised {}
        }
        let old = try RedisServer(["--requirepass", "s3cret", "--rename-command", "HELLO", ""])
        #expect(try await fleet("redis://:s3cret@127.0.0.1:\(old.port)/1").command("PING") == .simple("PONG"))
    }

    @Test("commands of many tasks share a connection, and each gets its own reply")
    func pipelining() async throws {
        let server = try RedisServer()
        let fleet = try fleet(server.url)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask {
                    let text = String(repeating: "\(number) ", count: number % 50 * 40)
                    let reply = try await fleet.command("ECHO", RESPArgument(text))
                    #expect(reply.text == text)
                }
            }
            try await group.waitForAll()
        }
        let clients = try await fleet.command("CLIENT", "LIST").text ?? ""
        #expect(clients.split(separator: "\n").count == 1)
    }

    @Test("error replies are the errors of a fleet")
    func errors() async throws {
        let server = try RedisServer(["--maxmemory", "1"])
        let fleet = try fleet(server.url)
        await #expect(throws: FleetError.outOfMemory) { try await fleet.command("SET", "a", "b") }
        try await fleet.command("CONFIG", "SET", "maxmemory", "0")
        try await fleet.command("SET", "a", "b")
        await #expect(throws: FleetError.wrongType) { try await fleet.command("LPUSH", "a", "b") }
        do {
            try await fleet.command("NOCOMMAND")
            Issue.record("it was accepted")
        } catch FleetError.server(let code, _) {
            #expect(code == "ERR")
        }
        #expect(!fleet.isDegraded, "a server that answers is no outage")
    }

    @Test("a script that the server does not know is sent whole")
    func scripts() async throws {
        let server = try RedisServer()
        let fleet = try fleet(server.url)
        let script = RESPScript("return {KEYS[1], ARGV[1]}")
        for _ in 0..<2 {
            let reply = try await fleet.evaluate(script, keys: ["k"], arguments: ["v"])
            #expect(reply.elements?.map(\.text) == ["k", "v"])
            try await fleet.command("SCRIPT", "FLUSH")
        }
    }

    @Test("a task that is cancelled does not wait, and the connection continues")
    func cancelling() async throws {
        let server = try RedisServer()
        let fleet = try fleet(server.url)
        try await fleet.command("PING")
        let blocked = Task { try await fleet.command("BLPOP", "nothing", 0, deadline: .seconds(60)) }
        let other = try self.fleet(server.url)
        while try await other.command("CLIENT", "LIST").text?.contains("cmd=blpop") != true {}
        blocked.cancel()
        await #expect(throws: CancellationError.self) { try await blocked.value }
        try await other.command("RPUSH", "nothing", "now")
        #expect(try await fleet.command("PING") == .simple("PONG"), "the late reply was dropped")
    }

    @Test("a connection that the server closed is made again with the next command")
    func killed() async throws {
        let server = try RedisServer()
        let fleet = try fleet(server.url)
        let identifier = try await fleet.command("CLIENT", "ID").integer ?? 0
        let other = try self.fleet(server.url)
        #expect(try await other.command("CLIENT", "KILL", "ID", "\(identifier)").integer == 1)
        var next: Int64?
        // The first command may be on its way when the end comes.
        while next == nil { next = try? await fleet.command("CLIENT", "ID").integer }
        #expect(next != identifier)
    }
}
