// The response of a request that keeps its content in memory.

public import Foundation
public import FoundationNetworking

/// A data response whose error is an `AFError`.
public typealias AFDataResponse<Success> = DataResponse<Success, AFError>

/// Everything that came of a request with content in memory: the exchange, the content and the result.
public struct DataResponse<Success, Failure: Error> {
    let evidence: any ResponseEvidence
    /// The content; `nil` when none came.
    public let data: Data?
    /// How long the serialiser took, in seconds.
    public let serializationDuration: TimeInterval
    /// What the serialiser made, or why there is nothing.
    public let result: Result<Success, Failure>

    /// The request that was sent last; made at each call unless it exists already.
    public var request: URLRequest? { evidence.request }
    /// The server's response.
    public var response: HTTPURLResponse? { evidence.response }
    /// What the task took.
    public var metrics: TaskMetrics? { evidence.metrics }
    /// The value, if the result is a success.
    public var value: Success? { if case .success(let value) = result { value } else { nil } }
    /// The error, if the result is a failure.
    public var error: Failure? { if case .failure(let error) = result { error } else { nil } }

    /// Makes a response of its parts.
    public init(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, metrics: TaskMetrics?,
        serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        self.init(
            evidence: GivenEvidence(request: request, response: response, metrics: metrics), data: data,
            serializationDuration: serializationDuration, result: result)
    }

    init(
        evidence: any ResponseEvidence, data: Data?, serializationDuration: TimeInterval,
        result: Result<Success, Failure>
    ) {
        self.evidence = evidence
        self.data = data
        self.serializationDuration = serializationDuration
        self.result = result
    }

    private func with<NewSuccess, NewFailure: Error>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> DataResponse<NewSuccess, NewFailure> {
        DataResponse<NewSuccess, NewFailure>(
            evidence: evidence, data: data, serializationDuration: serializationDuration, result: result)
    }
}

extension DataResponse {
    /// The response with its value turned into another one.
    public func map<NewSuccess>(_ transform: (Success) -> NewSuccess) -> DataResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// The response with its value turned into another one, or with the error that the closure throws.
    public func tryMap<NewSuccess>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DataResponse<NewSuccess, any Error> {
        with(Result { try transform(try result.get()) })
    }

    /// The response with its error turned into another one.
    public func mapError<NewFailure: Error>(_ transform: (Failure) -> NewFailure) -> DataResponse<Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// The response with its error turned into another one, or with the one that the closure throws.
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
    func failed(with error: AFError) -> DataResponse {
        DataResponse(
            evidence: evidence, data: data, serializationDuration: serializationDuration, result: .failure(error))
    }
}

extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The result.
    public var description: String { "\(result)" }

    /// The exchange, line by line.
    public var debugDescription: String {
        ResponseText.describe(
            evidence, content: .some(data), serializationDuration: serializationDuration, result: "\(result)")
    }
}
