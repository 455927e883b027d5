// The contract of stores for shared credentials.

package import Foundation

/// Keeps one sealed credential under each name, with a version and a lock, for several users of it.
///
/// Nothing here is secret: names are hashes, and content is encrypted by the vault.
package protocol CredentialStore: Sendable {
    /// Reads the credential; with an owner, also takes the lock if no other owner has it.
    ///
    /// - Parameters:
    ///   - name: the hash of the credential's name.
    ///   - owner: the identity of the caller that wants the lock; `nil` only reads.
    ///   - lease: how long the owner keeps the lock unless it renews it.
    /// - Returns: the stored credential, and whether the owner has the lock.
    /// - Throws: an error of the store, which could not be reached or used.
    func look(_ name: String, owner: String?, lease: Duration) async throws -> CredentialLook
    /// The same for an owner, in a store that may have lost the lock of another owner.
    ///
    /// Without a lock in the store, and without the mark that a lock was given back, the owner gets the lock only if
    /// the store has what `known` says, and no other run of the store than `known` says has lost locks.
    func look(_ name: String, owner: String, lease: Duration, unlessLost known: KnownLock) async throws
        -> CredentialLook
    /// Makes the lease of a lock longer; false when the owner does not have the lock any more.
    func renew(_ name: String, owner: String, lease: Duration) async throws -> Bool
    /// Replaces the credential, if its version is still the expected one, and then gives the owner's lock back.
    ///
    /// - Returns: false when another version was found; the owner keeps its lock.
    func replace(_ name: String, expecting version: Int, with entry: StoredCredential, owner: String) async throws
        -> Bool
    /// Gives the lock back, if the owner has it.
    func release(_ name: String, owner: String) async throws
    /// Whether an error means that the store could not be reached, so that the owner of a lock may not have reached it
    /// either; true by default.
    func isAbsence(_ error: any Error) -> Bool
    /// How long a lock may be asked for again at the earliest.
    var pollInterval: Duration { get }
    /// How long the owner of a lock that the store has lost takes to notice the loss and to take the lock again; `nil`,
    /// the default, for a store that loses no lock.
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

/// What a caller that wants a lock knows of it.
package struct KnownLock: Sendable, Equatable {
    /// Whether the lock of another owner was seen whose lease has not ended.
    package var isHeld: Bool
    /// Whether a lock was seen whose lease has ended, in a store that could be used all the while.
    package var hasEnded: Bool
    /// The version that the store must have at least.
    package var version: Int
    /// The run of the store of which the caller knows that it lost locks; `nil` for none.
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
    /// Grows with each replacement; 0 is before the first one.
    package var version: Int
    package var sealed: Data

    /// The versions that count, which are exact in the numbers of Lua too; anything else that is stored is 0.
    package static let versions = 1...999_999_999_999_999

    package init(version: Int, sealed: Data) {
        self.version = version
        self.sealed = sealed
    }
}

/// The result of `CredentialStore.look`.
package struct CredentialLook: Sendable, Equatable {
    /// `nil` when there is none.
    package var entry: StoredCredential?
    /// Whether the owner has the lock now.
    package var hasLock: Bool
    /// Whether the lock is free and was not given, because the store may have lost it.
    package var isLockLost = false
    /// The rest of another owner's lease; `nil` where the store does not say.
    ///
    /// A store that may have lost the lock gives the time for which the lease is still respected.
    package var lockLeft: Duration?
    /// The run of the store, which began after the credential was stored and has lost the locks of the run before it;
    /// `nil` where the store does not say.
    package var run: String?

    package init(entry: StoredCredential?, hasLock: Bool) {
        self.entry = entry
        self.hasLock = hasLock
    }
}
