// Errors in lines and events.

public import Foundation

/// Why the content of a stream could not be cut into lines or events.
///
/// It is wrapped in `AFError.responseSerializationFailed(reason: .customSerializationFailed(error:))`.
public enum StreamedContentError: Error, Sendable, Equatable {
    /// A line holds more bytes than `limit`; raise `maximumLineByteCount` if such lines are to be expected.
    case lineTooLong(limit: Int)
    /// The data of an event holds more bytes than `limit`; raise `maximumEventByteCount` if such events are to be
    /// expected.
    case eventTooLong(limit: Int)

    var asAFError: AFError { .responseSerializationFailed(reason: .customSerializationFailed(error: self)) }
}

extension StreamedContentError: LocalizedError {
    /// What was too long, and the option that allows more.
    public var errorDescription: String? {
        switch self {
        case .lineTooLong(let limit):
            "A line of the content is longer than \(limit) bytes; `maximumLineByteCount` allows longer ones."
        case .eventTooLong(let limit):
            "A server-sent event is longer than \(limit) bytes; `maximumEventByteCount` allows longer ones."
        }
    }
}
