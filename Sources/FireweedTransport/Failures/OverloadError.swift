// Messages that were not sent, to spare a server.

public import Foundation

/// A message was not sent, since its server is overloaded, or fails.
///
/// It is inside `AFError.sessionTaskFailed(error:)`. No byte of the message was sent, so that any message may be sent
/// again later; but an idempotent one that was lost on a kept connection, and waited for another, may have been sent
/// once. A `RetryPolicy` does not retry it: the retry would meet the same refusal.
public enum OverloadError: Error, Sendable, Hashable {
    /// A ``TransportGuard`` leaves the origin alone, since it fails; the pause is what is left of it.
    case circuitOpen(origin: String, pause: Duration)
    /// As many messages are under way to the origin as its limit allows for the message's priority.
    case limitReached(origin: String, limit: Int)
    /// The origin has asked for a pause, by `Retry-After` (RFC 9110 §10.2.3) or by a `RateLimit` quota that is used up.
    case pauseRequested(origin: String, pause: Duration)
    /// The message waited in the queue of its origin until its deadline was out of reach.
    ///
    /// `remaining` is the time to the deadline, and `needed` how long the quickest tenth of the last responses took.
    case deadlineOutOfReach(origin: String, remaining: Duration, needed: Duration)
    /// As many messages wait for a connection to the origin as `TransportOptions.maximumWaitingRequests` allows.
    case tooManyWaiting(origin: String, limit: Int)
    /// The message waited for a connection for as long as `TransportOptions.maximumConnectionWait` allows.
    case waitedTooLong(origin: String, limit: Duration)

    /// The origin that was spared: scheme, host and port.
    public var origin: String {
        switch self {
        case .circuitOpen(let origin, _), .limitReached(let origin, _), .pauseRequested(let origin, _),
            .deadlineOutOfReach(let origin, _, _), .tooManyWaiting(let origin, _), .waitedTooLong(let origin, _):
            origin
        }
    }
}

extension OverloadError: CustomStringConvertible, LocalizedError {
    /// A sentence that says why the message was not sent.
    public var description: String {
        switch self {
        case .circuitOpen(let origin, let pause):
            "not sent: \(origin) fails, and is left alone for another \(pause)"
        case .limitReached(let origin, let limit):
            "not sent: \(limit) messages are under way to \(origin), which is the limit"
        case .pauseRequested(let origin, let pause):
            "not sent: \(origin) has asked for a pause, of which \(pause) is left"
        case .deadlineOutOfReach(let origin, let remaining, let needed):
            "not sent: after its wait for a connection to \(origin) the message has \(remaining) left to its deadline, "
                + "and even quick responses take \(needed)"
        case .tooManyWaiting(let origin, let limit):
            "not sent: \(limit) messages wait for a connection to \(origin), which is the limit"
        case .waitedTooLong(let origin, let limit):
            "not sent: the message waited \(limit) for a connection to \(origin), which is the limit"
        }
    }

    /// The description.
    public var errorDescription: String? { description }
}

extension TransferFailure {
    /// The refusal, where the message was not sent in order to spare its server.
    package var overload: OverloadError? {
        if case .reported(let error) = self { error as? OverloadError } else { nil }
    }
}
