// Where a shared credential lies.

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
    /// Makes the lease of a lock longer; false when the owner does not have the lock any more.
    func renew(_ name: String, owner: String, lease: Duration) async throws -> Bool
    /// Replaces the credential, if its version is still the expected one, and gives the owner's lock back in any case.
    ///
    /// - Returns: false when another version was found.
    func replace(_ name: String, expecting version: Int, with entry: StoredCredential, owner: String) async throws
        -> Bool
    /// Gives the lock back, if the owner has it.
    func release(_ name: String, owner: String) async throws
    /// How long a lock may be asked for again at the earliest.
    var pollInterval: Duration { get }
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

    package init(entry: StoredCredential?, hasLock: Bool) {
        self.entry = entry
        self.hasLock = hasLock
    }
}
