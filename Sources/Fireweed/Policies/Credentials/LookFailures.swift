// The table of failed looks at a credential's store, and of their consequences.

/// Decides what a refresh does after a look that failed.
struct LookFailures {
    enum LookupAction: Equatable {
        case lookAgain
        /// Look without an owner: a store that takes no lock may have the credential of another process.
        case read
        /// Look again after a pause; `isFirst` for the first pause since the store could be used.
        case wait(Duration, isFirst: Bool)
        case fail
        case refreshAlone
    }

    private static let longestPause = Duration.milliseconds(500)

    let lease: Duration
    let fallback: CredentialVaultFallback
    /// When the lock of another owner ends at the earliest; `nil` when none was seen.
    private var lockEnd: ContinuousClock.Instant?
    private var hasRead = false
    /// When the wait for the store ends, and the next pause; `nil` while the store can be used.
    private var wait: (end: ContinuousClock.Instant, pause: Duration)?

    init(lease: Duration, fallback: CredentialVaultFallback) {
        self.lease = lease
        self.fallback = fallback
    }

    mutating func noteSuccess() {
        hasRead = false
        wait = nil
    }

    /// Another owner has the lock; true for the first time.
    mutating func noteLock() -> Bool {
        defer { lockEnd = ContinuousClock.now + lease }
        return lockEnd == nil
    }

    mutating func next() -> LookupAction {
        let now = ContinuousClock.now
        // A process that has seen another's lock does not refresh beside it before the lease has passed.
        if let lockEnd, now < lockEnd { return .lookAgain }
        guard hasRead else {
            hasRead = true
            return .read
        }
        switch fallback {
        case .alone: return .refreshAlone
        case .fail: return .fail
        case .wait(let limit):
            let known = wait
            let (end, pause) = known ?? (now + limit, .milliseconds(10))
            guard now < end else { return .fail }
            wait = (end, min(pause * 2, Self.longestPause))
            // Each look with an owner is followed by a look without.
            hasRead = false
            return .wait(min(pause, end - now), isFirst: known == nil)
        }
    }
}
