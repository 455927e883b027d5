// A primary that is replaced by its replica.

import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import Testing

@testable import FireweedFleet

private struct Token: AuthenticationCredential, Codable, Sendable, Equatable {
    let number: Int
    var requiresRefresh: Bool { false }
}

@Suite("Sentinel", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SentinelTests {
    private let primary: RedisServer
    private let replica: RedisServer
    private let sentinel: RedisServer

    init() throws {
        primary = try RedisServer()
        replica = try RedisServer(["--replicaof", "127.0.0.1", "\(primary.port)"])
        sentinel = try RedisServer(
            sentinelConfiguration: """
                sentinel monitor main 127.0.0.1 \(primary.port) 1
                sentinel down-after-milliseconds main 3000
                sentinel failover-timeout main 10000

                """)
    }

    /// Waits until the replica can take over: the sentinel knows it, and it has the data.
    private func waitForReplica() async throws {
        let watch = try Fleet(url: sentinel.url, configuration: .patient)
        while try await watch.command("SENTINEL", "replicas", "main").elements?.isEmpty != false { await Task.yield() }
        let copy = try Fleet(url: replica.url, configuration: .patient)
        while try await copy.command("INFO", "replication").text?.contains("master_link_status:up") != true {
            await Task.yield()
        }
    }

    /// A fleet whose first sentinel is not there.
    private func fleet() throws -> Fleet {
        let unused = try #require(MockServer.refusingURL().port)
        var configuration = Fleet.Configuration()
        configuration.commandDeadline = .seconds(10)
        return try Fleet(
            url: "redis+sentinel://127.0.0.1:\(unused),127.0.0.1:\(sentinel.port)/main/2", configuration: configuration)
    }

    @Test("after a failover commands go to the new primary, whichever sentinel is there to ask")
    func failover() async throws {
        try await waitForReplica()
        let fleet = try fleet()
        while (try? await fleet.command("SET", "a", "1")) == nil {}
        #expect(try await fleet.command("INFO", "server").text?.contains("tcp_port:\(primary.port)") == true)
        try primary.stop()
        while (try? await fleet.command("SET", "a", "2")) == nil { await Task.yield() }
        #expect(try await fleet.command("INFO", "server").text?.contains("tcp_port:\(replica.port)") == true)
    }

    @Test("sentinels have a password of their own")
    func password() async throws {
        let guarded = try RedisServer(
            sentinelConfiguration: """
                sentinel monitor main 127.0.0.1 \(primary.port) 1
                requirepass secret

                """)
        let url = "redis+sentinel://127.0.0.1:\(guarded.port)/main"
        for (user, password) in [(nil, "secret"), ("default", "secret")] as [(String?, String)] {
            var configuration = Fleet.Configuration.patient
            (configuration.sentinelUser, configuration.sentinelPassword) = (user, password)
            let fleet = try Fleet(url: url, configuration: configuration)
            #expect(try await fleet.command("PING") == .simple("PONG"))
            fleet.shutDown()
        }
        for password in [nil, "wrong"] {
            var configuration = Fleet.Configuration.patient
            configuration.sentinelPassword = password
            let fleet = try Fleet(url: url, configuration: configuration)
            await #expect(throws: FleetError.self) { try await fleet.command("PING") }
            fleet.shutDown()
        }
    }

    /// What a process of a service has.
    private struct Member {
        let fleet: Fleet
        let vault: CredentialVault<Token>
        let limits: FleetRateLimits
        let session: Session

        init(_ fleet: Fleet) throws {
            self.fleet = fleet
            vault = try fleet.credentialVault(name: "api", key: Data(repeating: 1, count: 32))
            limits = FleetRateLimits(fleet: fleet, name: "shared", fallback: .open)
            session = Session.stubbed(
                clock: TestClock.automatic, interceptor: fleet.rateLimiter(RateLimit(1, per: .seconds(60)))
            ) { Stub.any().reply(.text("ok")) }
        }

        func succeeds() async -> Bool {
            await session.request("https://api.example.com/").serializingData().response.error == nil
        }

        /// How long a request would have to wait now, at one in a thousand seconds.
        func wait() async throws -> Duration? {
            let slot = try await limits.reserve("k", limit: RateLimit(1, per: .seconds(1000)), maximumWait: nil)
            if case .after(let wait) = slot { return wait } else { return nil }
        }
    }

    @Test("the token and the slots are still shared after a failover, and no request fails meanwhile")
    func shared() async throws {
        try await waitForReplica()
        let members = try (0..<2).map { _ in try Member(try fleet()) }
        for member in members { while (try? await member.fleet.command("PING")) == nil {} }
        let refreshes = Counter()
        let renew = { @Sendable (token: Token) in
            refreshes.increment()
            return Token(number: token.number + 1)
        }
        #expect(try await members[0].vault.refreshed(Token(number: 1), by: renew) == Token(number: 2))
        #expect(try await members[0].wait() == .zero)
        #expect(await members[0].succeeds())
        // A write that is not on the replica is lost with its primary.
        #expect(try await members[0].fleet.command("WAIT", 1, 0).integer == 1)
        try primary.stop()
        for member in members { #expect(await member.succeeds(), "the process has its own share") }
        for member in members { while (try? await member.fleet.command("SET", "a", "1")) == nil { await Task.yield() } }
        #expect(try await members[1].vault.refreshed(Token(number: 1), by: renew) == Token(number: 2))
        #expect(refreshes.value == 1, "the new primary has the token")
        let tokens = try await withThrowingTaskGroup(of: Token.self) { group in
            for index in 0..<8 {
                group.addTask { try await members[index % 2].vault.refreshed(Token(number: 2), by: renew) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Token(number: 3), count: 8))
        #expect(refreshes.value == 2)
        #expect(try #require(try await members[1].wait()) > .seconds(500), "the slot before the failover counts")
        for member in members { #expect(await member.succeeds()) }
    }
}
