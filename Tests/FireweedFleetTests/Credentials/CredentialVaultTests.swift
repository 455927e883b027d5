// One credential for several users of it.

import FireweedTransport
import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import Fireweed
@testable import FireweedFleet

private struct Token: AuthenticationCredential, Codable, Sendable, Equatable {
    let number: Int
    var requiresRefresh = false
}

/// A token whose set is encoded in another order after each decoding.
private struct ScopedToken: AuthenticationCredential, Codable, Sendable {
    let number: Int
    /// Reversed by each decoding, as an order of a set may be.
    let scopes: [String]
    var requiresRefresh: Bool { false }

    enum CodingKeys: CodingKey { case number, scopes }

    init(number: Int) {
        self.number = number
        scopes = ["a", "b"]
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        number = try container.decode(Int.self, forKey: .number)
        scopes = try container.decode([String].self, forKey: .scopes).reversed()
    }
}

private typealias Vault = CredentialVault<Token>

/// Counts what a vault says.
private final class VaultEvents: Sendable {
    let alone = Counter()
    let notStored = Counter()
    let refreshed = Counter()

    /// For a server that takes a refresh token more than once.
    var options: Vault.Options {
        var options = Vault.Options()
        options.whenUnreachable = .alone
        options.eventHandler = { [self] event in
            switch event {
            case .refreshingAlone: alone.increment()
            case .notStored: notStored.increment()
            case .refreshed: refreshed.increment()
            case .waiting, .adopted, .waitingForStore: break
            }
        }
        return options
    }
}

@Suite("Credential vault", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CredentialVaultTests {
    private let key = Data((0..<32).map { UInt8($0) })
    private let folder: TemporaryFolder
    private let server: RedisServer

    init() throws {
        folder = try TemporaryFolder()
        server = try RedisServer()
    }

    @Test("a key takes another's place while processes have both, in a file and on a server", arguments: [true, false])
    func rotation(isFile: Bool) async throws {
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let file = folder.file("vault.sqlite")
        let new = Data(repeating: 7, count: 32)
        func vault(_ keys: [Data]) throws -> Vault {
            isFile
                ? try Vault(file: file, name: "api", keys: keys)
                : try fleet.credentialVault(of: Token.self, name: "api", keys: keys)
        }
        try await vault([key]).set(Token(number: 1))
        #expect(try await vault([key, new]).credential()?.number == 1)
        #expect(try await vault([new, key]).credential()?.number == 1)
        await #expect(throws: CredentialVaultError.self) { try await vault([new]).credential() }
        try await vault([new, key]).set(Token(number: 2))
        #expect(try await vault([key, new]).credential()?.number == 2)
        #expect(try await vault([new]).credential()?.number == 2)
        await #expect(throws: CredentialVaultError.self) { try await vault([key]).credential() }
    }

    enum Place: CaseIterable { case memory, file, server }

    /// Vaults over one store, as several processes have them.
    private func vaults(_ count: Int, _ place: Place, _ options: Vault.Options = .init()) throws -> [Vault] {
        switch place {
        case .memory:
            let vault = Vault.inProcess(options: options)
            return Array(repeating: vault, count: count)
        case .file:
            return try (0..<count).map { _ in
                try Vault(file: folder.file("vault.sqlite"), name: "api", key: key, options: options)
            }
        case .server:
            return try (0..<count).map { _ in
                try Fleet(url: server.url, configuration: .patient)
                    .credentialVault(of: Token.self, name: "api", key: key, options: options)
            }
        }
    }

    @Test("many who refresh at once make one refresh, wherever the credential lies", arguments: Place.allCases)
    func once(place: Place) async throws {
        let count = Counter()
        let vaults = try vaults(4, place)
        let tokens = try await withThrowingTaskGroup(of: Token.self) { group in
            for number in 0..<32 {
                group.addTask {
                    try await vaults[number % 4].refreshed(Token(number: 1)) { token in
                        Token(number: token.number + count.increment())
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(count.value == 1)
        #expect(tokens == Array(repeating: Token(number: 2), count: 32))
        #expect(try await vaults[1].credential() == Token(number: 2))
    }

    @Test("a refresh that fails gives the lock back, and the error to who refreshed", arguments: Place.allCases)
    func failure(place: Place) async throws {
        let vaults = try vaults(2, place)
        await #expect(throws: URLError.self) {
            try await vaults[0].refreshed(Token(number: 1)) { _ in throw URLError(.timedOut) }
        }
        #expect(try await vaults[1].refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
    }

    @Test("a later refresh starts from the latest credential, and an older one never wins", arguments: Place.allCases)
    func versions(place: Place) async throws {
        let vaults = try vaults(2, place)
        _ = try await vaults[0].refreshed(Token(number: 1)) { _ in Token(number: 2) }
        // Sets a newer one while a refresh of the older one runs.
        let slow = try await vaults[1].refreshed(Token(number: 2)) { _ in
            try await vaults[0].set(Token(number: 10))
            return Token(number: 3)
        }
        #expect(slow == Token(number: 10))
        #expect(try await vaults[0].credential() == Token(number: 10))
        let seen = EventLog<Int>()
        let next = try await vaults[1].refreshed(Token(number: 2, requiresRefresh: true)) { token in
            seen.note(token.number)
            return Token(number: token.number + 1)
        }
        #expect(next == Token(number: 10) && seen.events.isEmpty, "the newer one is used first")
        #expect(
            try await vaults[1].refreshed(Token(number: 10)) { Token(number: $0.number + 1) } == Token(number: 11))
    }

    @Test("nothing that is stored shows the credential or its name, and another key cannot read it")
    func sealed() async throws {
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let vault = try fleet.credentialVault(of: Token.self, name: "api", key: key)
        try await vault.set(Token(number: 123_456_789))
        for name in try await fleet.command("KEYS", "*").elements ?? [] {
            #expect(name.text?.contains("api") == false)
            let fields = try await fleet.command("HGETALL", RESPArgument(name.bytes ?? [])).elements ?? []
            for field in fields { #expect(!String(decoding: field.bytes ?? [], as: UTF8.self).contains("123456789")) }
        }
        let other = try fleet.credentialVault(of: Token.self, name: "api", key: Data(repeating: 1, count: 32))
        await #expect(throws: CredentialVaultError.unreadable) { try await other.credential() }
        // A credential that cannot be read is replaced.
        #expect(try await other.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
        #expect(throws: CredentialVaultError.invalidKey) {
            try fleet.credentialVault(of: Token.self, name: "api", key: Data())
        }
    }

    @Test("a sealed text opens with its key and context alone, and not when a bit was changed")
    func bits() throws {
        let key = Array(key)
        let sealed = try #require(SealedData.seal(Array("secret".utf8), context: [1], key: key))
        #expect(SealedData.open(sealed, context: [1], key: key) == Array("secret".utf8))
        #expect(SealedData.open(sealed, context: [2], key: key) == nil)
        #expect(SealedData.open(sealed, context: [1], key: key.reversed()) == nil)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(SealedData.open(changed, context: [1], key: key) == nil)
            #expect(SealedData.open(Array(sealed.prefix(index)), context: [1], key: key) == nil)
        }
        let empty = try #require(SealedData.seal([], context: [], key: key))
        #expect(SealedData.open(empty, context: [], key: key) == [])
    }

    @Test("without the server a process refreshes alone, says so, and stores the outcome with the next refresh")
    func alone() async throws {
        let events = VaultEvents()
        let vault = try vaults(1, .server, events.options)[0]
        try await vault.set(Token(number: 1))
        try server.stop()
        let lone = try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) }
        #expect(lone == Token(number: 2))
        #expect(events.alone.value == 1 && events.notStored.value == 1)
        try server.start()
        let next = try vaults(1, .server)[0]
        var token = lone
        while events.refreshed.value == 0 {
            token = try await vault.refreshed(token) { Token(number: $0.number + 1) }
        }
        #expect(try await next.credential() == token)
    }

    @Test("another type under our key is an error, and the process refreshes alone")
    func wrongType() async throws {
        let events = VaultEvents()
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let vault = try vaults(1, .server, events.options)[0]
        try await vault.set(Token(number: 1))
        for name in try await fleet.command("KEYS", "*").elements ?? [] {
            try await fleet.command("SET", RESPArgument(name.bytes ?? []), "foreign")
        }
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
        #expect(events.alone.value == 1)
    }

    @Test(
        "a version that is not ours is none, and is replaced",
        arguments: ["9223372036854775807", "5.0", " 7", "007", "-3", "1e3", "0x10", "9007199254740993", "x", ""])
    func foreignVersion(version: String) async throws {
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let vault = try fleet.credentialVault(of: Token.self, name: "api", key: key)
        let entry = fleet.key("credential", Hash.sha256.hexadecimalDigest(of: "api"))
        try await fleet.command("HSET", entry, "version", RESPArgument(version), "sealed", "foreign")
        try await vault.set(Token(number: 5))
        #expect(try await vault.credential() == Token(number: 5))
        try await fleet.command("HSET", entry, "version", RESPArgument(version))
        let fresh = try await vault.refreshed(Token(number: 5)) { Token(number: $0.number + 1) }
        #expect(fresh == Token(number: 6))
        #expect(try await vault.credential() == fresh)
    }

    @Test("the last version is replaced, and a version without a credential is none")
    func lastVersion() async throws {
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let vault = try fleet.credentialVault(of: Token.self, name: "api", key: key)
        let entry = fleet.key("credential", Hash.sha256.hexadecimalDigest(of: "api"))
        try await fleet.command("HSET", entry, "version", "999999999999999", "sealed", "foreign")
        try await vault.set(Token(number: 5))
        #expect(try await vault.credential() == Token(number: 5))
        try await fleet.command("HDEL", entry, "sealed")
        try await vault.set(Token(number: 6))
        #expect(try await vault.credential() == Token(number: 6))
    }

    @Test("a version that is not ours is none in a file", arguments: [Int.max, Int.min, -1])
    func foreignVersion(inFile version: Int) async throws {
        let vault = try vaults(1, .file)[0]
        try await vault.set(Token(number: 1))
        try SQLiteConnection(path: folder.file("vault.sqlite").path, busyMilliseconds: 5000)
            .run("UPDATE credentials SET version = ?", .number(version))
        #expect(try await vault.credential() == nil)
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
        #expect(try await vault.credential() == Token(number: 2))
    }

    @Test("a credential that is encoded differently after it was read is refreshed once it is the latest")
    func encoding() async throws {
        let vault = CredentialVault<ScopedToken>.inProcess()
        try await vault.set(ScopedToken(number: 1))
        let stored = try #require(try await vault.credential())
        let fresh = try await vault.refreshed(stored) { ScopedToken(number: $0.number + 1) }
        #expect(fresh.number == 2, "the stored credential is not newer than itself")
    }

    @Test("a lock that the server lost is taken again by the renewal, and no other owner's")
    func lostLock() async throws {
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let store = FleetCredentialStore(fleet: fleet)
        #expect(try await store.look("a", owner: "one", lease: .seconds(60)).hasLock)
        try await fleet.command("FLUSHALL")
        #expect(try await store.renew("a", owner: "one", lease: .seconds(60)))
        #expect(try await !store.look("a", owner: "two", lease: .seconds(60)).hasLock)
        #expect(try await !store.renew("a", owner: "two", lease: .seconds(60)))
    }

    @Test("a lock in a file goes by a clock that nobody sets, and ends with the machine's run")
    func clocks() async throws {
        let file = folder.file("vault.sqlite")
        let store = try SQLiteCredentialStore(file: file)
        #expect(try await store.look("a", owner: "one", lease: .seconds(60)).hasLock)
        let connection = try SQLiteConnection(path: file.path, busyMilliseconds: 5000)
        let end = try connection.number("SELECT lease_end FROM credentials")
        #expect(end <= BootClock.milliseconds + 60_000, "a date is later by decades")
        #expect(try await !store.look("a", owner: "two", lease: .seconds(60)).hasLock)
        try connection.run("UPDATE credentials SET owner = 'other-run one'")
        #expect(try await !store.renew("a", owner: "one", lease: .seconds(60)))
        #expect(try await store.look("a", owner: "two", lease: .seconds(60)).hasLock)
    }

    @Test("a lock whose owner died is taken over when its lease ends", arguments: [Place.file, .server])
    func lease(place: Place) async throws {
        var options = Vault.Options()
        options.lease = .milliseconds(200)
        let vault = try vaults(1, place, options)[0]
        let store: any CredentialStore =
            place == .file
            ? try SQLiteCredentialStore(file: folder.file("vault.sqlite"))
            : FleetCredentialStore(fleet: try Fleet(url: server.url, configuration: .patient))
        let name = Hash.sha256.hexadecimalDigest(of: "api")
        #expect(try await store.look(name, owner: "dead", lease: .milliseconds(200)).hasLock)
        #expect(try await vault.refreshed(Token(number: 1)) { _ in Token(number: 2) } == Token(number: 2))
    }
}
