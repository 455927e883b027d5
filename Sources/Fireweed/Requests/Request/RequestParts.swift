// The parts in which kinds of requests differ.

import FireweedTransport
import Foundation

/// The parts that differ between the kinds of requests.
struct RequestParts: Sendable {
    /// Makes the `URLRequest`.
    let origin: any URLRequestConvertible
    /// What the request sends as its content.
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
    /// Content beside the `URLRequest`, or why the content could not be made.
    ///
    /// `isUsedUp` tells whether no further message can have it.
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

    /// Whether a retry could not send the content again, since it can be read once and an attempt has begun to.
    func isUsedUp(after attempt: Attempt?, of request: Request) -> Bool {
        switch self {
        case .ofURLRequest:
            guard let attempt, let stream = attempt.record.existing?.httpBodyStream else { return false }
            return stream.streamStatus != .notOpen
        case .given(_, let isUsedUp): return isUsedUp()
        case .upload(let content): return content.isUsedUp(for: request)
        }
    }

    /// The content where it is in memory, beside the `URLRequest`.
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

    /// Removes what was made for this request alone; called once every serialiser has run.
    func cleanUp() {
        if case .upload(let content) = self { content.removeFile() }
    }
}
