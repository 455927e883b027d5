// Every part of a fleet with the settings that a service has.

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

/// Other tests have deadlines that hold on a loaded machine; these have 100 ms, and repeat what failed for that.
@Suite("A fleet with its default settings", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DefaultSettingsTests {
    private let redis: RedisServer

    init() throws {
        redis = try RedisServer()
    }

    /// Calls `body` until the server's answer comes in time.
    private func repeated<Value>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            do {
                return try await body()
            } catch let error as FleetError where error.isOutage {
                await Task.yield()
            } catch FleetError.circuitOpen {
                await Task.yield()
            }
        }
    }

    @Test("commands and scripts are answered")
    func commands() async throws {
        let fleet = try Fleet(url: redis.url)
        #expect(fleet.configuration.commandDeadline == .milliseconds(100))
        #expect(try await repeated { try await fleet.command("PING") } == .simple("PONG"))
        let script = RESPScript("return ARGV[1]")
        #expect(try await repeated { try await fleet.evaluate(script, keys: [], arguments: ["a"]) }.text == "a")
    }

    @Test("a response is found by another process")
    func cache() async throws {
        let fleets = try (0..<2).map { _ in try Fleet(url: redis.url) }
        let origin = Counter()
        let server = try MockServer.start {
            Stub.any().reply { _ in .text("\(origin.increment())").header("Cache-Control", "max-age=3600") }
        }
        defer { server.stop() }
        let sessions = fleets.map {
            Session(configuration: .af.ephemeral, options: SessionOptions(asyncResponseStore: FleetCache(fleet: $0)))
        }
        // Where an answer was late, a look is a miss, and a response is not stored.
        var (first, second) = ("", "-")
        while first != second {
            first = try await sessions[0].request(server.url("/")).serializingString().value
            await sessions[0].flushResponseStore()
            second = try await sessions[1].request(server.url("/")).serializingString().value
        }
    }

    @Test("a token is refreshed once")
    func vault() async throws {
        let fleets = try (0..<2).map { _ in try Fleet(url: redis.url) }
        let vaults = try fleets.map { fleet in
            try fleet.credentialVault(of: Token.self, name: "api", key: Data(repeating: 1, count: 32))
        }
        let refreshes = Counter()
        let tokens = try await withThrowingTaskGroup(of: Token.self) { group in
            for index in 0..<8 {
                group.addTask {
                    try await vaults[index % 2].refreshed(Token(number: 1)) { token in
                        refreshes.increment()
                        return Token(number: token.number + 1)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Token(number: 2), count: 8) && refreshes.value == 1)
    }

    @Test("a limit with many processes gives every request its slot")
    func limiter() async throws {
        let fleets = try (0..<4).map { _ in
            var configuration = Fleet.Configuration()
            configuration.fleetSize = 4
            return try Fleet(url: redis.url, configuration: configuration)
        }
        let sessions = fleets.map { fleet in
            Session.stubbed(interceptor: fleet.rateLimiter(RateLimit(200))) { Stub.any().reply(.text("ok")) }
        }
        let tasks = (0..<40).map { sessions[$0 % 4].request("https://a.test/\($0)").serializingData() }
        for task in tasks { #expect(await task.response.error == nil) }
    }
}
