// A request whose content is delivered as it comes.

import Dispatch
package import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A request that delivers the content of its response piece by piece, and keeps only the content of an error response.
///
/// A slow handler slows down reading from the network: about one megabyte at most waits for one handler. A handler gets
/// the content that comes after it was added. The request ends when every handler has returned, so that a handler's
/// error can still fail the request. After `cancel()` no further value is delivered. A retry delivers the content from
/// its beginning to the same handlers; sequences never get content twice.
public final class DataStreamRequest: Request, @unchecked Sendable {
    // SAFETY: all its stored properties are `let`s of `Sendable` types.

    /// Called with each event of a stream, in order, one call at a time.
    ///
    /// An error that the handler throws ends the request: an ``AFError`` unchanged, another error inside
    /// `AFError.responseSerializationFailed`. An error for `.complete` is ignored.
    public typealias Handler<Success, Failure: Error> = @Sendable (Stream<Success, Failure>) throws -> Void

    /// Checks the head of a response; returns success, or the error with which the request ends.
    public typealias Validation = @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse) -> ValidationResult

    /// An event of a stream, with methods to stop the stream.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// The event.
        public let event: Event<Success, Failure>
        /// Stops the stream.
        public let token: CancellationToken

        /// Stops the stream.
        public func cancel() {
            token.cancel()
        }
    }

    /// An event of a stream: any number of values, then one completion.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A value, or the error that prevented the value.
        case stream(Result<Success, Failure>)
        /// The end of the stream.
        case complete(Completion)
    }

    /// How a stream ended.
    public struct Completion: Sendable, ResponseContext {
        /// The request that was sent last.
        public let request: URLRequest?
        /// The server's response.
        public let response: HTTPURLResponse?
        /// The metrics of the last task.
        public let metrics: TaskMetrics?
        /// The error that ended the stream early; `nil` for a complete stream.
        public let error: AFError?
        /// The value of ``DataStreamRequest/data``: the content of a response with a status from 400 on; `nil` for
        /// other responses.
        public let data: Data?
        package let head: ResponseHead?
    }

    /// Stops a stream.
    public struct CancellationToken: Sendable {
        weak let request: DataStreamRequest?

        /// Cancels the request.
        public func cancel() {
            request?.cancel()
        }
    }

    /// Whether a failure of a serialiser cancels the request, which then completes with `AFError.explicitlyCancelled`.
    public let automaticallyCancelOnStreamError: Bool
    let receiver: StreamReceiver

    init(
        convertible: any URLRequestConvertible, automaticallyCancelOnStreamError: Bool, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?,
        content: RequestContent = .ofURLRequest
    ) {
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        receiver = StreamReceiver()
        super.init(
            RequestParts(origin: convertible, content: content, receiver: receiver), core: core,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The value that the request was made from.
    public var convertible: any URLRequestConvertible { parts.origin }

    /// The maximum number of bytes in `data`: 64 KiB.
    public static let maximumErrorContentByteCount = 64 * 1024

    /// The first bytes of a response with a status from 400 on, to explain the error; `nil` for other responses.
    ///
    /// At most `maximumErrorContentByteCount` bytes of the last response. Streams get this content too, except
    /// `serverSentEvents()`, which only delivers events; it waits at most two seconds for the content of an error.
    public var data: Data? { receiver.errorContent }

    var isStopped: Bool { receiver.isStopped(self) }

    var completion: Completion {
        let context = responseContext
        return Completion(
            request: context.request, response: context.response, metrics: context.metrics, error: error, data: data,
            head: context.head)
    }

    func add(_ sink: any StreamSink) -> Self {
        receiver.add(sink, of: self)
        return add(sink as any ResponseHandler)
    }
}

extension DataStreamRequest.Stream {
    /// The value or failure of a `.stream` event; `nil` for `.complete`.
    public var result: Result<Success, Failure>? { if case .stream(let result) = event { result } else { nil } }
    /// The value of a successful `.stream` event; otherwise `nil`.
    public var value: Success? { if case .success(let value) = result { value } else { nil } }
    /// The failure of a failed `.stream` event; otherwise `nil`.
    public var error: Failure? { if case .failure(let error) = result { error } else { nil } }
    /// The completion of a `.complete` event; `nil` for `.stream`.
    public var completion: DataStreamRequest.Completion? {
        if case .complete(let completion) = event { completion } else { nil }
    }
}
