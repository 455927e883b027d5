// Errors for messages that were not sent, to spare a server.

public import Foundation

/// The reason why a message was not sent: its server is overloaded or fails, or its own deadline cannot be met.
///
/// The request fails with `AFError.sessionTaskFailed(error:)` around this error. No byte of the message was sent, so
/// any message may be sent again later. There is one exception: an idempotent message that was lost on a reused
/// connection waits for another connection, and may have been sent once. A `RetryPolicy` does not retry after this
/// error, since the retry would be refused too.
public enum OverloadError: Error, Sendable, Hashable {
    /// The circuit of a ``TransportGuard`` is open, since the origin fails; `pause` is the time until the pause ends.
    case circuitOpen(origin: String, pause: Duration)
    /// The origin's limit of messages in flight, for the message's priority, is reached.
    case limitReached(origin: String, limit: Int)
    /// The origin has asked for a pause, with `Retry-After` (RFC 9110 §10.2.3) or an exhausted `RateLimit` quota.
    case pauseRequested(origin: String, pause: Duration)
    /// The message waited for a connection to its origin until its deadline could no longer be met.
    ///
    /// `remaining` is the time to the deadline, and `needed` is the longest time among the quickest tenth of the last
    /// responses.
    case deadlineOutOfReach(origin: String, remaining: Duration, needed: Duration)
    /// The number of messages that wait for a connection to the origin exceeds
    /// `TransportOptions.maximumWaitingRequests`.
    case tooManyWaiting(origin: String, limit: Int)
    /// The message waited for a connection for as long as `TransportOptions.maximumConnectionWait` allows.
    case waitedTooLong(origin: String, limit: Duration)

    /// The origin of the message: scheme, host and port.
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
    /// The `OverloadError`, if this failure reports one; otherwise `nil`.
    package var overload: OverloadError? {
        if case .reported(let error) = self { error as? OverloadError } else { nil }
    }
}
