// Refreshes whose caller is cancelled, or whose store fails.

import FireweedTransport
import FixtureServer
import Foundation
import Testing

@testable import Fireweed
@testable import FireweedFleet

private struct Token: AuthenticationCredential, Codable, Sendable, Equatable {
    let number: Int
    var requiresRefresh: Bool { false }
}

private typealias Vault = CredentialVault<Token>

/// What a vault reports.
private enum Report: Sendable, Equatable { case waiting, adopted, refreshed, waitingForStore, alone, notStored }

@Suite("Credential vault with failures", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CredentialVaultFailureTests {
    private let key = Data(repeating: 3, count: 32)
    private let reports = EventLog<Report>()

    private func vault(
        over store: any CredentialStore, lease: Duration = .seconds(10), fallback: CredentialVaultFallback = .alone
    ) throws -> Vault {
        var options = Vault.Options()
        options.whenUnreachable = fallback
        options.lease = lease
        options.eventHandler = { [reports] event in
            switch event {
            case .waiting: reports.note(.waiting)
            case .adopted: reports.note(.adopted)
            case .refreshed: reports.note(.refreshed)
            case .waitingForStore: reports.note(.waitingForStore)
            case .refreshingAlone: reports.note(.alone)
            case .notStored: reports.note(.notStored)
            }
        }
        return try Vault(store: store, name: "api", keys: [key], options: options)
    }

    /// The name that the vault's store is called with.
    private var name: String { Hash.sha256.hexadecimalDigest(of: "api") }

    // MARK: Cancelled callers

    @Test("a caller that is cancelled waits no longer, and its refresh is stored nevertheless")
    func cancelled() async throws {
        let server = try RedisServer()
        let vaults = try (0..<2).map { _ in
            try Fleet(url: server.url, configuration: .patient)
                .credentialVault(of: Token.self, name: "api", key: key)
        }
        let steps = EventLog<String>()
        let caller = Task {
            try await vaults[0].refreshed(Token(number: 1)) { _ in
                steps.note("began")
                try await steps.next("go")
                return Token(number: 2)
            }
        }
        try await steps.next("began")
        caller.cancel()
        let other = Task {
            try await vaults[1].refreshed(Token(number: 1)) { _ in
                steps.note("refreshed twice")
                return Token(number: 9)
            }
        }
        await #expect(throws: CancellationError.self) { try await caller.value }
        steps.note("go")
        #expect(try await other.value == Token(number: 2))
        #expect(!steps.events.contains("refreshed twice"))
        #expect(try await vaults[1].credential() == Token(number: 2))
    }

    @Test("a look whose caller was cancelled gives its lock back, and nothing is refreshed")
    func cancelledLook() async throws {
        let steps = EventLog<String>()
        let store = ScriptedCredentialStore { call, _ in
            if call == .look(isOwned: true) {
                steps.note("looks")
                try await steps.next("go")
            }
            return .performed
        }
        let vault = try vault(over: store)
        let caller = Task {
            try await vault.refreshed(Token(number: 1)) { _ in
                steps.note("refreshed")
                return Token(number: 2)
            }
        }
        try await steps.next("looks")
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        steps.note("go")
        try await store.calls.next(.release)
        #expect(try await store.memory.look(name, owner: "other", lease: .seconds(60)).hasLock)
        #expect(!steps.events.contains("refreshed"))
    }

    // MARK: Stores that fail

    @Test(
        "a refreshed credential is stored later when the store's answer was lost, whether or not it was stored",
        arguments: [true, false])
    func storedLater(isPerformed: Bool) async throws {
        let failures = Counter()
        let store = ScriptedCredentialStore { call, _ in
            guard call == .replace, failures.increment() <= 2 else { return .performed }
            return isPerformed ? .unanswered : .lost
        }
        let vault = try vault(over: store)
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
        try await reports.next(.refreshed)
        #expect(reports.events == [.notStored, .refreshed])
        #expect(try await self.vault(over: store).credential() == Token(number: 2))
        #expect(try await store.memory.look(name, owner: "other", lease: .seconds(60)).hasLock)
    }

    @Test("a credential that another process stored meanwhile is not replaced by a later attempt")
    func overtaken() async throws {
        let newer = MemoryCredentialStore()
        try await vault(over: newer).set(Token(number: 7))
        let entry = try #require(try await newer.look(name, owner: nil, lease: .zero).entry)
        let replacements = Counter()
        let name = name
        let memory = MemoryCredentialStore()
        let store = ScriptedCredentialStore(over: memory) { call, _ in
            guard call == .replace, replacements.increment() == 1 else { return .performed }
            _ = try await memory.replace(name, expecting: 0, with: entry, owner: "other")
            return .lost
        }
        let vault = try vault(over: store)
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
        try await store.calls.nth(2) { $0 == .replace }
        try await store.calls.first { $0 == .look(isOwned: false) }
        #expect(try await store.memory.look(name, owner: nil, lease: .zero).entry == entry)
        #expect(!reports.events.contains(.refreshed))
    }

    @Test("a credential that cannot be set leaves the outcome of a refresh that waits to be stored")
    func failedSet() async throws {
        let store = ScriptedCredentialStore { call, _ in call == .replace ? .lost : .performed }
        let vault = try vault(over: store)
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
        await #expect(throws: ScriptedCredentialStore.Lost.self) { try await vault.set(Token(number: 9)) }
        let again = try await vault.refreshed(Token(number: 1)) { _ in
            Issue.record("the token is spent")
            return Token(number: 3)
        }
        #expect(again == Token(number: 2))
    }

    @Test("a connection that fails once makes no process refresh alone")
    func failedConnection() async throws {
        let hello = ScriptedServer.Action.receive(byteCount: RESPArgument.encode(["HELLO", "3"]).count)
        let server = try ScriptedServer.start(scripts: [
            [.reset],
            // Nothing is stored, and the lock is taken.
            [hello, .send("%0\r\n"), .receive(byteCount: 1), .send("*4\r\n$-1\r\n$-1\r\n:1\r\n:0\r\n"), .hold],
        ])
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: .patient)
        let vault = try vault(over: FleetCredentialStore(fleet: fleet))
        let token = try await vault.refreshed(Token(number: 1)) { _ in
            // This server does not store anything.
            fleet.shutDown()
            return Token(number: 2)
        }
        #expect(token == Token(number: 2))
        #expect(!reports.events.contains(.alone))
    }

    @Test("a failed look of a process that waits does not make it refresh beside the other")
    func failedWait() async throws {
        let memory = MemoryCredentialStore()
        try await Vault(store: memory, name: "api", keys: [key], options: .init()).set(Token(number: 2))
        let entry = try #require(try await memory.look(name, owner: nil, lease: .zero).entry)
        let looks = Counter()
        let (name, steps) = (name, EventLog<String>())
        let store = ScriptedCredentialStore { call, _ in
            guard case .look = call else { return .performed }
            switch looks.increment() {
            case 1: return .performed
            case 2...5: return .lost
            default:
                steps.note("stored")
                return .performed
            }
        }
        #expect(try await store.memory.look(name, owner: "other", lease: .seconds(3600)).hasLock)
        let vault = try vault(over: store)
        let waiter = Task {
            try await vault.refreshed(Token(number: 1)) { _ in
                steps.note("refreshed beside the other")
                return Token(number: 9)
            }
        }
        try await steps.first { _ in true }
        #expect(try await store.memory.replace(name, expecting: 0, with: entry, owner: "other"))
        #expect(try await waiter.value == Token(number: 2))
        #expect(!steps.events.contains("refreshed beside the other"))
    }

    @Test("a process that waited refreshes alone once the lease of the other has passed")
    func leasePassed() async throws {
        let looks = Counter()
        let store = ScriptedCredentialStore { call, _ in
            if case .look = call, looks.increment() > 1 { return .lost }
            return .performed
        }
        #expect(try await store.memory.look(name, owner: "other", lease: .seconds(3600)).hasLock)
        let vault = try vault(over: store, lease: .milliseconds(50))
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
        #expect(reports.events.contains(.alone))
    }

    @Test("a process that was stopped before it refreshed takes the credential of the one that took its lock over")
    func stopped() async throws {
        let memory = MemoryCredentialStore()
        let other = try vault(over: memory)
        let refreshes = EventLog<String>()
        let looks = Counter()
        let store = ScriptedCredentialStore(over: memory) { call, _ in
            guard case .look = call, looks.increment() == 1 else { return .performed }
            return .answered {
                _ = try await other.refreshed(Token(number: 1)) { _ in
                    refreshes.note("other")
                    return Token(number: 2)
                }
            }
        }
        let vault = try vault(over: store, lease: .milliseconds(50))
        let token = try await vault.refreshed(Token(number: 1)) { _ in
            refreshes.note("stopped")
            return Token(number: 9)
        }
        #expect(token == Token(number: 2))
        #expect(refreshes.events == ["other"])
    }

    @Test("a lease that is shorter than any look does not prevent the refresh")
    func shortLease() async throws {
        let vault = try vault(over: MemoryCredentialStore(), lease: .zero)
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
    }

    @Test("without the store all requests of a process refresh once, together")
    func aloneOnce() async throws {
        let store = ScriptedCredentialStore { _, _ in .lost }
        let vault = try vault(over: store)
        let count = Counter()
        let tokens = try await withThrowingTaskGroup(of: Token.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await vault.refreshed(Token(number: 1)) { token in
                        Token(number: token.number + count.increment())
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Token(number: 2), count: 8))
        #expect(reports.events.count { $0 == .alone } == 1)
        // A request that had the old credential comes late.
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 9) } == Token(number: 2))
        #expect(try await vault.refreshed(Token(number: 2)) { _ in Token(number: 3) } == Token(number: 3))
    }

    @Test("one stall of 400 ms makes one process refresh, with default settings")
    func stall() async throws {
        let server = try RedisServer()
        try await Fleet(url: server.url, configuration: .patient).command("CLIENT", "PAUSE", 400)
        let vaults = try (0..<4).map { _ in
            try Fleet(url: server.url).credentialVault(of: Token.self, name: "api", key: key)
        }
        let refreshes = Counter()
        let tokens = try await withThrowingTaskGroup(of: Token.self) { group in
            for vault in vaults {
                group.addTask {
                    try await vault.refreshed(Token(number: 1)) {
                        refreshes.increment()
                        return Token(number: $0.number + 1)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Token(number: 2), count: 4))
        #expect(refreshes.value == 1)
    }

    @Test("a refresh waits for its store by default, and says so once")
    func waits() async throws {
        let looks = Counter()
        let store = ScriptedCredentialStore { call, _ in
            if case .look = call, looks.increment() <= 8 { return .lost }
            return .performed
        }
        let vault = try vault(over: store, fallback: Vault.Options().whenUnreachable)
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
        #expect(reports.events == [.waitingForStore, .refreshed])
    }

    @Test(
        "a refresh that does not wait, or not any longer, fails with the store's error and renews nothing",
        arguments: [CredentialVaultFallback.fail, .wait(.zero), .wait(.milliseconds(1))])
    func failsWithout(fallback: CredentialVaultFallback) async throws {
        let vault = try vault(over: ScriptedCredentialStore { _, _ in .lost }, fallback: fallback)
        let refreshes = Counter()
        await #expect(throws: ScriptedCredentialStore.Lost.self) {
            try await vault.refreshed(Token(number: 1)) { _ in
                refreshes.increment()
                return Token(number: 2)
            }
        }
        #expect(refreshes.value == 0)
    }

    @Test("a refresh that does not wait gives back the lock that a look without an answer took")
    func failsWithLock() async throws {
        let store = ScriptedCredentialStore { call, _ in
            if case .look = call { .unanswered } else { .performed }
        }
        let vault = try vault(over: store, fallback: .fail)
        await #expect(throws: ScriptedCredentialStore.Lost.self) {
            try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) }
        }
        try await store.calls.next(.release)
        #expect(try await store.memory.look(vault.name, owner: "other", lease: .seconds(60)).hasLock)
    }

    @Test("a wait for the store ends with the last caller")
    func cancelledWait() async throws {
        let store = ScriptedCredentialStore { _, _ in .lost }
        let vault = try vault(over: store, fallback: .wait(.seconds(3600)))
        let caller = Task { try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } }
        try await reports.next(.waitingForStore)
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        try await store.calls.next(.release)
    }

    @Test("a refresh alone that fails fails for those who wait for it, and the next one tries again")
    func aloneFails() async throws {
        let store = ScriptedCredentialStore { _, _ in .lost }
        let vault = try vault(over: store)
        await #expect(throws: URLError.self) {
            try await vault.refreshed(Token(number: 1)) { _ in throw URLError(.timedOut) }
        }
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
    }

    @Test("a store that can be read but not written has the newer credential of another process")
    func readable() async throws {
        let store = ScriptedCredentialStore { call, _ in call == .look(isOwned: true) ? .lost : .performed }
        try await vault(over: store).set(Token(number: 2))
        let token = try await vault(over: store).refreshed(Token(number: 1)) { _ in Token(number: 9) }
        #expect(token == Token(number: 2))
        #expect(!reports.events.contains(.alone))
    }

    @Test("a lock whose answer was lost is its owner's at the next look")
    func sameOwner() async throws {
        let server = try RedisServer()
        let store = FleetCredentialStore(fleet: try Fleet(url: server.url, configuration: .patient))
        for _ in 0..<2 { #expect(try await store.look("a", owner: "one", lease: .seconds(60)).hasLock) }
        #expect(try await !store.look("a", owner: "two", lease: .seconds(60)).hasLock)
    }
}
