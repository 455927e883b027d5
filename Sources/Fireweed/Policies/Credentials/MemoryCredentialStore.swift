// Shared credentials within one process.

import FireweedTransport
import Foundation
import Synchronization

/// Keeps credentials in memory.
final class MemoryCredentialStore: CredentialStore {
    private struct Slot {
        var entry: StoredCredential?
        var owner: String?
        var leaseEnd: UInt64 = 0
    }

    private let slots = Mutex<[String: Slot]>([:])
    private let clock = SystemClock()

    var pollInterval: Duration { .milliseconds(10) }

    private func change<Result: Sendable>(_ name: String, _ body: (inout Slot, UInt64) -> Result) -> Result {
        let now = clock.monotonicNanoseconds
        return slots.withLock { slots in
            var slot = slots[name] ?? Slot()
            defer { slots[name] = slot }
            return body(&slot, now)
        }
    }

    func look(_ name: String, owner: String?, lease: Duration) async throws -> CredentialLook {
        change(name) { slot, now in
            if let owner, slot.owner == nil || slot.owner == owner || slot.leaseEnd <= now {
                slot.owner = owner
                slot.leaseEnd = now + lease.nanosecondCount
            }
            return CredentialLook(entry: slot.entry, hasLock: owner != nil && slot.owner == owner)
        }
    }

    func renew(_ name: String, owner: String, lease: Duration) async throws -> Bool {
        change(name) { slot, now in
            guard slot.owner == owner else { return false }
            slot.leaseEnd = now + lease.nanosecondCount
            return true
        }
    }

    func replace(
        _ name: String, expecting version: Int, with entry: StoredCredential, owner: String
    ) async throws -> Bool {
        change(name) { slot, _ in
            guard (slot.entry?.version ?? 0) == version else { return false }
            if slot.owner == owner { slot.owner = nil }
            slot.entry = entry
            return true
        }
    }

    func release(_ name: String, owner: String) async throws {
        change(name) { slot, _ in
            if slot.owner == owner { slot.owner = nil }
        }
    }
}
