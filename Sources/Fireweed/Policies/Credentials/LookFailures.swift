// Actions after failed look-ups in a credential store.

/// Decides what a refresh does after a failed look-up.
struct LookFailures {
    enum LookupAction: Equatable {
        case lookAgain
        /// Look without an owner: a store that cannot write a lock may still have another process's new credential.
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

    /// Returns the action after a failed look-up; `lockEnd` is when the lock of another owner ends, if a lock was seen.
    mutating func next(lockEnd: ContinuousClock.Instant?) -> LookupAction {
        let now = ContinuousClock.now
        // A process that has seen another's lock does not refresh before that lock's lease has passed.
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
            // After the next failure, `.read` comes first again: a look-up without an owner, which takes no lock.
            hasRead = false
            return .wait(min(pause, end - now), isFirst: known == nil)
        }
    }
}
