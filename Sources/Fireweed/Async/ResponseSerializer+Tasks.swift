// Methods that take a `ResponseSerializer` and return a task, so that `.data`, `.string` and `.decodable(of:)` can be
// written with a dot.

extension DataRequest {
    /// Returns a task that awaits the value that a serialiser makes from the response.
    ///
    /// For serialisers that are written with a dot, such as `.decodable(of: User.self)`.
    ///
    /// - Parameters:
    ///   - serializer: makes the value, on the Swift task that waits first or on the serialisation queue.
    ///   - shouldAutomaticallyCancel: whether cancelling the awaiting Swift task cancels the request; true by default.
    /// - Returns: the task, whose `value` or `response` is awaited.
    public func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        DataTask(
            request: self, automaticallyCancelling: shouldAutomaticallyCancel,
            handler: AwaitingHandler { self.serialised(by: serializer) })
    }
}

extension DownloadRequest {
    /// Returns a task that awaits the value that a serialiser makes from the response.
    ///
    /// For serialisers that are written with a dot, such as `.decodable(of: User.self)`.
    ///
    /// - Parameters:
    ///   - serializer: makes the value, on the Swift task that waits first or on the serialisation queue.
    ///   - shouldAutomaticallyCancel: whether cancelling the awaiting Swift task cancels the request; true by default.
    /// - Returns: the task, whose `value` or `response` is awaited.
    public func serializingDownload<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(request: self, automaticallyCancelling: shouldAutomaticallyCancel) {
            self.serialised(by: serializer)
        }
    }
}
