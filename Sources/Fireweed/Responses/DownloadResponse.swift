// The response of a request that writes its content to a file.

public import Foundation
public import FoundationNetworking

/// A download response whose error is an ``AFError``.
public typealias AFDownloadResponse<Success> = DownloadResponse<Success, AFError>

/// The outcome of a request with content in a file: the request, the response head, the file and the result.
public struct DownloadResponse<Success, Failure: Error> {
    package let context: any ResponseContext
    private let file: ContentFile?
    private let produced: ProducedResumeData?
    /// How long the serialiser took, in seconds.
    public let serializationDuration: TimeInterval
    /// The value from the serialiser, or the error.
    public let result: Result<Success, Failure>

    /// The file with the content; `nil` when there is no file.
    ///
    /// Reading the property does not keep a temporary file: see ``DownloadRequest`` for how long the file exists.
    public var fileURL: URL? { file?.url }
    /// The resume data of a download that ended early.
    ///
    /// A partial file in a temporary folder is removed ten days after its last change.
    public var resumeData: Data? { produced?.data }
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

    /// Makes a response from its parts, for tests; the caller keeps the file.
    ///
    /// - Parameters:
    ///   - request: the request that was sent last; `nil` when none was sent.
    ///   - response: the server's response; `nil` when none came.
    ///   - fileURL: the file with the content; `nil` when there is no file.
    ///   - resumeData: what a download can be resumed with (``ResumeData``); `nil` when it cannot be resumed.
    ///   - metrics: the durations and byte counts of the task; `nil` when there was no task.
    ///   - serializationDuration: how long the serialiser took, in seconds.
    ///   - result: the value from the serialiser, or the error.
    public init(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, resumeData: Data?, metrics: TaskMetrics?,
        serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        self.init(
            context: FixedResponseContext(request: request, response: response, metrics: metrics),
            file: fileURL.map { ContentFile(url: $0, owner: nil) },
            produced: resumeData.map { ProducedResumeData(data: $0, owner: nil) },
            serializationDuration: serializationDuration, result: result)
    }

    init(
        context: any ResponseContext, file: ContentFile?, produced: ProducedResumeData?,
        serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        self.context = context
        self.file = file
        self.produced = produced
        self.serializationDuration = serializationDuration
        self.result = result
    }

    private func with<NewSuccess, NewFailure: Error>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> DownloadResponse<NewSuccess, NewFailure> {
        DownloadResponse<NewSuccess, NewFailure>(
            context: context, file: file, produced: produced, serializationDuration: serializationDuration,
            result: result)
    }
}

extension DownloadResponse {
    /// Transforms the value of a success; a failure stays as it is.
    public func map<NewSuccess>(_ transform: (Success) -> NewSuccess) -> DownloadResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Transforms the value of a success; an error that the closure throws becomes the failure.
    public func tryMap<NewSuccess>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DownloadResponse<NewSuccess, any Error> {
        with(Result { try transform(try result.get()) })
    }

    /// Transforms the error of a failure; a success stays as it is.
    public func mapError<NewFailure: Error>(_ transform: (Failure) -> NewFailure) -> DownloadResponse<
        Success, NewFailure
    > {
        with(result.mapError(transform))
    }

    /// Transforms the error of a failure; an error that the closure throws becomes the failure.
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
    func outcome() throws -> Success { try result.get() }

    func failed(with error: AFError) -> DownloadResponse {
        DownloadResponse(
            context: context, file: file, produced: produced, serializationDuration: serializationDuration,
            result: .failure(error))
    }
}

extension DownloadResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The result.
    public var description: String { "\(result)" }

    /// Request, response, content, durations and result, with one fact on each line.
    public var debugDescription: String {
        ResponseText.describe(
            context,
            content: nil,
            file: [
                "[File URL]: \(file?.url.path ?? "None")",
                "[Resume Data]: \(produced.map { "\($0.data.count) bytes" } ?? "None")",
            ],
            serializationDuration: serializationDuration, result: "\(result)")
    }
}
