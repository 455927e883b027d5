// Refreshes of several fleets at a server that is full.

import Fireweed
import FireweedFleet
import FireweedTransport
import FixtureServer
import Foundation
import Testing

private struct Token: AuthenticationCredential, Codable, Sendable, Equatable {
    let number: Int
    var requiresRefresh: Bool { false }
}

@Suite("Refreshes at a full server", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FullServerTests {
    private enum Report: Sendable, Equatable { case waits, waitsForStore, adopts, stores, isAlone, doesNotStore }

    /// What a process of a service has.
    private final class Member: Sendable {
        let fleetEvents = FleetEvents()
        let reports = EventLog<Report>()
        let vault: CredentialVault<Token>

        init(_ server: RedisServer, lease: Duration = .seconds(10), fallback: CredentialVaultFallback? = nil) throws {
            var options = CredentialVault<Token>.Options()
            options.lease = lease
            if let fallback { options.whenUnreachable = fallback }
            options.eventHandler = { [reports] event in
                switch event {
                case .waiting: reports.note(.waits)
                case .waitingForStore: reports.note(.waitsForStore)
                case .adopted: reports.note(.adopts)
                case .refreshed: reports.note(.stores)
                case .refreshingAlone: reports.note(.isAlone)
                case .notStored: reports.note(.doesNotStore)
                }
            }
            vault = try Fleet(url: server.url, configuration: fleetEvents.configuration())
                .credentialVault(name: "api", key: Data(repeating: 3, count: 32), options: options)
        }
    }

    private let server: RedisServer
    private let watch: Fleet
    private let refreshes = Counter()
    private let steps = EventLog<String>()

    init() throws {
        server = try RedisServer(["--maxmemory-policy", "noeviction"])
        watch = try Fleet(url: server.url, configuration: .patient)
    }

    private func setFull(_ isFull: Bool) async throws {
        try await watch.command("CONFIG", "SET", "maxmemory", isFull ? 1 : 0)
    }

    private func refresh(_ member: Member, waitingFor step: String? = nil) -> Task<Token, any Error> {
        Task { [refreshes, steps] in
            try await member.vault.refreshed(Token(number: 1)) { token in
                refreshes.increment()
                steps.note("refreshes")
                if let step { try await steps.next(step) }
                return Token(number: token.number + 1)
            }
        }
    }

    @Test("nobody refreshes before there is room, every process is told why, and then one refreshes for all")
    func waiting() async throws {
        try await setFull(true)
        let members = try (0..<3).map { _ in try Member(server) }
        let tasks = members.map { refresh($0) }
        for member in members {
            try await member.reports.next(.waitsForStore)
            #expect(member.fleetEvents.log.events.first == .degraded)
        }
        #expect(refreshes.value == 0)
        try await setFull(false)
        for task in tasks { #expect(try await task.value == Token(number: 2)) }
        #expect(refreshes.value == 1)
        #expect(members.count { $0.reports.events.contains(.stores) } == 1)
        #expect(members.count { $0.reports.events.contains(.adopts) } == 2)
    }

    @Test("a refresh that does not wait fails with the reason, and nobody refreshes")
    func failing() async throws {
        try await setFull(true)
        let members = try (0..<3).map { _ in try Member(server, fallback: .fail) }
        for task in members.map({ refresh($0) }) {
            await #expect(throws: FleetError.outOfMemory) { try await task.value }
        }
        #expect(refreshes.value == 0)
    }

    @Test("a process whose outcome is not stored keeps its lock until it is")
    func unstored() async throws {
        // No lock of this test ends while the machine is busy with others: it could not be taken again.
        let members = try (0..<2).map { _ in try Member(server, lease: .seconds(TestTimeouts.seconds)) }
        let first = refresh(members[0], waitingFor: "go")
        try await steps.next("refreshes")
        let second = refresh(members[1])
        try await members[1].reports.next(.waits)
        try await setFull(true)
        steps.note("go")
        #expect(try await first.value == Token(number: 2))
        try await members[0].reports.next(.doesNotStore)
        let lock = watch.key("credential-lock", Hash.sha256.hexadecimalDigest(of: "api"))
        let owner = try #require(try await watch.command("GET", lock).text)
        // Attempts to store, each of which makes the lock longer.
        for _ in 0..<5 {
            let renewals = try await renewals()
            while try await self.renewals() == renewals { await Task.yield() }
        }
        #expect(try await watch.command("GET", lock).text == owner)
        try await setFull(false)
        #expect(try await second.value == Token(number: 2))
        #expect(refreshes.value == 1)
        try await members[0].reports.next(.stores)
    }

    /// How often a lock was made longer.
    private func renewals() async throws -> String {
        let statistics = try await watch.command("INFO", "commandstats").text ?? ""
        return statistics.split(separator: "\r\n").first { $0.hasPrefix("cmdstat_pexpire:") }.map {
            String($0.prefix { $0 != "," })
        } ?? ""
    }
}
