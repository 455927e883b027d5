// The awaited forms that take a `ResponseSerializer`, so that `.data`, `.string` and `.decodable(of:)` can be written
// with a dot.

extension DataRequest {
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
    /// What a serialiser makes of the response, to be awaited.
    public func serializingDownload<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(request: self, automaticallyCancelling: shouldAutomaticallyCancel) {
            self.serialised(by: serializer)
        }
    }
}
