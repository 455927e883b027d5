// The forms that take a `ResponseSerializer`, so that `.data`, `.string` and `.decodable(of:)` can be written with a dot.

public import Dispatch
import Foundation

extension DataRequest {
    /// Calls the handler on `queue` with what the serialiser makes of the response.
    @discardableResult
    @preconcurrency
    public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        add(HandlerSlot(queue: queue, make: { self.serialised(by: responseSerializer) }, handler: completionHandler))
    }

    /// What a serialiser makes of the response, to be awaited.
    public func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        DataTask(
            request: self, automaticallyCancelling: shouldAutomaticallyCancel,
            slot: ClosureSlot { self.serialised(by: serializer) })
    }
}

extension DownloadRequest {
    /// Calls the handler on `queue` with what the serialiser makes of the response.
    @discardableResult
    @preconcurrency
    public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        add(HandlerSlot(queue: queue, make: { self.serialised(by: responseSerializer) }, handler: completionHandler))
    }

    /// What a serialiser makes of the response, to be awaited.
    public func serializingDownload<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(request: self, automaticallyCancelling: shouldAutomaticallyCancel) {
            self.serialised(by: serializer)
        }
    }
}
