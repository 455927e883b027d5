// A primary that is replaced by its replica.

import FireweedFleet
import FireweedTesting
import FixtureServer
import Foundation
import Testing

@Suite("Sentinel", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SentinelTests {
    @Test("after a failover commands go to the new primary, whichever sentinel is there to ask")
    func failover() async throws {
        let primary = try RedisServer()
        let replica = try RedisServer(["--replicaof", "127.0.0.1", "\(primary.port)"])
        let sentinel = try RedisServer(
            sentinelConfiguration: """
                sentinel monitor main 127.0.0.1 \(primary.port) 1
                sentinel down-after-milliseconds main 500
                sentinel failover-timeout main 3000

                """)
        let watch = try Fleet(url: sentinel.url, configuration: .patient)
        // Only a replica that the sentinel knows and that has the data can take over.
        while try await watch.command("SENTINEL", "replicas", "main").elements?.isEmpty != false { await Task.yield() }
        let copy = try Fleet(url: replica.url, configuration: .patient)
        while try await copy.command("INFO", "replication").text?.contains("master_link_status:up") != true {
            await Task.yield()
        }
        let unused = try #require(MockServer.refusingURL().port)
        let events = FleetEvents()
        let fleet = try Fleet(
            url: "redis+sentinel://127.0.0.1:\(unused),127.0.0.1:\(sentinel.port)/main/2",
            configuration: events.configuration(deadline: .seconds(2)))
        while (try? await fleet.command("SET", "a", "1")) == nil {}
        #expect(try await fleet.command("INFO", "server").text?.contains("tcp_port:\(primary.port)") == true)
        try primary.stop()
        while (try? await fleet.command("SET", "a", "2")) == nil { await Task.yield() }
        #expect(try await fleet.command("INFO", "server").text?.contains("tcp_port:\(replica.port)") == true)
    }
}
