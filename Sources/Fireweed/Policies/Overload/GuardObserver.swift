// The observer that asks a guard about one transfer.

import FireweedTransport

/// Asks its guard when the transfer starts, and releases the permit at the end.
///
/// No permit is taken before the start, so that a transfer that is dropped before its start has no permit to release.
struct GuardObserver<Guard: AdmissionGuard>: TransferObserver {
    private let gate: Guard
    private let clock: any SessionClock
    private var permit: Guard.Permit?
    private var hasHead = false

    init(_ gate: Guard, clock: any SessionClock) {
        self.gate = gate
        self.clock = clock
    }

    mutating func transferWillStart(_ message: inout RequestMessage) -> TransferFailure? {
        switch gate.admit(message, at: clock.monotonicNanoseconds) {
        case .pass: return nil
        case .admit(let permit):
            self.permit = permit
            return nil
        case .refuse(let error): return .reported(error)
        }
    }

    mutating func transferDidReceive(_ head: ResponseHead) {
        hasHead = true
        if let permit { gate.noteHead(head, for: permit, clock: clock) }
    }

    mutating func transferDidFinish(_ end: borrowing TransferEnd, failure: TransferFailure?) {
        guard let permit = permit.take() else { return }
        let end = GuardedEnd(hasHead: hasHead, failure: failure, isUnassigned: end.report.isUnassigned)
        gate.release(permit, after: end, at: clock.monotonicNanoseconds)
    }
}
