// A request that uploads content.

public import Foundation
import FoundationNetworking

/// A ``DataRequest`` that sends bytes, a file, a stream, a form or an async sequence.
///
/// The end of the response ends the upload. When the whole response comes before all content was sent, the rest is not
/// sent, and only the response decides whether the request succeeds. `uploadProgress` shows how much was sent. A
/// response with a status of 300 or more ends the upload at its head (RFC 9112 §9.5).
public final class UploadRequest: DataRequest, @unchecked Sendable {
    // SAFETY: all its stored properties are `let`s of `Sendable` types.

    /// The content of an upload.
    public enum Uploadable: @unchecked Sendable {
        // SAFETY: an `InputStream` is handed over: the caller does not read it any more.
        /// Bytes in memory.
        case data(Data)
        /// A file, and whether the request removes the file before the response handlers are called.
        case file(URL, shouldRemove: Bool)
        /// A stream, read once: a redirect that needs the stream again fails with `requestBodyStreamExhausted`, and
        /// there is no retry.
        case stream(InputStream)
    }

    private let content: UploadContent

    init(
        _ content: UploadContent, convertible: any URLRequestConvertible, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        self.content = content
        super.init(
            convertible: convertible, content: .upload(content), taskKind: .upload, core: core,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The value that makes the content.
    public var upload: any UploadableConvertible { content.given ?? content }
    /// The content; `nil` for a form that is not encoded yet or is sent from its parts, and for an async sequence.
    public var uploadable: Uploadable? { content.uploadable }
    /// The file manager of `Session.upload`; `cleanup()` uses it.
    public var fileManager: FileManager { content.fileManager }

    /// Removes the uploaded file if the upload was made with `.file(_, shouldRemove: true)`.
    ///
    /// The request itself removes the file when every serialiser has run, before the handlers are called.
    public func cleanup() {
        content.removeFile()
    }

    /// Returns the stream that the request was made with; `nil` if the stream was taken before, and for other content.
    func takeStream() -> InputStream? {
        content.takeStream(for: self)
    }
}
