// The lock of a credential that another owner has, or may have.

/// Tracks the lock that a refresh waits for, and shows when the store has lost the lock.
///
/// A server loses locks with a restart, a failover or an eviction, while their owners refresh. Two refreshes at the
/// same time would use a refresh token twice (RFC 9700 §4.14.2). An owner takes a lost lock again as soon as it notices
/// the loss. So a refresh waits before it takes a lock that disappeared without a release:
///
/// - until the lease of a lock that it has seen would have ended, or for one lease from now if the store could not be
///   used for a while: the owner could neither renew the lock nor store the outcome, and may notice later that the
///   store is back;
/// - for one lease if the store says that a lease ended without a release, and the refresh has not seen that itself;
/// - for the time that the store reports, if the store was restarted or replaced and kept only the credentials;
/// - for one lease if the store lacks a version that this process has seen there;
/// - for `CredentialStore.lockRecovery` if this process has seen no version and the store has none, as before the very
///   first refresh.
struct SeenLock: Sendable {
    private let lease: Duration
    /// `CredentialStore.lockRecovery`.
    private let recovery: Duration?
    /// The earliest time at which the lock of another owner ends; `nil` if no lock was seen.
    private(set) var end: ContinuousClock.Instant?
    /// No lock counts as ended before this moment, since the store could not be reached for a while; `nil` if there is
    /// no such moment.
    private var earliestEnd: ContinuousClock.Instant?
    private var isReported = false
    private var hasDoubted = false
    /// The last run of the store that has lost locks.
    private var run: String?
    /// Whether the store could not be reached since the last successful look-up.
    private var wasAway = false

    init(lease: Duration, recovery: Duration?) {
        self.lease = lease
        self.recovery = recovery
    }

    /// Returns what the next look-up tells the store about the lock; `version` is the latest version that this process
    /// has seen in the store.
    func known(version: Int, at now: ContinuousClock.Instant) -> KnownLock {
        guard recovery != nil else { return KnownLock() }
        let isHeld = isHeld(at: now) || wasAway && end != nil
        return KnownLock(
            isHeld: isHeld, hasEnded: !isHeld && end != nil && !wasAway, version: hasDoubted ? 0 : max(1, version),
            run: isHeld ? nil : run)
    }

    /// Notes that a look-up failed.
    mutating func noteFailure() { wasAway = true }

    private func isHeld(at now: ContinuousClock.Instant) -> Bool { end.map { now < $0 } ?? false }

    /// Notes a look-up that did not get the lock; returns true for the first lock of another owner.
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
        // While a lock that was seen is held, its end is known. Otherwise a lock that the store may have lost starts a
        // wait only the first time.
        guard !isHeld(at: now), !hasDoubted else { return false }
        hasDoubted = true
        end = now + (look.lockLeft ?? (version > 0 ? lease : recovery))
        return false
    }
}
