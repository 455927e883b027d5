// The receivers of response content, one for each kind of request.

import FireweedTransport
import Foundation

/// Takes the responses of one request: into memory, to streams, into a file, or as a WebSocket.
///
/// A request has one receiver for all of its attempts. The receiver keeps the received content, and no reference to the
/// request: calls that need the request pass it.
protocol ResponseReceiver: AnyObject, Sendable {
    // MARK: Making a message

    /// The URL schemes that the request can be sent to, in lower case.
    var schemes: [String] { get }

    /// Adds the fields that the receiver needs, such as a range; called before the adapters.
    func completing(_ record: RequestRecord) throws -> RequestRecord

    /// Completes the first message of an attempt.
    func completing(
        _ message: consuming OutgoingMessage, of record: RequestRecord, for request: Request
    ) -> OutgoingMessage

    /// The links of this request only, outside the session's links; called when an attempt is made.
    func links(for request: Request) -> [any Link]

    // MARK: Receiving; on the transport's thread, in order, and without blocking

    /// Whether `receive(_:of:for:)` has to see every head, even when no handler and no monitor wants it.
    var needsHead: Bool { get }

    /// Takes the head of the final response.
    func receive(_ head: ResponseHead, of attempt: Attempt, for request: Request) -> HeadDisposition

    /// Whether the receiver coalesces content until the transport has no more at hand.
    var coalescesContent: Bool { get }

    /// Whether the content may never end.
    var isStream: Bool { get }

    /// Takes content.
    func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Demand

    /// Notes that no more content is at hand; called when `coalescesContent` is true.
    func readComplete()

    /// Whether the receiver delays the end of an attempt; the receiver then calls `Request.complete(_:failure:)` later.
    func delaysEnd(of attempt: Attempt, failure: TransferFailure?, for request: Request) -> Bool

    // MARK: The end of the request; off the transport's thread

    /// Called at every stage of a conclusion, in the order of the stages.
    func request(_ request: Request, reached stage: ConclusionStage)

    /// The results of the validators that have run on the head of an attempt already.
    func headResults(of attempt: Attempt) -> [Request.ValidationResult?]

    /// Whether a consumer has got content that a retry would deliver again: the retriers are not asked then.
    var forbidsRetry: Bool { get }

    /// Seconds until the next attempt, for a request that reconnects after every attempt; `nil` leaves the decision to
    /// the retriers.
    func reconnectionDelay(after error: AFError?, of request: Request) -> TimeInterval?
}

/// A stage in the conclusion of a request.
enum ConclusionStage {
    /// All content has come, or no more will; before validation. The attempt is `nil` when none was made since the last
    /// retry.
    case contentEnd(Attempt?)
    /// Every validator has run, or none because of an error; before the retriers.
    case validated(Attempt)
    /// A retry was granted: the content of the last attempt is discarded.
    case retry
    /// The outcome is final; before the serialisers.
    case outcome
    /// Every serialiser has run; before the handlers. A handler that is added later leads here again.
    case delivery
}

extension ResponseReceiver {
    var schemes: [String] { RequestRecord.schemes }

    func completing(_ record: RequestRecord) throws -> RequestRecord { record }

    func completing(
        _ message: consuming OutgoingMessage, of record: RequestRecord, for request: Request
    ) -> OutgoingMessage { message }

    func links(for request: Request) -> [any Link] { [] }

    var needsHead: Bool { false }

    func receive(_ head: ResponseHead, of attempt: Attempt, for request: Request) -> HeadDisposition {
        request.offerResponse(of: attempt)
    }

    var coalescesContent: Bool { false }
    var isStream: Bool { false }

    func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Demand { .wantsMore }

    func readComplete() {}

    func delaysEnd(of attempt: Attempt, failure: TransferFailure?, for request: Request) -> Bool { false }

    func headResults(of attempt: Attempt) -> [Request.ValidationResult?] { [] }

    var forbidsRetry: Bool { false }

    func reconnectionDelay(after error: AFError?, of request: Request) -> TimeInterval? { nil }
}

/// The receiver's decision about the content after the head of a response.
enum HeadDisposition {
    case proceed
    /// Content waits until the request calls `Attempt.allow()` or cancels.
    case wait
}

/// The receiver's answer to a piece of content.
enum Demand {
    /// More content may come.
    case wantsMore
    /// No more content may come until `Attempt.resumeIntake()`.
    case isFull
}
