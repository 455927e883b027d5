// The response of a request that writes its content to a file.

public import Foundation
public import FoundationNetworking

/// A download response whose error is an `AFError`.
public typealias AFDownloadResponse<Success> = DownloadResponse<Success, AFError>

/// Everything that came of a request with content in a file: the exchange, the content and the result.
public struct DownloadResponse<Success, Failure: Error> {
    let evidence: any ResponseEvidence
    private let file: ContentFile?
    private let produced: ProducedResumeData?
    /// How long the serialiser took, in seconds.
    public let serializationDuration: TimeInterval
    /// What the serialiser made, or why there is nothing.
    public let result: Result<Success, Failure>

    /// Where the content is; `nil` when there is no file.
    ///
    /// Asking for it keeps a file in a temporary place, which goes with the last response otherwise.
    public var fileURL: URL? { file?.taken }
    /// The resume data of a download that ended early; reading it keeps a temporary partial file.
    public var resumeData: Data? { produced?.taken }
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
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, resumeData: Data?, metrics: TaskMetrics?,
        serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        self.init(
            evidence: GivenEvidence(request: request, response: response, metrics: metrics),
            file: fileURL.map { ContentFile(url: $0, owner: nil) },
            produced: resumeData.map { ProducedResumeData(data: $0, owner: nil) },
            serializationDuration: serializationDuration, result: result)
    }

    init(
        evidence: any ResponseEvidence, file: ContentFile?, produced: ProducedResumeData?,
        serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        self.evidence = evidence
        self.file = file
        self.produced = produced
        self.serializationDuration = serializationDuration
        self.result = result
    }

    private func with<NewSuccess, NewFailure: Error>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> DownloadResponse<NewSuccess, NewFailure> {
        DownloadResponse<NewSuccess, NewFailure>(
            evidence: evidence, file: file, produced: produced, serializationDuration: serializationDuration,
            result: result)
    }
}

extension DownloadResponse {
    /// The response with its value turned into another one.
    public func map<NewSuccess>(_ transform: (Success) -> NewSuccess) -> DownloadResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// The response with its value turned into another one, or with the error that the closure throws.
    public func tryMap<NewSuccess>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DownloadResponse<NewSuccess, any Error> {
        with(Result { try transform(try result.get()) })
    }

    /// The response with its error turned into another one.
    public func mapError<NewFailure: Error>(_ transform: (Failure) -> NewFailure) -> DownloadResponse<
        Success, NewFailure
    > {
        with(result.mapError(transform))
    }

    /// The response with its error turned into another one, or with the one that the closure throws.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> DownloadResponse<Success, any Error> {
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

extension DownloadResponse: Sendable where Success: Sendable {}

extension DownloadResponse: FailableResponse where Failure == AFError {
    func failed(with error: AFError) -> DownloadResponse {
        DownloadResponse(
            evidence: evidence, file: file, produced: produced, serializationDuration: serializationDuration,
            result: .failure(error))
    }
}

extension DownloadResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The result.
    public var description: String { "\(result)" }

    /// The exchange, line by line.
    public var debugDescription: String {
        ResponseText.describe(
            evidence,
            content: nil,
            file: [
                "[File URL]: \(file?.url.path ?? "None")",
                "[Resume Data]: \(produced.map { "\($0.data.count) bytes" } ?? "None")",
            ],
            serializationDuration: serializationDuration, result: "\(result)")
    }
}
