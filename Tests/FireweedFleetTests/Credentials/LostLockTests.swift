// A lock that the server loses while its owner refreshes.

import FixtureServer
import Foundation
import Testing

@testable import Fireweed
@testable import FireweedFleet

private struct Token: AuthenticationCredential, Codable, Sendable, Equatable {
    let number: Int
    var requiresRefresh: Bool { false }
}

/// An origin that rotates refresh tokens revokes all tokens of a login when two processes use the same one (RFC 9700
/// §4.14.2).
@Suite("Locks that the server loses", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LostLockTests {
    enum Loss: CaseIterable { case flushed, restarted }

    private let server: RedisServer
    private let key = Data(repeating: 3, count: 32)
    private let steps = EventLog<String>()

    init() throws {
        server = try RedisServer()
    }

    private func fleet() throws -> Fleet { try Fleet(url: server.url, configuration: .patient) }

    private func vault(_ name: String) throws -> CredentialVault<Token> {
        var options = CredentialVault<Token>.Options()
        options.eventHandler = { [steps] event in
            switch event {
            case .waiting: steps.note("\(name) waits")
            case .adopted: steps.note("\(name) adopts")
            case .refreshed: steps.note("\(name) stores")
            case .waitingForStore, .refreshingAlone, .notStored: break
            }
        }
        // An owner that is late on a loaded machine is waited for.
        let store = FleetCredentialStore(fleet: try fleet(), lockRecovery: .seconds(3))
        return try CredentialVault(store: store, name: "api", keys: [key], options: options)
    }

    /// A refresh of a token that ends when the test says so.
    private func refresh(
        _ vault: CredentialVault<Token>, _ name: String, of number: Int = 1
    ) -> Task<Token, any Error> {
        Task { [steps] in
            try await vault.refreshed(Token(number: number)) { token in
                steps.note("\(name) refreshes")
                try await steps.next("go")
                return Token(number: token.number + 1)
            }
        }
    }

    private func lose(_ loss: Loss) async throws {
        switch loss {
        case .flushed: try await fleet().command("FLUSHALL")
        case .restarted:
            try server.stop()
            try server.start()
        }
    }

    /// Waits until the server has run so many more scripts, as those of refreshes that wait, or until `name` refreshes.
    private func looks(_ count: Int, orRefreshOf name: String) async throws {
        let watch = try fleet()
        func calls() async throws -> Int {
            let statistics = try await watch.command("INFO", "commandstats").text ?? ""
            return statistics.split(separator: "\r\n").filter { $0.hasPrefix("cmdstat_eval") }.reduce(0) { sum, line in
                sum + (line.split(separator: ",").first?.split(separator: "=").last.flatMap { Int($0) } ?? 0)
            }
        }
        let before = try await calls()
        while try await calls() < before + count, !steps.events.contains("\(name) refreshes") { await Task.yield() }
    }

    /// Lets a refresh begin, loses its lock, and lets another one begin, which waits for the first.
    private func refreshBoth(
        _ one: CredentialVault<Token>, _ two: CredentialVault<Token>, losing loss: Loss
    ) async throws {
        let first = refresh(one, "one")
        try await steps.next("one refreshes")
        try await lose(loss)
        let second = refresh(two, "two")
        try await looks(20, orRefreshOf: "two")
        steps.note("go")
        #expect(try await first.value == Token(number: 2))
        #expect(try await second.value == Token(number: 2))
        #expect(!steps.events.contains("two refreshes"))
    }

    @Test("a refresh that waits for another one does not begin when the lock is lost", arguments: Loss.allCases)
    func waiting(loss: Loss) async throws {
        let (one, two) = (try vault("one"), try vault("two"))
        let first = refresh(one, "one")
        try await steps.next("one refreshes")
        let second = refresh(two, "two")
        try await steps.next("two waits")
        try await lose(loss)
        try await looks(20, orRefreshOf: "two")
        steps.note("go")
        #expect(try await first.value == Token(number: 2))
        #expect(try await second.value == Token(number: 2))
        #expect(!steps.events.contains("two refreshes"))
        #expect(try await two.credential() == Token(number: 2))
    }

    @Test("a refresh that begins after the loss of a lock waits for its owner", arguments: [true, false])
    func beginning(isKnown: Bool) async throws {
        let (one, two) = (try vault("one"), try vault("two"))
        if isKnown {
            try await one.set(Token(number: 1))
            #expect(try await two.credential() == Token(number: 1))
        }
        try await refreshBoth(one, two, losing: .flushed)
    }

    @Test(
        "a server that starts anew with the credential, and without its lock, is known to every process",
        arguments: [true, false])
    func restored(isGivenBack: Bool) async throws {
        let (one, two) = (try vault("one"), try vault("two"))
        try await one.set(Token(number: 1))
        if isGivenBack {
            // The mark of a lock that was given back may come again too.
            let store = FleetCredentialStore(fleet: try fleet())
            let name = Hash.sha256.hexadecimalDigest(of: "api")
            #expect(try await store.look(name, owner: "zero", lease: .seconds(60)).hasLock)
            try await store.release(name, owner: "zero")
        }
        try await fleet().command("SAVE")
        try await refreshBoth(one, two, losing: .restarted)
        let third = refresh(try vault("three"), "three", of: 2)
        try await steps.next("three refreshes")
        steps.note("go")
        #expect(try await third.value == Token(number: 3))
    }

    @Test("another run of the server counts for a lease from the first look, after a failover too")
    func runs() async throws {
        let fleet = try fleet()
        let store = FleetCredentialStore(fleet: fleet)
        let entry = StoredCredential(version: 1, sealed: Data([1]))
        func look(knowing run: String? = nil) async throws -> CredentialLook {
            try await store.look(
                "a", owner: "two", lease: .seconds(60), unlessLost: KnownLock(version: 1, run: run))
        }
        #expect(try await store.replace("a", expecting: 0, with: entry, owner: "one"))
        #expect(try await look().hasLock)
        try await store.release("a", owner: "two")
        try await fleet.command("HSET", fleet.key("credential", "a"), "run", "another")
        var lost = try await look()
        #expect(lost.isLockLost && !lost.hasLock && lost.entry == entry)
        #expect(lost.lockLeft == .seconds(60))
        let primary = try RedisServer()
        try await fleet.command("REPLICAOF", "127.0.0.1", RESPArgument(primary.port))
        while try await fleet.command("INFO", "replication").text?.contains("master_link_status:up") != true {
            await Task.yield()
        }
        try await fleet.command("REPLICAOF", "NO", "ONE")
        #expect(try await store.replace("a", expecting: 0, with: entry, owner: "one"))
        try await fleet.command("HSET", fleet.key("credential", "a"), "run", "another")
        lost = try await look()
        #expect(lost.isLockLost && lost.lockLeft == .seconds(60))
        #expect(try await look(knowing: lost.run).hasLock)
        try await store.release("a", owner: "two")
        #expect(try await look().hasLock, "the credential is of this run now")
    }

    @Test("a lease that has ended without its owner holds up those who did not see its end")
    func endedLease() async throws {
        let fleet = try fleet()
        let store = FleetCredentialStore(fleet: fleet)
        func look(_ owner: String, _ known: KnownLock = KnownLock(version: 1)) async throws -> CredentialLook {
            try await store.look("a", owner: owner, lease: .seconds(60), unlessLost: known)
        }
        let entry = StoredCredential(version: 1, sealed: Data([1]))
        #expect(try await store.replace("a", expecting: 0, with: entry, owner: "zero"))
        #expect(try await look("one").hasLock)
        // As the end of the lease.
        try await fleet.command("DEL", fleet.key("credential-lock", "a"))
        let new = try await look("two")
        #expect(new.isLockLost && !new.hasLock && new.lockLeft == .seconds(60) && new.entry == entry)
        #expect(try await look("three", KnownLock(hasEnded: true, version: 1)).hasLock)
        // The first owner stores what it has refreshed, and its lock is the third one's by now.
        let next = StoredCredential(version: 2, sealed: Data([2]))
        #expect(try await store.replace("a", expecting: 1, with: next, owner: "one"))
        #expect(try await !look("two").hasLock)
        try await store.release("a", owner: "three")
        #expect(try await look("two").hasLock)
        // A lock that its owner takes again has a holder again.
        try await fleet.command("FLUSHALL")
        #expect(try await store.renew("a", owner: "two", lease: .seconds(60)))
        try await fleet.command("DEL", fleet.key("credential-lock", "a"))
        #expect(try await look("three", KnownLock()).isLockLost)
        #expect(try await look("two", KnownLock()).hasLock, "its own")
        try await store.release("a", owner: "two")
        #expect(try await fleet.command("EXISTS", fleet.key("credential", "a")).integer == 0)
    }

    @Test("an owner whose credential was lost keeps its lock until it has stored the outcome")
    func keptLock() async throws {
        let fleet = try fleet()
        let store = FleetCredentialStore(fleet: fleet)
        let entry = StoredCredential(version: 1, sealed: Data([1]))
        #expect(try await store.look("a", owner: "one", lease: .seconds(60)).hasLock)
        #expect(try await !store.replace("a", expecting: 3, with: entry, owner: "one"))
        #expect(try await !store.look("a", owner: "two", lease: .seconds(60)).hasLock)
        #expect(try await store.replace("a", expecting: 0, with: entry, owner: "one"))
        #expect(try await store.look("a", owner: "two", lease: .seconds(60)).hasLock)
    }

    @Test("a server that becomes the primary once more is another run")
    func failedBack() async throws {
        let fleet = try fleet()
        let store = FleetCredentialStore(fleet: fleet)
        func look() async throws -> CredentialLook {
            try await store.look("a", owner: "one", lease: .seconds(60), unlessLost: KnownLock(version: 1))
        }
        #expect(
            try await store.replace(
                "a", expecting: 0, with: StoredCredential(version: 1, sealed: Data([1])), owner: "one"))
        #expect(try await look().hasLock)
        try await store.release("a", owner: "one")
        let other = try RedisServer()
        let otherFleet = try Fleet(url: other.url, configuration: .patient)
        try await otherFleet.command("REPLICAOF", "127.0.0.1", RESPArgument(server.port))
        func waitForLink(_ fleet: Fleet) async throws {
            while try await fleet.command("INFO", "replication").text?.contains("master_link_status:up") != true {
                await Task.yield()
            }
        }
        try await waitForLink(otherFleet)
        try await otherFleet.command("REPLICAOF", "NO", "ONE")
        try await fleet.command("REPLICAOF", "127.0.0.1", RESPArgument(other.port))
        try await waitForLink(fleet)
        try await fleet.command("REPLICAOF", "NO", "ONE")
        #expect(try await look().isLockLost, "the process is the one that the credential was stored at")
    }

    @Test("a user who may not ask for the server's run refreshes as well")
    func withoutInfo() async throws {
        let rights = ["on", ">secret", "~fireweed:*", "resetchannels", "+@all", "-@admin", "-@dangerous"]
        try await fleet().command(["ACL", "SETUSER", "fireweed"] + rights.map { RESPArgument($0) })
        let url = server.url.replacing("redis://", with: "redis://fireweed:secret@")
        let vault: CredentialVault<Token> = try Fleet(url: url, configuration: .patient)
            .credentialVault(name: "api", key: key)
        try await vault.set(Token(number: 1))
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
        #expect(try await vault.credential() == Token(number: 2))
    }

    @Test("a lock that was given back is free at once, and its owner's late renewal does not take it again")
    func givenBack() async throws {
        let fleet = try fleet()
        let store = FleetCredentialStore(fleet: fleet)
        let known = KnownLock(isHeld: true, version: 1)
        #expect(try await store.look("a", owner: "one", lease: .seconds(60)).hasLock)
        let held = try await store.look("a", owner: "two", lease: .seconds(60), unlessLost: known)
        #expect(!held.hasLock && !held.isLockLost && held.lockLeft ?? .zero > .seconds(30))
        try await store.release("a", owner: "one")
        #expect(try await !store.renew("a", owner: "one", lease: .seconds(60)))
        #expect(try await store.look("a", owner: "two", lease: .seconds(60), unlessLost: known).hasLock)
        try await fleet.command("FLUSHALL")
        let lost = try await store.look("a", owner: "three", lease: .seconds(60), unlessLost: known)
        #expect(lost.isLockLost && !lost.hasLock)
        #expect(try await store.renew("a", owner: "two", lease: .seconds(60)))
    }

    @Test("a refresh that fails leaves its lock to one that waits, which need not wait for the end of the lease")
    func failed() async throws {
        let (one, two) = (try vault("one"), try vault("two"))
        let first = Task { [steps] in
            try await one.refreshed(Token(number: 1)) { _ in
                steps.note("one refreshes")
                try await steps.next("fail")
                throw URLError(.timedOut)
            }
        }
        try await steps.next("one refreshes")
        let second = refresh(two, "two")
        try await steps.next("two waits")
        steps.note("fail")
        await #expect(throws: URLError.self) { try await first.value }
        try await steps.next("two refreshes")
        steps.note("go")
        #expect(try await second.value == Token(number: 2))
    }
}
