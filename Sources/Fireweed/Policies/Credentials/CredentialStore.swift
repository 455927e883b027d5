// The contract of stores for shared credentials.

package import Foundation

/// Keeps sealed credentials by name, each with a version and a lock, for several callers that share them.
///
/// Nothing here is secret: names are hashes, and content is encrypted by the vault.
package protocol CredentialStore: Sendable {
    /// Reads the credential; with an owner, also takes the lock if no other owner has it.
    ///
    /// - Parameters:
    ///   - name: the hash of the credential's name.
    ///   - owner: the identity of the caller that wants the lock; `nil` only reads.
    ///   - lease: how long the owner keeps the lock without renewing it.
    /// - Returns: the stored credential, and whether the owner has the lock.
    /// - Throws: an error of the store, which could not be reached or used.
    func look(_ name: String, owner: String?, lease: Duration) async throws -> CredentialLook
    /// Reads the credential and tries to take the lock, in a store that may have lost the lock of another owner.
    ///
    /// A free lock may be lost, and is then not given to the owner: if `known` has a lock that is still held, or a
    /// later version than the store; if the lock of another owner ended without a release, and `known` has not seen its
    /// end; or if the store's run began after the credential was stored, and is not the run in `known`. The mark of a
    /// released lock excludes the first two cases.
    func look(_ name: String, owner: String, lease: Duration, unlessLost known: KnownLock) async throws
        -> CredentialLook
    /// Extends the lease of a lock; false when the owner no longer has the lock.
    func renew(_ name: String, owner: String, lease: Duration) async throws -> Bool
    /// Replaces the credential, if its version is still the expected one, and then releases the owner's lock.
    ///
    /// - Returns: false when another version was found; the owner keeps its lock.
    func replace(_ name: String, expecting version: Int, with entry: StoredCredential, owner: String) async throws
        -> Bool
    /// Releases the lock, if the owner has it.
    func release(_ name: String, owner: String) async throws
    /// Whether an error means that the store could not be reached, so that the owner of a lock may not have reached it
    /// either; true by default.
    func isAbsence(_ error: any Error) -> Bool
    /// The time between two look-ups of a caller that waits for a lock.
    var pollInterval: Duration { get }
    /// Longest time until the owner of a lost lock notices the loss and takes the lock again; `nil`, the default, for a
    /// store that loses no lock.
    var lockRecovery: Duration? { get }
}

extension CredentialStore {
    package func look(
        _ name: String, owner: String, lease: Duration, unlessLost known: KnownLock
    ) async throws -> CredentialLook {
        try await look(name, owner: owner, lease: lease)
    }

    package var lockRecovery: Duration? { nil }

    package func isAbsence(_ error: any Error) -> Bool { true }
}

/// What a caller has seen of the lock that it wants to take.
package struct KnownLock: Sendable, Equatable {
    /// Whether the caller has seen the lock of another owner, and its lease has not ended.
    package var isHeld: Bool
    /// Whether the caller has seen a lock whose lease has ended, and could use the store during the whole wait.
    package var hasEnded: Bool
    /// The lowest version that the store must have.
    package var version: Int
    /// The run of the store that is known to have lost locks; `nil` for none.
    package var run: String?

    package init(isHeld: Bool = false, hasEnded: Bool = false, version: Int = 0, run: String? = nil) {
        self.isHeld = isHeld
        self.hasEnded = hasEnded
        self.version = version
        self.run = run
    }
}

/// A sealed credential.
package struct StoredCredential: Sendable, Equatable {
    /// The version, which grows with each replacement; 0 is the version before the first credential.
    package var version: Int
    package var sealed: Data

    /// The valid versions, which Lua's numbers represent exactly too; any other stored version counts as 0.
    package static let versions = 1...999_999_999_999_999

    package init(version: Int, sealed: Data) {
        self.version = version
        self.sealed = sealed
    }
}

/// The result of `CredentialStore.look`.
package struct CredentialLook: Sendable, Equatable {
    /// The stored credential; `nil` when there is none.
    package var entry: StoredCredential?
    /// Whether the owner has the lock now.
    package var hasLock: Bool
    /// Whether the lock is free and was not given, because the store may have lost the lock of another owner.
    package var isLockLost = false
    /// The rest of another owner's lease; `nil` if the store does not report it.
    ///
    /// A store that may have lost the lock gives the time for which the lease is still respected.
    package var lockLeft: Duration?
    /// The identifier of the store's run, if the run began after the credential was stored and has no locks of the run
    /// before; `nil` if the store does not report it.
    package var run: String?

    package init(entry: StoredCredential?, hasLock: Bool) {
        self.entry = entry
        self.hasLock = hasLock
    }
}
