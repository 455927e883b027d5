// Suspending and resuming a transfer from several threads.

import FireweedTransport

extension TransferControl {
    /// Suspends or resumes the transfer until that is what `isSuspended` says.
    ///
    /// Threads that suspend and resume may reach the transfer in another order than they changed the owner's state. So
    /// no caller passes a value that was read earlier: the state is read before each call and again after the call. The
    /// last call that the transfer gets is always the one that the state asks for.
    ///
    /// - Parameter isSuspended: reads the owner's state; called outside of every lock.
    func followSuspension(_ isSuspended: () -> Bool) {
        var applied: Bool
        repeat {
            applied = isSuspended()
            if applied { suspend() } else { resume() }
        } while isSuspended() != applied
    }
}
