// Vaults in a file.

public import Foundation

extension CredentialVault {
    /// Makes a vault in an SQLite file, for the processes of one machine.
    ///
    /// - Parameters:
    ///   - file: the database, which is made for this user alone if it does not exist.
    ///   - name: tells credentials in the same file apart.
    ///   - key: 32 secret bytes, the same for all processes.
    ///   - options: times and the event handler.
    /// - Throws: `CredentialVaultError.invalidKey`, `.cannotOpen(path:reason:)`.
    public convenience init(
        file: URL, name: String, key: Data, options: Options = Options()
    ) throws(CredentialVaultError) {
        try self.init(store: SQLiteCredentialStore(file: file), name: name, key: key, options: options)
    }
}
