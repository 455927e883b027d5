// A refresh: look-up, lock, and fallback without the store.

import FireweedTransport
import Foundation
import Synchronization

extension CredentialVault {
    /// How often a look-up is repeated because it took longer than the lease of its lock; limited, since every look-up
    /// may take longer than a short lease.
    private static var lateLookLimit: Int { 3 }

    /// Renews a credential, with the help of the authenticator.
    typealias Refresh = @Sendable (Credential) async throws -> Credential

    /// Returns the successor of a credential that is no longer usable: another process's new credential, or the result
    /// of `refresh`.
    ///
    /// Callers of this process with the same credential wait for one refresh. A caller that is cancelled stops waiting;
    /// a refresh that has begun continues, and its outcome is stored.
    ///
    /// - Parameters:
    ///   - credential: the credential that is no longer usable.
    ///   - refresh: renews a credential; called once at most, in a separate task. The lock is held during the call,
    ///     unless the store cannot be used and ``Options/whenUnreachable`` is `.alone`.
    /// - Returns: the credential to use from now on.
    /// - Throws: the error of `refresh`; `CredentialVaultError.lockNotReleased(after:)`; the store's error, as
    ///   ``Options/whenUnreachable`` says; `CancellationError`.
    public func refreshed(
        _ credential: Credential, by refresh: @escaping @Sendable (Credential) async throws -> Credential
    ) async throws -> Credential {
        let encoded = try encode(credential)
        return try await refreshes.value(of: hash(encoded)) { [self] handle in
            try await refreshed(credential, encoded, handle, refresh)
        }
    }

    private func refreshed(
        _ credential: Credential, _ encoded: Data, _ handle: SharedRefreshes<Credential>.Handle,
        _ refresh: @escaping Refresh
    ) async throws -> Credential {
        // The owner is this refresh, not the process: several vaults of a process may share a store.
        var request = RefreshRequest(credential: credential, encoded: encoded, owner: UUID.random().uuidString)
        if let successor = successor(of: encoded) {
            guard successor.requiresRefresh else { return successor }
            request.begin(with: successor, try encode(successor))
        }
        let end = ContinuousClock.now + options.maximumWait
        var failures = LookFailures(fallback: options.whenUnreachable)
        var lock = SeenLock(lease: options.lease, recovery: store.lockRecovery)
        var lateLooks = 0
        while true {
            let look: CredentialLook
            let start = ContinuousClock.now
            do {
                look = try await store.look(
                    name, owner: request.owner, lease: options.lease,
                    unlessLost: lock.known(version: latestVersion, at: start))
                failures.noteSuccess()
            } catch {
                try await checkAbandonment(handle, request.owner)
                if store.isAbsence(error) { lock.noteFailure() }
                let action = failures.next(lockEnd: lock.end)
                if let outcome = try await recover(from: error, by: action, request, refresh) { return outcome }
                continue
            }
            try await checkAbandonment(handle, request.owner)
            if let newer = try await adoptNewer(look.entry, than: request, hasLock: look.hasLock) { return newer }
            if look.hasLock {
                // If the process was stopped during the look, the lease may have ended, and another process may have
                // the lock.
                let isLate = ContinuousClock.now - start >= options.lease
                guard isLate, lateLooks < Self.lateLookLimit else {
                    return try await refreshLocked(request, look.entry, refresh)
                }
                lateLooks += 1
                continue
            }
            guard ContinuousClock.now < end else {
                throw CredentialVaultError.lockNotReleased(after: options.maximumWait)
            }
            if lock.note(look, version: latestVersion, at: ContinuousClock.now) { options.eventHandler?(.waiting) }
            // Polls, since no store reports the release of a lock.
            try await Task.sleep(for: store.pollInterval)
        }
    }

    /// Continues a refresh after a failed look-up; `nil` to look again.
    private func recover(
        from error: any Error, by action: LookFailures.LookupAction, _ request: RefreshRequest<Credential>,
        _ refresh: Refresh
    ) async throws -> Credential? {
        switch action {
        case .lookAgain:
            try await Task.sleep(for: store.pollInterval)
            return nil
        case .wait(let pause, let isFirst):
            if isFirst { options.eventHandler?(.waitingForStore(error)) }
            // Polls, since no event reports that a store is back; cancelling the task ends the sleep.
            try await Task.sleep(for: max(pause, store.pollInterval))
            return nil
        case .fail:
            // The failed look-up may have taken the lock, so the lock is released. The task is unstructured, since no
            // caller waits for it.
            Task { await giveBack(request.owner) }
            throw error
        case .read:
            // A store that cannot write a lock, such as one out of memory, can still be read: another process may have
            // stored a credential.
            let look = try? await store.look(name, owner: nil, lease: .zero)
            return try await adoptNewer(look?.entry, than: request, hasLock: true)
        case .refreshAlone:
            options.eventHandler?(.refreshingAlone(error))
            var request = request
            request.version = latestVersion
            return try await keep(request, perform(request) { try await refresh(request.credential) })
        }
    }

    /// Ends a refresh that no caller waits for any more, before `refresh` is called: releases the lock and throws.
    private func checkAbandonment(_ handle: SharedRefreshes<Credential>.Handle, _ owner: String) async throws {
        do {
            try handle.checkAbandonment()
        } catch {
            // Always releases the lock: even a look-up that failed may have taken it.
            await giveBack(owner)
            throw error
        }
    }

    // MARK: Newer credentials

    /// Returns the outcome of an earlier refresh of this credential that is not stored yet; `nil` if there is none.
    private func successor(of encoded: Data) -> Credential? {
        let hash = hash(encoded)
        return state.withLock { $0.unstored?.base == hash ? $0.unstored?.credential : nil }
    }

    /// Returns a stored credential that is newer than the credential in use, and releases the lock; `nil` if there is
    /// none.
    private func adoptNewer(
        _ entry: StoredCredential?, than request: RefreshRequest<Credential>, hasLock: Bool
    ) async throws -> Credential? {
        guard let newer = try newer(than: request.encoded, in: entry) else { return nil }
        if hasLock { await giveBack(request.owner) }
        options.eventHandler?(.adopted)
        return newer
    }

    /// Returns the stored credential if it is newer than the credential in use and needs no refresh; otherwise `nil`.
    private func newer(than encoded: Data, in entry: StoredCredential?) throws -> Credential? {
        let version = version(of: encoded)
        guard let entry, entry.version > version ?? 0 else { return nil }
        // A stored credential that cannot be decoded does not count, and the refresh replaces it.
        guard let credential = decode(entry), !credential.requiresRefresh else { return nil }
        // Compared in this process's encoding: another process may encode an equal value, such as a set, differently.
        let stored = try encode(credential)
        // If the encodings are equal, the stored credential is the caller's own, which needs the refresh.
        if version == nil, stored == encoded { return nil }
        note(stored, version: entry.version)
        return credential
    }

    /// Returns the stored credential if it is newer than the credential in use: its refresh token is then the valid
    /// one.
    private func current(_ encoded: Data, _ entry: StoredCredential?) -> Credential? {
        guard let entry, entry.version > version(of: encoded) ?? 0 else { return nil }
        return decode(entry)
    }

    // MARK: The refresh

    private func refreshLocked(
        _ request: RefreshRequest<Credential>, _ entry: StoredCredential?, _ refresh: @escaping Refresh
    ) async throws -> Credential {
        var locked = request
        locked.version = entry?.version ?? 0
        if let latest = current(request.encoded, entry) { locked.begin(with: latest, try encode(latest)) }
        let fresh = try await perform(locked) { [locked] in
            try await renewing(locked.owner) { try await refresh(locked.credential) }
        }
        return await keep(locked, fresh)
    }

    /// Runs a refresh, and releases the lock when the refresh fails.
    ///
    /// A refresh without the store may have the lock too: a look-up whose answer was lost may have taken it.
    private func perform(
        _ request: RefreshRequest<Credential>, _ body: () async throws -> Credential
    ) async throws -> RefreshOutcome<Credential> {
        do {
            let fresh = try await body()
            return RefreshOutcome(credential: fresh, encoded: try encode(fresh))
        } catch {
            await giveBack(request.owner)
            throw error
        }
    }

    /// Runs a refresh, and renews the lease as long as the refresh runs; more often if the store may lose locks, so
    /// that a lost lock is taken again before others take it.
    private func renewing(
        _ owner: String, _ body: @escaping @Sendable () async throws -> Credential
    ) async throws -> Credential {
        try await withThrowingTaskGroup(of: Credential?.self) { group in
            group.addTask { try await body() }
            group.addTask { [store, name, lease = options.lease] in
                let interval = min(lease, store.lockRecovery ?? lease) / 3
                while true {
                    try await Task.sleep(for: interval)
                    // A failed renewal is ignored: the next one may succeed, and otherwise the lease ends.
                    _ = try? await store.renew(name, owner: owner, lease: lease)
                }
            }
            defer { group.cancelAll() }
            guard let fresh = try await group.next() ?? nil else { throw CancellationError() }
            return fresh
        }
    }

    func giveBack(_ owner: String) async {
        // A failure is ignored: a lock that cannot be released ends with its lease.
        try? await store.release(name, owner: owner)
    }
}
