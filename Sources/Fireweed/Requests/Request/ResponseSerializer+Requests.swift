// Handlers with a `ResponseSerializer`, which can be written as `.data`, `.string` and `.decodable(of:)`.

public import Dispatch
import Foundation

extension DataRequest {
    /// Calls the handler with the value that a serialiser makes of the response.
    ///
    /// For serialisers that are written with a dot, such as `.decodable(of: User.self)`. The serialiser runs on the
    /// session's serialisation queue.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; the main queue by default.
    ///   - responseSerializer: makes the value.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        add(
            CompletionHandler(
                queue: queue, make: { self.serialised(by: responseSerializer) }, handler: completionHandler))
    }
}

extension DownloadRequest {
    /// Calls the handler with the value that a serialiser makes of the response.
    ///
    /// For serialisers that are written with a dot, such as `.decodable(of: User.self)`. The serialiser runs on the
    /// session's serialisation queue.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; the main queue by default.
    ///   - responseSerializer: makes the value.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        add(
            CompletionHandler(
                queue: queue, make: { self.serialised(by: responseSerializer) }, handler: completionHandler))
    }
}

extension DataRequest {
    /// Calls the handler with the objects that `JSONSerialization` makes; prefer `responseDecodable`.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; the main queue by default.
    ///   - responseSerializer: makes the objects, on the session's serialisation queue.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @preconcurrency
    @discardableResult
    public func response(
        queue: DispatchQueue = .main, responseSerializer: JSONResponseSerializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Any>) -> Void
    ) -> Self {
        add(
            CompletionHandler(
                queue: queue, make: { self.serialised(by: responseSerializer) },
                handler: { completionHandler($0.map { $0 as Any }) }))
    }
}

extension DownloadRequest {
    /// Calls the handler with the objects that `JSONSerialization` makes; prefer `responseDecodable`.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; the main queue by default.
    ///   - responseSerializer: makes the objects, on the session's serialisation queue.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @preconcurrency
    @discardableResult
    public func response(
        queue: DispatchQueue = .main, responseSerializer: JSONResponseSerializer,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Any>) -> Void
    ) -> Self {
        add(
            CompletionHandler(
                queue: queue, make: { self.serialised(by: responseSerializer) },
                handler: { completionHandler($0.map { $0 as Any }) }))
    }
}
