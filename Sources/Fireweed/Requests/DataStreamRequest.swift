// A request whose content is handed on as it comes.

import Dispatch
import FireweedTransport
import Foundation
public import FoundationNetworking
import Synchronization

/// A request that hands its response's content on piece by piece and keeps none of it.
///
/// A handler that is slower than the network slows the network down: what waits for one handler stays below a megabyte or so.
public final class DataStreamRequest: Request, @unchecked Sendable {
    /// Called with each event of a stream; what it throws ends the request when `automaticallyCancelOnStreamError` is set.
    public typealias Handler<Success, Failure: Error> = @Sendable (Stream<Success, Failure>) throws -> Void

    /// Checks the head of a response; success, or the error that the request ends with.
    public typealias Validation = @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse) -> ValidationResult

    /// An event, and the means to stop the stream.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// What happened.
        public let event: Event<Success, Failure>
        /// Stops the stream.
        public let token: CancellationToken

        /// Stops the stream.
        public func cancel() {
            token.cancel()
        }
    }

    /// What happens in a stream: any number of values, then one completion.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A value, or why it could not be made.
        case stream(Result<Success, Failure>)
        /// The end.
        case complete(Completion)
    }

    /// How a stream ended.
    public struct Completion: Sendable {
        /// The request that was sent last.
        public let request: URLRequest?
        /// The server's response.
        public let response: HTTPURLResponse?
        /// What the task took.
        public let metrics: TaskMetrics?
        /// Why the stream ended early, if it did.
        public let error: AFError?
    }

    /// Stops a stream.
    public struct CancellationToken: Sendable {
        weak let request: DataStreamRequest?

        /// Cancels the request.
        public func cancel() {
            request?.cancel()
        }
    }

    /// What the request was made from.
    public let convertible: any URLRequestConvertible
    /// Whether a failure of a serialiser or a handler ends the request.
    public let automaticallyCancelOnStreamError: Bool
    private let sinks = Mutex<[any StreamSink]>([])

    init(
        convertible: any URLRequestConvertible, automaticallyCancelOnStreamError: Bool, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        self.convertible = convertible
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        super.init(core: core, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    override func makeRecord() throws -> RequestRecord {
        try RequestRecord(convertible)
    }

    override func receive(_ head: ResponseHead, of attempt: Attempt) -> HeadDisposition {
        offerResponse(of: attempt)
    }

    override func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Intake {
        let sinks = sinks.withLock { $0 }
        guard !sinks.contains(where: \.isFull) else { return .pause }
        let data = Data(bytes)
        for sink in sinks { sink.receive(data) }
        return .taken
    }

    func add(_ sink: any StreamSink) -> Self {
        sinks.withLock { $0.append(sink) }
        return add(sink as any ResponseSlot)
    }

    override func cleanup() {
        sinks.withLock { $0 = [] }
    }

    var completion: Completion {
        let evidence = evidence
        return Completion(
            request: evidence.request, response: evidence.response, metrics: evidence.metrics, error: error)
    }

    /// Ends the request because a value could not be made or was refused.
    func fail(inStream error: AFError) {
        handle(.cancel) { state in
            if state.lifecycle.isOutcomeOpen { state.error = state.error ?? error }
        }
    }
}

extension DataStreamRequest.Stream {
    /// The value or its failure, for `.stream`.
    public var result: Result<Success, Failure>? { if case .stream(let result) = event { result } else { nil } }
    /// The value, for a successful `.stream`.
    public var value: Success? { if case .success(let value) = result { value } else { nil } }
    /// The failure, for a failed `.stream`.
    public var error: Failure? { if case .failure(let error) = result { error } else { nil } }
    /// The end, for `.complete`.
    public var completion: DataStreamRequest.Completion? {
        if case .complete(let completion) = event { completion } else { nil }
    }
}

extension DataStreamRequest {
    /// Checks the response with a closure.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        add { request, attempt in
            guard let self = request as? DataStreamRequest, let response = attempt.httpURLResponse else { return nil }
            let result = validation(attempt.record.urlRequest, response)
            self.tellMonitors { monitor, _ in
                monitor.request(
                    self, didValidateRequest: attempt.record.urlRequest, response: response, withResult: result)
            }
            return ValidationRules.error(of: result)
        }
    }

    /// Accepts these statuses.
    @discardableResult
    public func validate<S: Sequence & Sendable>(statusCode acceptableStatusCodes: S) -> Self where S.Element == Int {
        let accepts = Self.membership(of: acceptableStatusCodes)
        return add { _, attempt in
            attempt.statusCode.flatMap { ValidationRules.status($0, isAcceptable: accepts) }
        }
    }

    /// Accepts these content types; `*` stands for any type or subtype.
    @discardableResult
    public func validate<S: Sequence>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String {
        let acceptable = Self.list(acceptableContentTypes)
        return add { _, attempt in
            guard attempt.statusCode != nil else { return nil }
            return ValidationRules.contentType(
                attempt.responseField("Content-Type"), isEmpty: attempt.downloadCounts.completed == 0,
                acceptable: acceptable())
        }
    }

    /// Accepts status 200 to 299 and the content types of the request's `Accept` field.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300).add { _, attempt in
            guard attempt.statusCode != nil else { return nil }
            let accept = attempt.state.withLock { $0.hop.fields }.value(of: "Accept")
            return ValidationRules.contentType(
                attempt.responseField("Content-Type"), isEmpty: attempt.downloadCounts.completed == 0,
                acceptable: ValidationRules.acceptableTypes(accept))
        }
    }
}
