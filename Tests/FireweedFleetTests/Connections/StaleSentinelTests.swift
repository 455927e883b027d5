// Sentinels that name a server which cannot be written.

import FireweedFleet
import FixtureServer
import Testing

@Suite("Sentinels of different opinions", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StaleSentinelTests {
    /// A sentinel that names a server again and again.
    private func sentinel(naming server: RedisServer) throws -> ScriptedServer {
        let question = RESPArgument.encode(["SENTINEL", "get-master-addr-by-name", "main"]).count
        return try ScriptedServer.start(scripts: [
            [
                .receive(byteCount: question),
                .send("*2\r\n$9\r\n127.0.0.1\r\n$\("\(server.port)".utf8.count)\r\n\(server.port)\r\n"), .hold,
            ]
        ])
    }

    private func fleet(_ sentinels: [ScriptedServer]) throws -> Fleet {
        let places = sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        return try Fleet(url: "redis+sentinel://\(places)/main", configuration: .patient)
    }

    @Test("a sentinel that names a replica, or a server that is away, is passed over", arguments: [true, false])
    func replica(isReplica: Bool) async throws {
        let primary = try RedisServer()
        let old = try RedisServer(isReplica ? ["--replicaof", "127.0.0.1", "\(primary.port)"] : [])
        let sentinels = [try sentinel(naming: old), try sentinel(naming: primary)]
        if !isReplica { try old.stop() }
        let fleet = try fleet(sentinels)
        #expect(try await fleet.command("SET", "a", "1") == .simple("OK"))
    }

    @Test("a primary that has lost its replicas is left for the one that another sentinel names")
    func separated() async throws {
        let primary = try RedisServer()
        // As after a partition: the server takes itself for the primary, and takes no writes.
        let old = try RedisServer(["--min-replicas-to-write", "1"])
        let sentinels = [try sentinel(naming: old), try sentinel(naming: primary)]
        let fleet = try fleet(sentinels)
        await #expect(throws: FleetError.readOnly) { try await fleet.command("SET", "a", "1") }
        #expect(try await fleet.command("SET", "a", "1") == .simple("OK"))
    }
}
