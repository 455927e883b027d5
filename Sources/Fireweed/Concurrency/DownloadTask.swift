// Awaiting the response of a download.

public import Foundation
import FoundationNetworking

/// The response of a `DownloadRequest`, to be awaited; as often as one likes, with the same answer.
///
/// The request is on its way once the task is made. Decoding happens on the task that awaits first.
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
public struct DownloadTask<Value: Sendable>: Sendable {
    private let request: DownloadRequest
    private let slot: AwaitedSlot<AFDownloadResponse<Value>>
    private let shouldAutomaticallyCancel: Bool

    init(
        request: DownloadRequest, automaticallyCancelling: Bool,
        make: @escaping @Sendable () -> (AFDownloadResponse<Value>, AFError?)
    ) {
        self.request = request
        slot = ClosureSlot(make: make)
        shouldAutomaticallyCancel = automaticallyCancelling
        _ = request.add(slot)
    }

    /// Everything that came of the request.
    public var response: AFDownloadResponse<Value> {
        get async {
            guard shouldAutomaticallyCancel else { return await slot.response(of: request) }
            return await withTaskCancellationHandler {
                await slot.response(of: request)
            } onCancel: {
                cancel()
            }
        }
    }

    /// The value, or the error.
    public var result: AFResult<Value> {
        get async { await response.result }
    }

    /// The value; throws the `AFError` of the response.
    public var value: Value {
        get async throws { try await result.get() }
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
    /// The content, to be awaited.
    ///
    /// `automaticallyCancelling` says whether the end of the awaiting task cancels the request.
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

    /// A decoded value, to be awaited.
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

    /// The content as text, to be awaited.
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

    /// What a serialiser makes of the response, to be awaited.
    public func serializingDownload<Serializer: DownloadResponseSerializerProtocol>(
        using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(request: self, automaticallyCancelling: shouldAutomaticallyCancel) {
            self.serialised(by: serializer)
        }
    }

    /// The file of the content, to be awaited.
    public func serializingDownloadedFileURL(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<URL> {
        serializingDownload(using: URLResponseSerializer(), automaticallyCancelling: shouldAutomaticallyCancel)
    }
}
