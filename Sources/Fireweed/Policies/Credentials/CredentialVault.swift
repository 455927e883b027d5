// One credential for several processes.

import FireweedTransport
package import Foundation
import JSONTape
import Synchronization

/// Keeps one credential that several processes or sessions share, so that one of them refreshes it for all.
///
/// A refresh takes a lock with a lease, which is renewed as long as the refresh runs. Under the lock, it checks again
/// whether another process has stored a new credential. If a server loses a lock, the owner takes the lock again, and
/// others wait for the owner. A new credential replaces the stored one only if the stored one has not changed. When a
/// process dies while it refreshes, the lease ends and the next process refreshes. The credential is stored encrypted
/// with AES-256-GCM, by a key that the store never sees, under a hash of its name.
///
/// When the store cannot be used, a refresh follows ``Options/whenUnreachable``. By default a refresh waits for a
/// minute, which is longer than a failover takes, and reports `CredentialVaultEvent.waitingForStore(_:)`. A new
/// credential that cannot be stored is stored later, as soon as the store is back.
///
/// ```swift
/// let vault = try CredentialVault<Token>(file: file, name: "api.example.com", key: key)
/// let interceptor = AuthenticationInterceptor(
///     authenticator: vault.authenticator(OAuthAuthenticator()), credential: try await vault.credential())
/// ```
public final class CredentialVault<Credential: AuthenticationCredential & Codable & Sendable>: Sendable {
    /// The times of a vault, its fallback and its event handler.
    public struct Options: Sendable {
        /// How long a lock lives if its owner does not renew the lock; default: 10 seconds.
        public var lease = Duration.seconds(10)
        /// Longest wait for the refresh of another process; default: 60 seconds.
        public var maximumWait = Duration.seconds(60)
        /// The behaviour of a refresh when the store cannot be used; default: `.wait(.seconds(60))`.
        ///
        /// Redis Sentinel notices after 30 seconds, by default, that a primary is away, and needs a few seconds more
        /// for the failover; managed services promise a minute or less.
        public var whenUnreachable = CredentialVaultFallback.wait(.seconds(60))
        /// Called for each event of the vault, on the task that refreshes or stores; default: `nil`.
        public var eventHandler: (@Sendable (CredentialVaultEvent) -> Void)?

        /// Makes the default options.
        public init() {}
    }

    /// The knowledge of this process about the credential.
    struct State {
        /// The latest version of the store that this process has seen.
        var version = 0
        /// The hashes of credentials with their versions, the oldest first.
        private var history: [(hash: String, version: Int)] = []
        /// A refreshed credential that could not be stored yet.
        var unstored: Unstored?

        /// Returns the version of a credential by its hash; `nil` if the credential did not come from this vault.
        func version(of hash: String) -> Int? { history.last { $0.hash == hash }?.version }

        mutating func note(_ hash: String, version: Int) {
            self.version = max(self.version, version)
            history.append((hash, version))
            // The last 16 credentials are enough: requests with an older one have ended long ago.
            if history.count > 16 { history.removeFirst() }
        }
    }

    /// The outcome of a refresh that is not stored yet.
    struct Unstored {
        let owner: String
        /// The hash of the credential that was refreshed.
        let base: String
        let credential: Credential
    }

    let store: any CredentialStore
    let name: String
    let options: Options
    let state = Mutex(State())
    let refreshes = SharedRefreshes<Credential>()
    private let keys: SealingKeys

    /// How often `set` tries to replace a credential that others replace too.
    private static var setLimit: Int { 1000 }

    /// Makes a vault over a store.
    ///
    /// - Throws: `CredentialVaultError.invalidKey`.
    package init(
        store: any CredentialStore, name: String, keys: [Data], options: Options
    ) throws(CredentialVaultError) {
        guard let keys = SealingKeys(keys) else { throw .invalidKey }
        self.store = store
        self.name = Hash.sha256.hexadecimalDigest(of: name)
        self.keys = keys
        self.options = options
    }

    /// Makes a vault in the memory of this process, for several sessions, which works like a vault of several
    /// processes.
    public static func inProcess(options: Options = Options()) -> CredentialVault {
        var generator = SystemRandomNumberGenerator()
        let key = Data((0..<SealedData.keyByteCount).map { _ in UInt8.random(in: 0...255, using: &generator) })
        // `init` throws only for a key of a wrong length.
        // swift-format-ignore: NeverUseForceTry
        return try! CredentialVault(store: MemoryCredentialStore(), name: "credential", keys: [key], options: options)
    }

    // MARK: Reading and setting

    /// Returns the stored credential; `nil` when there is none.
    ///
    /// - Throws: `CredentialVaultError.unreadable`; the store's error.
    public func credential() async throws -> Credential? {
        guard let entry = try await store.look(name, owner: nil, lease: .zero).entry else { return nil }
        return try adopt(entry)
    }

    /// Stores a credential, for instance after a login, and replaces any stored credential.
    ///
    /// - Throws: `CredentialVaultError.alwaysReplaced`; the store's error.
    public func set(_ credential: Credential) async throws {
        let encoded = try encode(credential)
        let owner = UUID.random().uuidString
        for _ in 0..<Self.setLimit {
            let version = try await store.look(name, owner: nil, lease: .zero).entry?.version ?? 0
            let entry = try seal(encoded, version: next(after: version))
            if try await store.replace(name, expecting: version, with: entry, owner: owner) {
                // Cleared only after the write: until then, `unstored` is the only copy of a new refresh token.
                state.withLock { $0.unstored = nil }
                return note(encoded, version: entry.version)
            }
        }
        throw CredentialVaultError.alwaysReplaced
    }

    // MARK: Known versions

    func hash(_ encoded: Data) -> String { Hash.sha256.hexadecimalDigest(of: encoded) }

    func version(of encoded: Data) -> Int? {
        let hash = hash(encoded)
        return state.withLock { $0.version(of: hash) }
    }

    /// The latest version of the store that this process has seen.
    var latestVersion: Int { state.withLock { $0.version } }

    func note(_ encoded: Data, version: Int) {
        let hash = hash(encoded)
        state.withLock { $0.note(hash, version: version) }
    }

    func next(after version: Int) -> Int {
        let known = latestVersion
        let next = max(version, known) + 1
        // `version` may be the greatest valid number, since it is not authenticated if the entry cannot be decrypted:
        // then the next number follows `known`.
        return StoredCredential.versions.contains(next) ? next : known + 1
    }

    // MARK: Coding

    func encode(_ credential: Credential) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try encoder.encode(credential)
    }

    /// Encrypts a credential, and authenticates the name and the version with it: a value that is copied to another
    /// name cannot be decrypted.
    func seal(_ encoded: Data, version: Int) throws -> StoredCredential {
        guard let sealed = keys.seal(Array(encoded), context: context(version)) else {
            throw CredentialVaultError.unreadable
        }
        return StoredCredential(version: version, sealed: Data([1]) + Data(sealed))
    }

    func open(_ entry: StoredCredential) -> Data? {
        guard entry.sealed.first == 1 else { return nil }
        return keys.open(Array(entry.sealed.dropFirst()), context: context(entry.version)).map { Data($0) }
    }

    func decode(_ entry: StoredCredential) -> Credential? {
        open(entry).flatMap { try? JSONDecoder().decodeWithoutTrap(Credential.self, from: $0) }
    }

    private func context(_ version: Int) -> [UInt8] { Array("\(name) \(version)".utf8) }

    func adopt(_ entry: StoredCredential) throws -> Credential {
        guard let credential = decode(entry) else { throw CredentialVaultError.unreadable }
        // Encodes the credential again instead of hashing the stored bytes: `refreshed` hashes its own encoding of this
        // credential, which may differ from the stored bytes.
        note(try encode(credential), version: entry.version)
        return credential
    }
}
