// Handlers with a `ResponseSerializer`, which can be written as `.data`, `.string` and `.decodable(of:)`.

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
}

extension DataRequest {
    /// Calls the handler with the objects that `JSONSerialization` makes; prefer `responseDecodable`.
    @preconcurrency
    @discardableResult
    public func response(
        queue: DispatchQueue = .main, responseSerializer: JSONResponseSerializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Any>) -> Void
    ) -> Self {
        add(
            HandlerSlot(
                queue: queue, make: { self.serialised(by: responseSerializer) },
                handler: { completionHandler($0.map { $0 as Any }) }))
    }
}

extension DownloadRequest {
    /// Calls the handler with the objects that `JSONSerialization` makes; prefer `responseDecodable`.
    @preconcurrency
    @discardableResult
    public func response(
        queue: DispatchQueue = .main, responseSerializer: JSONResponseSerializer,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Any>) -> Void
    ) -> Self {
        add(
            HandlerSlot(
                queue: queue, make: { self.serialised(by: responseSerializer) },
                handler: { completionHandler($0.map { $0 as Any }) }))
    }
}
