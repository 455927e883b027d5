// The lock of a credential that somebody else has, or may have.

/// What a refresh knows of the lock that it waits for, by which it notices that the store has lost the lock.
///
/// A server loses locks with a restart, a failover or an eviction, while their owners refresh. A refresh beside another
/// one would use a refresh token twice (RFC 9700 §4.14.2). An owner takes a lost lock again as soon as it notices; so a
/// refresh waits before it takes a lock that is gone although the owner did not give it back:
///
/// - until the lease of a lock that it has seen would have ended, and for a lease from now where the store could not be
///   used meanwhile: its owner could neither renew the lock nor store the outcome, and may learn later that it can;
/// - for a lease where the store says that a lease has ended without its owner, and it has not seen that itself;
/// - for the time that the store says when it runs anew and keeps credentials alone, or another one took its place;
/// - for a lease when the store has not what this process has seen there;
/// - for `CredentialStore.lockRecovery` when the store has nothing, which may be true for the first refresh of all.
struct SeenLock: Sendable {
    private let lease: Duration
    /// `CredentialStore.lockRecovery`.
    private let recovery: Duration?
    /// When the lock of another owner ends at the earliest; `nil` when there was none.
    private(set) var end: ContinuousClock.Instant?
    /// Before when no lock is taken, since the store was away.
    private var earliestEnd: ContinuousClock.Instant?
    private var isReported = false
    private var hasDoubted = false
    /// The last run of the store that has lost locks.
    private var run: String?
    /// Whether a look failed since the last one that did not.
    private var wasAway = false

    init(lease: Duration, recovery: Duration?) {
        self.lease = lease
        self.recovery = recovery
    }

    /// What the next look says; `version` is the latest one that this process has seen in the store.
    func known(version: Int, at now: ContinuousClock.Instant) -> KnownLock {
        guard recovery != nil else { return KnownLock() }
        let isHeld = isHeld(at: now) || wasAway && end != nil
        return KnownLock(
            isHeld: isHeld, hasEnded: !isHeld && end != nil && !wasAway, version: hasDoubted ? 0 : max(1, version),
            run: isHeld ? nil : run)
    }

    /// Notes a look that failed.
    mutating func noteFailure() { wasAway = true }

    private func isHeld(at now: ContinuousClock.Instant) -> Bool { end.map { now < $0 } ?? false }

    /// Notes a look that did not get the lock; true for the first lock of another owner.
    mutating func note(_ look: CredentialLook, version: Int, at now: ContinuousClock.Instant) -> Bool {
        defer { wasAway = false }
        guard look.isLockLost, let recovery else {
            if wasAway, recovery != nil { earliestEnd = now + lease }
            let left = now + (look.lockLeft ?? lease)
            end = earliestEnd.map { max($0, left) } ?? left
            defer { isReported = true }
            return !isReported
        }
        if wasAway, end != nil {
            end = now + lease
            return false
        }
        if let newRun = look.run {
            guard newRun != run else { return false }
            run = newRun
            end = now + (look.lockLeft ?? lease)
            return false
        }
        // Where a lock was seen, its end is known.
        guard !isHeld(at: now), !hasDoubted else { return false }
        hasDoubted = true
        end = now + (look.lockLeft ?? (version > 0 ? lease : recovery))
        return false
    }
}
