// The parts in which kinds of requests differ.

import FireweedTransport
import Foundation

/// The parts that differ between the kinds of requests.
struct RequestParts: Sendable {
    /// Makes the `URLRequest`.
    let origin: any URLRequestConvertible
    /// The content that the request sends.
    var content = RequestContent.ofURLRequest
    /// Takes the responses.
    let receiver: any ResponseReceiver
    /// The kind of task that users see.
    var taskKind = TaskKind.data
}

/// The content that a request sends.
enum RequestContent: Sendable {
    /// The content that the `URLRequest` carries, if it carries any.
    case ofURLRequest
    /// Content that is given separately from the `URLRequest`, or the error that was thrown while the content was made.
    ///
    /// `isUsedUp` tells whether no further message can have the content.
    case given(Result<MessageContent, any Error>, isUsedUp: @Sendable () -> Bool = { false })
    /// The content of an upload.
    case upload(UploadContent)

    /// The content of an attempt's first message.
    func source(for record: RequestRecord, of request: Request) throws -> MessageContent {
        switch self {
        case .ofURLRequest: return record.body
        case .given(let made, _):
            do {
                return try made.get()
            } catch {
                throw error.asAFError(or: .createUploadableFailed(error: error))
            }
        case .upload(let content): return try content.source(for: record, of: request)
        }
    }

    /// Whether a retry cannot send the content again: it can be read only once, and an attempt has begun to read it.
    func isUsedUp(after attempt: Attempt?, of request: Request) -> Bool {
        switch self {
        case .ofURLRequest:
            guard let attempt, let stream = attempt.record.existing?.httpBodyStream else { return false }
            return stream.streamStatus != .notOpen
        case .given(_, let isUsedUp): return isUsedUp()
        case .upload(let content): return content.isUsedUp(for: request)
        }
    }

    /// The content beside the `URLRequest`, if the content is in memory.
    var data: Data? {
        switch self {
        case .given(.success(.data(let data)), _): return data
        case .upload(let content):
            guard case .data(let data) = content.uploadable else { return nil }
            return data
        case .ofURLRequest, .given: return nil
        }
    }

    /// The content in a `curl` command; `nil` for the content of the `URLRequest`.
    var shown: CURLContent? {
        if case .upload(let content) = self { content.shown } else { nil }
    }

    /// Removes the file of an upload that asks for its removal; called once every serialiser has run.
    func cleanUp() {
        if case .upload(let content) = self { content.removeFile() }
    }
}
