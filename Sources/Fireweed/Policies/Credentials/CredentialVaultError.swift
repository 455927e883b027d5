// Errors of a vault.

public import Foundation

/// Why a ``CredentialVault`` could not be used.
public enum CredentialVaultError: Error, Sendable, Hashable {
    /// The key does not have 32 bytes.
    case invalidKey
    /// The stored credential cannot be decrypted or decoded: another key, another type, or damage.
    case unreadable
    /// Another process held the lock for this long and stored no new credential.
    case lockNotReleased(after: Duration)
    /// The credential could not be stored: between each look and the replacement, another process replaced the stored
    /// credential.
    case alwaysReplaced
    /// The file of the vault cannot be used.
    case cannotOpen(path: String, reason: String)
}

extension CredentialVaultError: LocalizedError {
    /// What failed, and what to look at.
    public var errorDescription: String? {
        switch self {
        case .invalidKey: "A key of a credential vault or a fleet's cache has 32 bytes."
        case .unreadable:
            "The stored credential cannot be read: it was stored with another key, or is of another type."
        case .lockNotReleased(let duration):
            "Another process has been refreshing the credential for \(duration) without an end."
        case .alwaysReplaced: "The credential could not be stored, since others replaced it again and again."
        case .cannotOpen(let path, let reason): "The credential vault at \(path) cannot be opened: \(reason)"
        }
    }
}

/// Something that happened to a vault.
public enum CredentialVaultEvent: Sendable {
    /// Another process refreshes the credential; this process waits for the outcome.
    case waiting
    /// Another process has refreshed the credential, which is used here from now on.
    case adopted
    /// This process has refreshed the credential and stored it for the other processes.
    case refreshed
    /// The store cannot be used: the refresh waits until the store can be used again, as
    /// `CredentialVaultFallback.wait(_:)` says.
    case waitingForStore(any Error)
    /// The store cannot be used: this process refreshes the credential without a lock, and other processes may do the
    /// same.
    case refreshingAlone(any Error)
    /// The refreshed credential is used here, but could not be stored for the other processes.
    case notStored(any Error)
}
