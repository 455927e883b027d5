// Refreshes without a store.

/// The behaviour of a ``CredentialVault`` when a credential is to be refreshed and the store cannot be used.
///
/// A server that rotates refresh tokens revokes all credentials of a login when one refresh token is used twice (RFC
/// 9700 §4.14.2). So two processes that refresh at the same time may log all processes out.
public enum CredentialVaultFallback: Sendable, Hashable {
    /// The refresh waits until the store can be used again, for this time at most; then it fails with the store's
    /// error.
    ///
    /// Requests that need the new credential wait as long.
    case wait(Duration)
    /// The refresh fails at once with the store's error, and so do the requests that need the new credential.
    case fail
    /// The process refreshes without a lock, once for all of its requests; other processes may do the same.
    ///
    /// Only for servers that accept a refresh token more than once.
    case alone
}
