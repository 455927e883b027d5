// The response of a request that keeps its content in memory.

public import Foundation
public import FoundationNetworking

/// A data response whose error is an ``AFError``.
public typealias AFDataResponse<Success> = DataResponse<Success, AFError>

/// The outcome of a request with content in memory: the request, the response head, the content and the result.
public struct DataResponse<Success, Failure: Error> {
    package let context: any ResponseContext
    /// The content; `nil` when no content was received.
    public let data: Data?
    /// How long the serialiser took, in seconds.
    public let serializationDuration: TimeInterval
    /// The value from the serialiser, or the error.
    public let result: Result<Success, Failure>

    /// The request that was sent last; made at each call unless it exists already.
    public var request: URLRequest? { context.request }
    /// The server's response.
    public var response: HTTPURLResponse? { context.response }
    /// The durations and byte counts of the task.
    public var metrics: TaskMetrics? { context.metrics }
    /// The value, if the result is a success.
    public var value: Success? { if case .success(let value) = result { value } else { nil } }
    /// The error, if the result is a failure.
    public var error: Failure? { if case .failure(let error) = result { error } else { nil } }

    /// Makes a response from its parts, for tests.
    ///
    /// - Parameters:
    ///   - request: the request that was sent last; `nil` when none was sent.
    ///   - response: the server's response; `nil` when none came.
    ///   - data: the content; `nil` when no content was received.
    ///   - metrics: the durations and byte counts of the task; `nil` when there was no task.
    ///   - serializationDuration: how long the serialiser took, in seconds.
    ///   - result: the value from the serialiser, or the error.
    public init(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, metrics: TaskMetrics?,
        serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        self.init(
            context: FixedResponseContext(request: request, response: response, metrics: metrics), data: data,
            serializationDuration: serializationDuration, result: result)
    }

    @inline(__always)
    init(
        context: any ResponseContext, data: Data?, serializationDuration: TimeInterval,
        result: Result<Success, Failure>
    ) {
        self.context = context
        self.data = data
        self.serializationDuration = serializationDuration
        self.result = result
    }

    private func with<NewSuccess, NewFailure: Error>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> DataResponse<NewSuccess, NewFailure> {
        DataResponse<NewSuccess, NewFailure>(
            context: context, data: data, serializationDuration: serializationDuration, result: result)
    }
}

extension DataResponse {
    /// Transforms the value of a success; a failure stays as it is.
    public func map<NewSuccess>(_ transform: (Success) -> NewSuccess) -> DataResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Transforms the value of a success; an error that the closure throws becomes the failure.
    public func tryMap<NewSuccess>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DataResponse<NewSuccess, any Error> {
        with(Result { try transform(try result.get()) })
    }

    /// Transforms the error of a failure; a success stays as it is.
    public func mapError<NewFailure: Error>(_ transform: (Failure) -> NewFailure) -> DataResponse<Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// Transforms the error of a failure; an error that the closure throws becomes the failure.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> DataResponse<Success, any Error> {
        switch result {
        case .success(let value): with(.success(value))
        case .failure(let error): with(.failure(Self.error(from: error, transform)))
        }
    }

    private static func error<NewFailure: Error>(
        from error: Failure, _ transform: (Failure) throws -> NewFailure
    ) -> any Error {
        do { return try transform(error) } catch { return error }
    }
}

extension DataResponse: Sendable where Success: Sendable {}

extension DataResponse: FailableResponse where Failure == AFError {
    func outcome() throws -> Success { try result.get() }

    func failed(with error: AFError) -> DataResponse {
        DataResponse(
            context: context, data: data, serializationDuration: serializationDuration, result: .failure(error))
    }
}

extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The result.
    public var description: String { "\(result)" }

    /// Request, response, content, durations and result, with one fact on each line.
    public var debugDescription: String {
        ResponseText.describe(
            context, content: .some(data), serializationDuration: serializationDuration, result: "\(result)")
    }
}
