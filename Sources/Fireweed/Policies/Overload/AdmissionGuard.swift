// The guards that admit messages.

import FireweedTransport
import Foundation

/// Admits messages to an origin, and learns the outcome of each admitted message.
///
/// Every admission is followed by one release, however the transfer ends. Methods are called on any thread, and must
/// not wait.
protocol AdmissionGuard: AnyObject, Sendable {
    /// What the guard knows about an admitted message.
    associatedtype Permit: Sendable

    /// Decides about a message that is about to be sent; `now` is in nanoseconds of the transport's clock.
    func admit(_ message: borrowing RequestMessage, at now: UInt64) -> GuardAdmission<Permit>

    /// Called when the head of the response has come.
    func noteHead(_ head: ResponseHead, for permit: Permit, clock: any SessionClock)

    /// Called once, when the transfer of an admitted message has ended.
    func release(_ permit: Permit, after end: GuardedEnd, at now: UInt64)
}

/// What a guard decides about a message.
enum GuardAdmission<Permit: Sendable>: Sendable {
    /// The guard has no interest in the message.
    case pass
    /// The message is sent, and the permit is released afterwards.
    case admit(Permit)
    case refuse(OverloadError)
}

/// The end of a guarded transfer.
struct GuardedEnd: Sendable {
    /// Whether a head came.
    let hasHead: Bool
    /// Why the transfer failed; a time-out if the deadline of the request cancelled the transfer, `nil` for a success.
    let failure: TransferFailure?
    /// Whether the message has never left the queue of its origin.
    let isUnassigned: Bool

    /// Whether the transfer timed out.
    var isTimeout: Bool {
        switch failure {
        case .exchange(.timedOut, _, _): true
        case .reported(let error): (error as? URLError)?.code == .timedOut
        case .cancelled, .unreadableBody, .untrusted, .refused, .exchange, nil: false
        }
    }
}
