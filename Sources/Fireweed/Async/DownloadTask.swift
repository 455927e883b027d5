// Awaiting the response of a download.

public import Foundation
import FoundationNetworking

/// The response of a ``DownloadRequest``, to be awaited any number of times, with the same result.
///
/// Making the task resumes the request, unless the session or the request says otherwise. The serialiser usually runs
/// on the Swift task that waits first, outside of any actor; otherwise, such as with several handlers, the serialiser
/// runs on the session's serialisation queue.
///
/// When the Swift task that awaits is cancelled, the request is cancelled, unless that was turned off, and the error is
/// `AFError.explicitlyCancelled`, as with Alamofire: it is not a `CancellationError`.
///
/// ```swift
/// do {
///     let value = try await request.serializingData().value
/// } catch where error.asAFError?.isExplicitlyCancelledError == true {
///     return  // cancelled
/// }
/// ```
public struct DownloadTask<Value>: Sendable {
    private let request: DownloadRequest
    private let handler: AwaitingHandler<AFDownloadResponse<Value>>
    private let shouldAutomaticallyCancel: Bool

    init(
        request: DownloadRequest, automaticallyCancelling: Bool,
        make: @escaping @Sendable () -> (AFDownloadResponse<Value>, AFError?)
    ) {
        self.request = request
        handler = AwaitingHandler(make: make)
        shouldAutomaticallyCancel = automaticallyCancelling
        _ = request.add(handler)
    }

    /// The response, with its result, metrics and error; waits until the request is finished.
    ///
    /// Never throws: a failure is in `result` and `error`.
    nonisolated(nonsending) public var response: AFDownloadResponse<Value> {
        get async {
            await finish()
            return handler.response
        }
    }

    nonisolated(nonsending) private func finish() async {
        guard shouldAutomaticallyCancel else { return await handler.finish(request) }
        await withTaskCancellationHandler {
            await handler.finish(request)
        } onCancel: {
            request.cancel()
        }
    }

    /// The value, or the ``AFError`` that `value` throws; waits until the request is finished.
    nonisolated(nonsending) public var result: AFResult<Value> {
        get async { await response.result }
    }

    /// The value of the response; waits until the request is finished.
    ///
    /// Throws the ``AFError`` of the response, most often one of these:
    /// - `sessionTaskFailed(error:)`: the network or the server failed, or a time limit passed; `error` is mostly a
    ///   `URLError`.
    /// - `responseValidationFailed(reason:)`: with `validate()`, the status or the type of the content is not
    ///   acceptable.
    /// - `responseSerializationFailed(reason:)`: the content is empty, or cannot be decoded, or the file cannot be
    ///   read.
    /// - `explicitlyCancelled`: the request or the awaiting Swift task was cancelled.
    /// - `serverTrustEvaluationFailed(reason:)`: an evaluator of the session does not trust the server.
    /// - `invalidURL(url:)`, `parameterEncodingFailed(reason:)`, `parameterEncoderFailed(reason:)`,
    ///   `createURLRequestFailed(error:)`, `requestAdaptationFailed(error:)`: the request could not be made, and
    ///   nothing was sent.
    /// - `requestRetryFailed(retryError:originalError:)`: a retrier failed.
    /// - `sessionDeinitialized`, `sessionInvalidated(error:)`: the session ended before the request.
    /// - `downloadedFileMoveFailed(error:source:destination:)`: the file could not be moved to its destination.
    nonisolated(nonsending) public var value: Value {
        get async throws {
            await finish()
            return try handler.value()
        }
    }

    /// Cancels the request.
    public func cancel() {
        request.cancel()
    }

    /// Suspends the request.
    public func suspend() {
        request.suspend()
    }

    /// Resumes the request.
    public func resume() {
        request.resume()
    }
}

extension DownloadRequest {
    /// Returns a task that awaits the content of the file as `Data`.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: whether cancelling the awaiting Swift task cancels the request; true by default.
    ///   - dataPreprocessor: changes the content before it is delivered; changes nothing by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    /// - Returns: the task, whose `value` or `response` is awaited. The request is resumed already, unless the session
    ///   or the request says otherwise.
    public func serializingData(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DownloadTask<Data> {
        let serializer = DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return DownloadTask(request: self, automaticallyCancelling: shouldAutomaticallyCancel) {
            self.serialised(by: serializer)
        }
    }

    /// Returns a task that awaits a value decoded from the content of the file.
    ///
    /// The decoder runs on the Swift task that waits first, or on the serialisation queue: see ``DownloadTask``.
    ///
    /// - Parameters:
    ///   - type: the type of the value; for an allowed empty response, it must be an ``EmptyResponse``.
    ///   - shouldAutomaticallyCancel: whether cancelling the awaiting Swift task cancels the request; true by default.
    ///   - dataPreprocessor: changes the content before it is decoded; changes nothing by default.
    ///   - decoder: decodes the content; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    /// - Returns: the task, whose `value` or `response` is awaited. The request is resumed already, unless the session
    ///   or the request says otherwise.
    @preconcurrency
    public func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
        decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods
    ) -> DownloadTask<Value> {
        let serializer = DecodableResponseSerializer<Value>(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return DownloadTask(request: self, automaticallyCancelling: shouldAutomaticallyCancel) {
            self.serialised(by: serializer)
        }
    }

    /// Returns a task that awaits the content of the file as text.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: whether cancelling the awaiting Swift task cancels the request; true by default.
    ///   - dataPreprocessor: changes the content before it is read as text; changes nothing by default.
    ///   - encoding: the encoding; `nil`, the default, takes the charset of the response, else UTF-8 for JSON, else
    ///     ISO-8859-1.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    /// - Returns: the task, whose `value` or `response` is awaited. The request is resumed already, unless the session
    ///   or the request says otherwise.
    public func serializingString(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) -> DownloadTask<String> {
        let serializer = StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return DownloadTask(request: self, automaticallyCancelling: shouldAutomaticallyCancel) {
            self.serialised(by: serializer)
        }
    }

    /// Returns a task that awaits the value that a serialiser makes from the response.
    ///
    /// - Parameters:
    ///   - serializer: makes the value, on the Swift task that waits first or on the serialisation queue; it may keep
    ///     the file.
    ///   - shouldAutomaticallyCancel: whether cancelling the awaiting Swift task cancels the request; true by default.
    /// - Returns: the task, whose `value` or `response` is awaited. The request is resumed already, unless the session
    ///   or the request says otherwise.
    public func serializingDownload<Serializer: DownloadResponseSerializerProtocol>(
        using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(request: self, automaticallyCancelling: shouldAutomaticallyCancel) {
            self.serialised(by: serializer)
        }
    }

    /// Returns a task that awaits the URL of the downloaded file; the caller owns the file.
    ///
    /// - Parameter shouldAutomaticallyCancel: whether cancelling the awaiting Swift task cancels the request; true by
    ///   default.
    /// - Returns: the task, whose `value` or `response` is awaited. The request is resumed already, unless the session
    ///   or the request says otherwise.
    public func serializingDownloadedFileURL(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<URL> {
        serializingDownload(using: URLResponseSerializer(), automaticallyCancelling: shouldAutomaticallyCancel)
    }
}
