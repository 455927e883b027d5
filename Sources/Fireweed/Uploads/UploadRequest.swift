// A request that sends content of its own.

import FireweedTransport
public import Foundation
import FoundationNetworking

/// A `DataRequest` that sends bytes, a file or a stream.
public final class UploadRequest: DataRequest, @unchecked Sendable {
    /// What is sent.
    public enum Uploadable: @unchecked Sendable {
        // SAFETY: an `InputStream` is handed over: nobody else reads it.
        /// Bytes in memory.
        case data(Data)
        /// A file, and whether it is removed when the request has ended.
        case file(URL, shouldRemove: Bool)
        /// A stream, read once: a retry or a redirect that needs it again fails with `requestBodyStreamExhausted`.
        case stream(InputStream)
    }

    /// What makes the content.
    public let upload: any UploadableConvertible
    /// What is sent; `nil` for a form that is not encoded yet or is sent straight from its parts, and for an async sequence.
    public var uploadable: Uploadable? { given ?? content.data.map { .data($0) } }
    /// The file manager that removes a file which is to be removed.
    public let fileManager: FileManager

    private let given: Uploadable?
    private let content: UploadContent
    /// The parts of a form that is sent straight from them, for whoever wants to see it.
    private let formContent: (@Sendable () -> CURLContent)?
    /// True for content that can be read once.
    private let isOneShot: Bool
    /// The stream of `.stream`, which the first exchange reads.
    private let ownStream: OneShotStream?

    /// Makes an upload of what an async sequence gives.
    init(
        sequence: BodySource, convertible: any URLRequestConvertible, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        content = UploadContent { sequence }
        given = nil
        upload = content
        fileManager = .default
        formContent = { .pieces([.stream]) }
        isOneShot = true
        ownStream = nil
        super.init(
            convertible: convertible, core: core, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes an upload of a form, which is encoded when the request is made: below the threshold in memory, else straight from its
    /// parts.
    init(
        form: UploadedForm, threshold: UInt64, convertible: any URLRequestConvertible, fileManager: FileManager,
        core: SessionCore, interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        content = UploadContent { try form.source(below: threshold) }
        given = nil
        upload = content
        self.fileManager = fileManager
        formContent = { form.form.shownContent }
        isOneShot = false
        ownStream = nil
        super.init(
            convertible: convertible, core: core, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    init(
        uploadable: Uploadable, convertible: any URLRequestConvertible, fileManager: FileManager, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        upload = uploadable
        given = uploadable
        let ownStream: OneShotStream? = if case .stream(let stream) = uploadable { OneShotStream(stream) } else { nil }
        self.ownStream = ownStream
        let body: BodySource =
            switch uploadable {
            case .data(let data): .data(data)
            case .file(let url, _): .reader { try FileBodyReader(opening: url) }
            case .stream: ownStream.map { .oneShot($0, byteCount: nil) } ?? .none
            }
        content = UploadContent { body }
        self.fileManager = fileManager
        formContent = nil
        isOneShot = ownStream != nil
        super.init(
            convertible: convertible, core: core, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    override var taskKind: TaskKind { .upload }

    override func makeRecord() throws -> RequestRecord {
        // A form is encoded after its `URLRequest` is made, since that may add parts.
        let record = given == nil ? try super.makeRecord() : nil
        if case .failure(let error) = content.source {
            throw UploadableFailure(error: error.asAFError(or: .createUploadableFailed(error: error)))
        }
        return try record ?? super.makeRecord()
    }

    override func tellOfContent(of made: Result<RequestRecord, any Error>) {
        if case .failure(let failure as UploadableFailure) = made {
            tellMonitors { monitor, _ in
                monitor.request(self, didFailToCreateUploadableWithError: failure.error)
            }
        } else if let uploadable {
            tellMonitors { monitor, _ in monitor.request(self, didCreateUploadable: uploadable) }
        }
    }

    override func makeBody(for record: RequestRecord) throws -> BodySource {
        let source = try content.source.get()
        guard isOneShot, case .reader(let make) = source else { return source }
        // The caller's word for the length, which a stream itself cannot give.
        let byteCount = record.ownHeaders?["Content-Length"].flatMap({ Int64($0) })
        return .reader { [weak self] in
            guard let self, let attempt = lastAttempt else { throw URLError(.requestBodyStreamExhausted) }
            return try makeReader(for: attempt, byteCount: byteCount, makeFirst: make)
        }
    }

    // MARK: Content that can be read once

    /// A reader for one exchange; called on the event loop.
    private func makeReader(
        for attempt: Attempt, byteCount: Int64?, makeFirst: () throws -> any BodyReader
    ) throws -> any BodyReader {
        // An async sequence is not a stream, but only a stream can replace it when it was read already.
        if ownStream == nil, let reader = try? makeFirst() {
            return byteCount.map { MeasuredReader(reader, byteCount: $0) } ?? reader
        }
        tellOfStreamNeed(attempt)
        if core.delegate.isSubclass { return DelegatedStreamReader(of: self, attempt, byteCount: byteCount) }
        guard let stream = takeStream() else { throw URLError(.requestBodyStreamExhausted) }
        return StreamBodyReader(opening: stream, byteCount: byteCount)
    }

    /// The stream that the request was made with; `nil` when it was taken before, and for other content.
    func takeStream() -> InputStream? {
        guard let stream = ownStream?.take() else { return nil }
        if beginAnnouncement(during: .transferring) {
            let shown = ShownStream(stream)
            tellMonitors { monitor, _ in monitor.request(self, didProvideInputStream: shown.value) }
            endAnnouncement()
        }
        return stream
    }

    override var ownContent: CURLContent? {
        switch uploadable {
        case .data(let data): .data(data)
        case .file(let url, _): .pieces([.file(url)])
        case .stream: .pieces([.stream])
        case nil: formContent?()
        }
    }

    /// Removes the file of an `.file(_, shouldRemove: true)`; the session calls it once, when every handler has been called.
    public override func cleanup() {
        guard case .file(let url, shouldRemove: true) = uploadable else { return }
        try? fileManager.removeItem(at: url)
        if TemporaryFiles.isPlace(url) { TemporaryFiles.leave(url) }
    }
}
