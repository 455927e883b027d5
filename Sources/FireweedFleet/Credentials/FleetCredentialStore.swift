// Shared credentials of the processes of a fleet.

public import Fireweed
public import Foundation

extension Fleet {
    /// Makes a vault whose credential all processes of the fleet share.
    ///
    /// Only the credential's ciphertext is stored on the server, under a hash of its name. Without the server, a
    /// refresh does as `CredentialVault.Options.whenUnreachable` says: it waits, by default.
    ///
    /// - Parameters:
    ///   - type: the type of the credential.
    ///   - name: identifies the credential among those of the fleet.
    ///   - key: 32 secret bytes, the same for all processes.
    ///   - options: times and the event handler.
    /// - Returns: the vault.
    /// - Throws: `CredentialVaultError.invalidKey`.
    public func credentialVault<Credential: AuthenticationCredential & Codable & Sendable>(
        of type: Credential.Type = Credential.self, name: String, key: Data,
        options: CredentialVault<Credential>.Options = .init()
    ) throws(CredentialVaultError) -> CredentialVault<Credential> {
        try credentialVault(name: name, keys: [key], options: options)
    }

    /// Makes a vault for all processes of the fleet, with keys of which one takes the place of another.
    ///
    /// - Parameters:
    ///   - type: the type of the credential.
    ///   - name: identifies the credential among those of the fleet.
    ///   - keys: keys of 32 secret bytes: the first encrypts, and every one decrypts. To replace a key, give all
    ///     processes the new one as the last, then as the first, then alone, when a credential has been stored since.
    ///   - options: times and the event handler.
    /// - Returns: the vault.
    /// - Throws: `CredentialVaultError.invalidKey`, also for no key.
    public func credentialVault<Credential: AuthenticationCredential & Codable & Sendable>(
        of type: Credential.Type = Credential.self, name: String, keys: [Data],
        options: CredentialVault<Credential>.Options = .init()
    ) throws(CredentialVaultError) -> CredentialVault<Credential> {
        try CredentialVault(store: FleetCredentialStore(fleet: self), name: name, keys: keys, options: options)
    }
}

/// Keeps sealed credentials on the server: a hash with the version and the ciphertext, and a key for the lock.
struct FleetCredentialStore: CredentialStore {
    let fleet: Fleet

    var pollInterval: Duration { .milliseconds(25) }

    /// Reads, and takes the lock where an owner is given.
    ///
    /// An owner that has the lock already, by a look whose answer was lost, gets it again. A lock without an end was
    /// not made here, and gets one.
    private static let look = RESPScript(
        """
        local entry = redis.call('HMGET', KEYS[1], 'version', 'sealed')
        local held = 0
        if ARGV[1] ~= '' then
            if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then
                held = 1
            elseif redis.pcall('GET', KEYS[2]) == ARGV[1] then
                redis.call('PEXPIRE', KEYS[2], ARGV[2])
                held = 1
            elseif redis.call('PTTL', KEYS[2]) == -1 then
                redis.call('PEXPIRE', KEYS[2], ARGV[2])
            end
        end
        return {entry[1], entry[2], held}
        """)

    /// Makes a lock longer, and again if the server lost it, as by a restart.
    private static let renewal = RESPScript(
        """
        if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('PEXPIRE', KEYS[1], ARGV[2])
        """)

    /// Reads the version by the rule of `version(_:)`: where the two differ, no replacement succeeds.
    private static let replacement = RESPScript(
        """
        local entry = redis.call('HMGET', KEYS[1], 'version', 'sealed')
        local text = entry[1] or ''
        local version = 0
        if entry[2] and #text <= 15 and string.match(text, '^[1-9]%d*$') then version = tonumber(text) end
        local isExpected = version == tonumber(ARGV[2])
        if isExpected then redis.call('HSET', KEYS[1], 'version', ARGV[3], 'sealed', ARGV[4]) end
        if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
        return isExpected and 1 or 0
        """)

    private static let release = RESPScript(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")

    private func entryKey(_ name: String) -> RESPArgument { fleet.key("credential", name) }
    private func lockKey(_ name: String) -> RESPArgument { fleet.key("credential-lock", name) }
    private func milliseconds(_ lease: Duration) -> RESPArgument {
        RESPArgument(max(1, lease.nanosecondCount / 1_000_000))
    }

    func look(_ name: String, owner: String?, lease: Duration) async throws -> CredentialLook {
        let reply = try await fleet.evaluate(
            Self.look, keys: [entryKey(name), lockKey(name)],
            arguments: [RESPArgument(owner ?? ""), milliseconds(lease)])
        guard let values = reply.elements, values.count == 3, let held = values[2].integer else {
            throw fleet.unexpectedReply(to: Self.look)
        }
        var entry: StoredCredential?
        if let version = Self.version(values[0]), let sealed = values[1].data {
            entry = StoredCredential(version: version, sealed: sealed)
        }
        return CredentialLook(entry: entry, hasLock: held == 1)
    }

    /// A number of up to 15 digits as our own code writes it; `nil` for anything else.
    private static func version(_ value: RESPValue) -> Int? {
        guard let text = value.text, text.utf8.allSatisfy({ (48...57).contains($0) }), text.first != "0",
            let version = Int(text), StoredCredential.versions.contains(version)
        else { return nil }
        return version
    }

    func renew(_ name: String, owner: String, lease: Duration) async throws -> Bool {
        let reply = try await fleet.evaluate(
            Self.renewal, keys: [lockKey(name)], arguments: [RESPArgument(owner), milliseconds(lease)])
        return reply.integer == 1
    }

    func replace(
        _ name: String, expecting version: Int, with entry: StoredCredential, owner: String
    ) async throws -> Bool {
        let reply = try await fleet.evaluate(
            Self.replacement, keys: [entryKey(name), lockKey(name)],
            arguments: [
                RESPArgument(owner), RESPArgument(version), RESPArgument(entry.version), RESPArgument(entry.sealed),
            ])
        return reply.integer == 1
    }

    func release(_ name: String, owner: String) async throws {
        try await fleet.evaluate(Self.release, keys: [lockKey(name)], arguments: [RESPArgument(owner)])
    }
}
