// The guards that admit messages.

import FireweedTransport
import Foundation

/// Admits messages to an origin, and learns the outcome of each admitted message.
///
/// Every admission is followed by one release, however the transfer ends. Methods are called on any thread, and must
/// not block.
protocol AdmissionGuard: AnyObject, Sendable {
    /// The guard's record of an admitted message, which `noteHead` and `release` get back.
    associatedtype Permit: Sendable

    /// Decides whether a message is sent; `now` is in nanoseconds of the transport's clock.
    func admit(_ message: borrowing RequestMessage, at now: UInt64) -> GuardAdmission<Permit>

    /// Called when the head of the response has come.
    func noteHead(_ head: ResponseHead, for permit: Permit, clock: any SessionClock)

    /// Called once, when the transfer of an admitted message has ended.
    func release(_ permit: Permit, after end: GuardedEnd, at now: UInt64)
}

/// A guard's decision about a message.
enum GuardAdmission<Permit: Sendable>: Sendable {
    /// The message is sent without a permit, and is not reported to the guard.
    case pass
    /// The message is sent, and the permit is released afterwards.
    case admit(Permit)
    case refuse(OverloadError)
}

/// The end of a guarded transfer.
struct GuardedEnd: Sendable {
    /// Whether a head came.
    let hasHead: Bool
    /// Why the transfer failed; a time-out if the request's deadline cancelled the transfer, `nil` for a success.
    let failure: TransferFailure?
    /// Whether the message ended in its origin's queue, while no connection was being made for it.
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
