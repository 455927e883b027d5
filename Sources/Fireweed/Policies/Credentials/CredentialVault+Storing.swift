// Storing of a refreshed credential.

import Foundation
import Synchronization

/// A credential to refresh, and the stored version that the outcome replaces.
struct RefreshRequest<Credential: Sendable>: Sendable {
    private(set) var credential: Credential
    private(set) var encoded: Data
    /// The caller's credential, encoded: the same as `encoded`, or older.
    let caller: Data
    /// The version of the store before the refresh.
    var version = 0
    let owner: String

    init(credential: Credential, encoded: Data, owner: String) {
        self.credential = credential
        self.encoded = encoded
        self.owner = owner
        caller = encoded
    }

    /// Changes the request, so that a newer credential than the caller's is refreshed.
    mutating func begin(with credential: Credential, _ encoded: Data) {
        (self.credential, self.encoded) = (credential, encoded)
    }
}

/// A refreshed credential that is to be stored.
struct RefreshOutcome<Credential: Sendable>: Sendable {
    let credential: Credential
    let encoded: Data
}

extension CredentialVault {
    private enum Storing {
        case stored
        /// Another process stored a credential first.
        case overtaken(by: StoredCredential)
    }

    /// How often storing is tried while the stored version changes.
    private static var replacementLimit: Int { 4 }

    /// Stores the outcome of a refresh, now or later; returns the credential to use.
    func keep(
        _ request: RefreshRequest<Credential>, _ outcome: RefreshOutcome<Credential>
    ) async -> Credential {
        do {
            switch try await store(outcome, of: request) {
            case .stored:
                state.withLock { $0.unstored = nil }
                options.eventHandler?(.refreshed)
            // The lease ended during the refresh, and another process stored its credential first: that credential is
            // used.
            case .overtaken(let entry):
                await giveBack(request.owner)
                return try adopt(entry)
            }
        } catch {
            note(outcome.encoded, version: request.version)
            if error is CredentialVaultError {
                await giveBack(request.owner)
            } else {
                storeLater(outcome, of: request)
            }
            options.eventHandler?(.notStored(error))
        }
        return outcome.credential
    }

    /// Replaces the stored credential if it is the one that the refresh began with, or the caller's; any other stays.
    private func store(
        _ outcome: RefreshOutcome<Credential>, of request: RefreshRequest<Credential>
    ) async throws -> Storing {
        var version = request.version
        for _ in 0..<Self.replacementLimit {
            let entry = try seal(outcome.encoded, version: next(after: version))
            if try await store.replace(name, expecting: version, with: entry, owner: request.owner) {
                note(outcome.encoded, version: entry.version)
                return .stored
            }
            guard let found = try await store.look(name, owner: nil, lease: .zero).entry else {
                version = 0  // the store has lost everything
                continue
            }
            // The store has our credential: our write has succeeded, and only its answer was lost.
            if open(found) == outcome.encoded {
                note(outcome.encoded, version: found.version)
                return .stored
            }
            guard let other = decode(found), [request.encoded, request.caller].contains(try encode(other)) else {
                return .overtaken(by: found)
            }
            version = found.version
        }
        throw CredentialVaultError.alwaysReplaced
    }

    /// Tries again to store the outcome, with growing pauses, for six leases.
    ///
    /// After six leases the outcome is no longer needed: another process has refreshed the old credential by then, or
    /// no process needs a new one.
    private func storeLater(_ outcome: RefreshOutcome<Credential>, of request: RefreshRequest<Credential>) {
        let base = hash(request.caller)
        state.withLock {
            $0.unstored = Unstored(owner: request.owner, base: base, credential: outcome.credential)
        }
        // The task is unstructured, since no caller waits for it: the credential is in use already.
        Task {
            var pause = Duration.milliseconds(50)
            let end = ContinuousClock.now + options.lease * 6
            while ContinuousClock.now < end {
                // Polls, since no event reports that a store is back.
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(1), options.lease / 3)
                // If `set` or a later refresh has replaced this outcome, it must not be stored any more.
                guard isUnstored(request) else { return await giveBack(request.owner) }
                // Renews the lock, since another process would otherwise refresh the old credential again. A failure
                // is ignored: the next renewal may succeed.
                _ = try? await store.renew(name, owner: request.owner, lease: options.lease)
                guard let storing = try? await store(outcome, of: request) else { continue }
                forget(request)
                if case .stored = storing { options.eventHandler?(.refreshed) } else { await giveBack(request.owner) }
                return
            }
            await giveBack(request.owner)
        }
    }

    private func isUnstored(_ request: RefreshRequest<Credential>) -> Bool {
        state.withLock { $0.unstored?.owner == request.owner }
    }

    private func forget(_ request: RefreshRequest<Credential>) {
        state.withLock { if $0.unstored?.owner == request.owner { $0.unstored = nil } }
    }
}
