// Vaults in a file.

#if SQLite
public import Foundation

extension CredentialVault {
    /// Makes a vault in an SQLite file, for the processes of one machine.
    ///
    /// - Parameters:
    ///   - file: the database, which is made, for this user only, if it does not exist.
    ///   - name: distinguishes credentials in the same file.
    ///   - key: 32 secret bytes, the same for all processes.
    ///   - options: times and the event handler.
    /// - Throws: `CredentialVaultError.invalidKey`, `.cannotOpen(path:reason:)`.
    public convenience init(
        file: URL, name: String, key: Data, options: Options = Options()
    ) throws(CredentialVaultError) {
        try self.init(file: file, name: name, keys: [key], options: options)
    }

    /// Makes a vault in an SQLite file, with several keys, so that a key can be replaced.
    ///
    /// - Parameters:
    ///   - file: the database, which is made, for this user only, if it does not exist.
    ///   - name: distinguishes credentials in the same file.
    ///   - keys: keys of 32 secret bytes: the first key encrypts, and all keys decrypt. To replace a key, give all
    ///     processes the new key as the last one, then as the first one. When a credential has been stored after that,
    ///     give them only the new key.
    ///   - options: times and the event handler.
    /// - Throws: `CredentialVaultError.invalidKey`, also for no key; `.cannotOpen(path:reason:)`.
    public convenience init(
        file: URL, name: String, keys: [Data], options: Options = Options()
    ) throws(CredentialVaultError) {
        try self.init(store: SQLiteCredentialStore(file: file), name: name, keys: keys, options: options)
    }
}
#endif
