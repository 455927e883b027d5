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
        return try fleet().credentialVault(name: "api", key: key, options: options)
    }

    /// A refresh of the first token that ends when the test says so.
    private func refresh(_ vault: CredentialVault<Token>, _ name: String) -> Task<Token, any Error> {
        Task { [steps] in
            try await vault.refreshed(Token(number: 1)) { token in
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
        let first = refresh(one, "one")
        try await steps.next("one refreshes")
        try await lose(.flushed)
        let second = refresh(two, "two")
        try await looks(20, orRefreshOf: "two")
        steps.note("go")
        #expect(try await first.value == Token(number: 2))
        #expect(try await second.value == Token(number: 2))
        #expect(!steps.events.contains("two refreshes"))
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
