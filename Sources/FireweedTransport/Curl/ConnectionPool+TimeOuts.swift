// Time-outs, and reminders of what stands still.

import CCurl
import Foundation

extension ConnectionPool {
    /// The moment at which the transfer times out if nothing happens until then.
    func deadline(of transfer: Transfer) -> LoopInstant? {
        var deadline = transfer.message.deadlineNanoseconds
        if transfer.message.idleTimeout > 0, !transfer.pauses.contains(.suspended),
            !transfer.pauses.contains(.intakeFull)
        {
            // While the transfer waits for a free connection, only the total time runs; the sweep looks again later.
            let idle = transfer.message.idleTimeout.nanoseconds
            let idleEnd = (transfer.lastActivity ?? context.now).addingSaturating(idle)
            deadline = min(deadline ?? idleEnd, idleEnd)
        }
        return earlier(earlier(deadline, transfer.discardDeadline), lookupDeadline(of: transfer))
    }

    /// The moment at which libcurl is to be reminded of the transfer if nothing happens until then.
    ///
    /// libcurl 7.88 keeps content that comes for one stream of HTTP/2 while it reads for another, and now and then it
    /// forgets to hand it on: the last bytes of a response would never come.
    private func reminder(of transfer: Transfer) -> LoopInstant? {
        guard transfer.queue?.isMultiplexed == true, transfer.pauses.isEmpty, transfer.handle != nil,
            let lastActivity = transfer.lastActivity, transfer.remindedActivity != lastActivity
        else { return nil }
        return lastActivity &+ Self.reminderDelay
    }

    func nextLook(at transfer: Transfer) -> LoopInstant? {
        earlier(deadline(of: transfer), reminder(of: transfer))
    }

    func lowerSweepDeadline(to deadline: LoopInstant?) {
        guard let deadline else { return }
        sweepDeadline = min(sweepDeadline ?? deadline, deadline)
    }

    /// Ends what has timed out, reminds libcurl of what stands still, and finds the next moment to look.
    private func sweep() {
        sweepDeadline = nil
        var suspects: [OriginQueue] = []
        for transfer in running where transfer.state == .running {
            if let reminder = reminder(of: transfer), reminder <= context.now { remind(transfer) }
            if let due = transfer.discardDeadline, due <= context.now {
                endDiscarded(transfer)
            } else if let deadline = deadline(of: transfer), deadline <= context.now {
                let detail = "no byte moved within the time-out, or the time for the whole exchange is over"
                transfer.failure =
                    transfer.failure
                    ?? .exchange(.timedOut, detail: detail, engineCode: Int(CURLE_OPERATION_TIMEDOUT.rawValue))
                if let queue = transfer.queue, !suspects.contains(where: { $0 === queue }), suspectsPeer(of: transfer) {
                    queue.renewConnections()
                    suspects.append(queue)
                }
                end(transfer, code: CURLE_OPERATION_TIMEDOUT)
            } else {
                lowerSweepDeadline(to: nextLook(at: transfer))
            }
        }
        for queue in suspects { closeIdleConnections(of: queue) }
        // Many different deadlines must not make many sweeps.
        sweepDeadline = sweepDeadline.map { max($0, context.now + 2_000_000) }
    }

    private func remind(_ transfer: Transfer) {
        transfer.remindedActivity = transfer.lastActivity
        guard let handle = transfer.handle else { return }
        if handle.isStuck { return move(transfer, handle) }
        let code = handle.remind()
        if code != CURLE_OK { end(transfer, code: code) }
    }

    /// Gives a transfer whose request could not leave another connection, once.
    private func move(_ transfer: Transfer, _ handle: EasyHandle) {
        guard let queue = transfer.queue else { return }
        queue.renewConnections()
        curl_multi_remove_handle(multi, handle.easy)
        defer { closeIdleConnections(of: queue) }
        guard !transfer.hasMoved, handle.beginAnew(transfer) else {
            transfer.failure = transfer.failure ?? .noStreams
            return end(transfer, code: CURLE_OK)
        }
        transfer.hasMoved = true
        transfer.launchDrive = driveCount
        addAgain(transfer, handle)
    }

    /// Looks at a stream that is about to begin when nothing has come of it for a while.
    func streamBegins(of transfer: Transfer) {
        lowerSweepDeadline(to: context.now + Self.reminderDelay)
    }
}

extension ConnectionPool: LoopTimer {
    var deadline: LoopInstant? {
        earlier(earlier(engineDeadline, sweepDeadline), idleDeadline)
    }

    private func earlier(_ left: LoopInstant?, _ right: LoopInstant?) -> LoopInstant? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }

    func deadlineReached() {
        if let due = engineDeadline, due <= context.now {
            engineDeadline = nil
            drive(fw_socket_timeout, 0)
        }
        if let due = sweepDeadline, due <= context.now { sweep() }
        if let due = idleDeadline, due <= context.now { replaceMulti() }
    }
}
