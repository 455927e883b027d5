// Shared credentials of the processes of a fleet.

public import Fireweed
public import Foundation

extension Fleet {
    /// Makes a vault whose credential all processes of the fleet share.
    ///
    /// Only the credential's ciphertext is stored on the server, under a hash of its name. Without the server, a
    /// refresh follows `CredentialVault.Options.whenUnreachable`; by default it waits.
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

    /// Makes a vault that all processes of the fleet share, with several keys for key rotation.
    ///
    /// - Parameters:
    ///   - type: the type of the credential.
    ///   - name: identifies the credential among those of the fleet.
    ///   - keys: keys of 32 secret bytes: the first key encrypts, and every key decrypts. To rotate keys, give all
    ///     processes the new key as the last one, then as the first one. When a credential has been stored after that,
    ///     give them only the new key.
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

/// Keeps sealed credentials on the server: a hash with the version, the ciphertext and the holder of the lock, and a
/// key for the lock.
///
/// All scripts have the keys of the hash and of the lock. The holder's name stays when a lease ends, because the holder
/// may have refreshed the credential while it was cut off from the server.
struct FleetCredentialStore: CredentialStore {
    let fleet: Fleet
    var lockRecovery: Duration? = .milliseconds(300)

    var pollInterval: Duration { .milliseconds(25) }

    /// Returns false for the error of a full server, for example: such a server still renews locks.
    func isAbsence(_ error: any Error) -> Bool {
        guard let error = error as? FleetError else { return true }
        if case .circuitOpen = error { return true }
        return error.isOutage
    }

    /// The prefix of a released lock's value, before its owner's name; the mark expires with the lease.
    ///
    /// Without the mark, a released lock would look like a lock that the server lost.
    private static let released = "released "

    private static let common = """
        local function isFree(owner)
            return type(owner) == 'string' and string.sub(owner, 1, #'\(released)') == '\(released)'
        end
        local function take(owner, lease)
            redis.call('HSET', KEYS[1], 'holder', owner)
            redis.call('SET', KEYS[2], owner, 'PX', lease)
        end
        local function release(owner)
            if redis.call('HGET', KEYS[1], 'holder') == owner then redis.call('HDEL', KEYS[1], 'holder') end
            if redis.call('GET', KEYS[2]) ~= owner then return 0 end
            local left = redis.call('PTTL', KEYS[2])
            -- A full server stores the mark behind a removal alone.
            redis.call('DEL', KEYS[2])
            if left > 0 then redis.call('SET', KEYS[2], '\(released)' .. owner, 'PX', left) end
            return 1
        end
        -- The server's run as the primary, and whether it began just now, or is one of a replica before. Its time may
        -- have gone by while the server read its file, or could not be reached.
        \(RESPScript.currentRun)
        local function isNew()
            local text = redis.pcall('INFO', 'server')
            local time = tonumber(type(text) == 'string' and string.match(text, 'uptime_in_seconds:(%d+)') or 0)
            local replication = redis.pcall('INFO', 'replication')
            local wasReplica = type(replication) ~= 'string' or not string.find(replication, 'second_repl_offset:%-1')
            return wasReplica or time < 300
        end

        """

    /// Reads the credential, and takes the lock if an owner is given.
    ///
    /// Arguments: the owner or nothing; the lease; 1 if another owner's lock was seen, 2 if its end was seen, otherwise
    /// 0; the minimum version; the run that is known to have lost locks. An owner that already has the lock, since a
    /// reply was lost, gets it again. A lock without an expiry was not made here, and gets one. The reply ends with 1
    /// for the lock, 2 for a lock that may be lost, and otherwise 0; the lease to wait for; and, if there is one, the
    /// run that has lost locks.
    ///
    /// A server that restarts or is promoted may have the credential without the lock of a refresh in progress. One
    /// lease later, such a lock has ended, or its owner has taken it again.
    private static let look = RESPScript(
        common + """
            local entry = redis.call('HMGET', KEYS[1], 'version', 'sealed', 'run', 'holder')
            if ARGV[1] == '' then return {entry[1], entry[2], 0, 0} end
            local owner = redis.pcall('GET', KEYS[2])
            local version = 0
            -- What another program wrote is no older version.
            if entry[1] then version = string.match(entry[1], '^[1-9]%d*$') and tonumber(entry[1]) or math.huge end
            if not owner and entry[4] and entry[4] ~= ARGV[1] and ARGV[3] == '0' then
                return {entry[1], entry[2], 2, tonumber(ARGV[2])}
            end
            if not owner and (ARGV[3] == '1' or version < tonumber(ARGV[4])) then
                return {entry[1], entry[2], 2, 0}
            end
            if entry[1] and (not owner or isFree(owner)) then
                local run = currentRun()
                if run ~= '' and run ~= entry[3] then
                    if entry[3] and entry[3] ~= '' and run ~= ARGV[5] and isNew() then
                        return {entry[1], entry[2], 2, tonumber(ARGV[2]), run}
                    end
                    redis.call('HSET', KEYS[1], 'run', run)
                end
            end
            if not owner or owner == ARGV[1] or isFree(owner) then
                take(ARGV[1], ARGV[2])
                return {entry[1], entry[2], 1, 0}
            end
            local left = redis.call('PTTL', KEYS[2])
            if left == -1 then
                redis.call('PEXPIRE', KEYS[2], ARGV[2])
                left = tonumber(ARGV[2])
            end
            return {entry[1], entry[2], 0, left}
            """)

    /// Extends a lock, also on a full server; takes a lost lock again, but not after its owner released it.
    private static let renewal = RESPScript(
        common + """
            local owner = redis.call('GET', KEYS[2])
            if owner == ARGV[1] then return redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
            if owner and not isFree(owner) or owner == '\(released)' .. ARGV[1] then return 0 end
            take(ARGV[1], ARGV[2])
            return 1
            """)

    /// Replaces the credential if its version is the expected one, and then releases the lock.
    ///
    /// The version is read by the rule of `version(_:)`: if the rules differed, no replacement could succeed. The lock
    /// stays when nothing was replaced, because the vault then stores the credential again.
    private static let replacement = RESPScript(
        common + """
            local entry = redis.call('HMGET', KEYS[1], 'version', 'sealed')
            local text = entry[1] or ''
            local version = 0
            if entry[2] and #text <= 15 and string.match(text, '^[1-9]%d*$') then version = tonumber(text) end
            if version ~= tonumber(ARGV[2]) then return 0 end
            redis.call('HSET', KEYS[1], 'version', ARGV[3], 'sealed', ARGV[4], 'run', currentRun())
            release(ARGV[1])
            return 1
            """)

    private static let release = RESPScript(common + "return release(ARGV[1])")

    /// The longest rest of a lease that is believed, in milliseconds: a day.
    private static let longestLease: Int64 = 86_400_000

    private func keys(_ name: String) -> [RESPArgument] {
        [fleet.key("credential", name), fleet.key("credential-lock", name)]
    }
    private func milliseconds(_ lease: Duration) -> RESPArgument {
        RESPArgument(max(1, lease.nanosecondCount / 1_000_000))
    }

    func look(_ name: String, owner: String?, lease: Duration) async throws -> CredentialLook {
        try await look(name, owner: owner ?? "", lease: lease, unlessLost: KnownLock())
    }

    func look(
        _ name: String, owner: String, lease: Duration, unlessLost known: KnownLock
    ) async throws -> CredentialLook {
        let reply = try await fleet.evaluate(
            Self.look, keys: keys(name),
            arguments: [
                RESPArgument(owner), milliseconds(lease), known.isHeld ? "1" : known.hasEnded ? "2" : "0",
                RESPArgument(known.version),
                RESPArgument(known.run ?? ""),
            ])
        guard let values = reply.elements, (4...5).contains(values.count), let state = values[2].integer,
            let left = values[3].integer
        else { throw fleet.unexpectedReply(to: Self.look) }
        var entry: StoredCredential?
        if let version = Self.version(values[0]), let sealed = values[1].data {
            entry = StoredCredential(version: version, sealed: sealed)
        }
        var look = CredentialLook(entry: entry, hasLock: state == 1)
        look.isLockLost = state == 2
        look.run = values.dropFirst(4).first?.text
        if left > 0 { look.lockLeft = .milliseconds(min(left, Self.longestLease)) }
        return look
    }

    /// Reads a version, a number of up to 15 digits as our own code writes it; `nil` for any other value.
    private static func version(_ value: RESPValue) -> Int? {
        guard let text = value.text, text.utf8.allSatisfy({ (48...57).contains($0) }), text.first != "0",
            let version = Int(text), StoredCredential.versions.contains(version)
        else { return nil }
        return version
    }

    func renew(_ name: String, owner: String, lease: Duration) async throws -> Bool {
        // The renewal is sent even while the circuit is open: without it the lease would end, and another process would
        // take the lock.
        let reply = try await fleet.evaluate(
            Self.renewal, keys: keys(name), arguments: [RESPArgument(owner), milliseconds(lease)], asksAlways: true)
        return reply.integer == 1
    }

    func replace(
        _ name: String, expecting version: Int, with entry: StoredCredential, owner: String
    ) async throws -> Bool {
        let reply = try await fleet.evaluate(
            Self.replacement, keys: keys(name),
            arguments: [
                RESPArgument(owner), RESPArgument(version), RESPArgument(entry.version), RESPArgument(entry.sealed),
            ])
        return reply.integer == 1
    }

    func release(_ name: String, owner: String) async throws {
        try await fleet.evaluate(Self.release, keys: keys(name), arguments: [RESPArgument(owner)])
    }
}
