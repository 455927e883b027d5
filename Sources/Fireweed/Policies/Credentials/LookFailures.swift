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

    let fallback: CredentialVaultFallback
    private var hasRead = false
    /// When the wait for the store ends, and the next pause; `nil` while the store can be used.
    private var wait: (end: ContinuousClock.Instant, pause: Duration)?

    init(fallback: CredentialVaultFallback) {
        self.fallback = fallback
    }

    mutating func noteSuccess() {
        hasRead = false
        wait = nil
    }

    /// What comes after a look that failed; `lockEnd` is when the lock of another owner ends, if one was seen.
    mutating func next(lockEnd: ContinuousClock.Instant?) -> LookupAction {
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
