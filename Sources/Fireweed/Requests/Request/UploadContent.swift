// The content of an upload.

import FireweedTransport
import Foundation
import FoundationNetworking
import Glibc
import Synchronization

/// The content of an upload: bytes, a file, a stream, a form or an async sequence.
///
/// For a form or an async sequence, `UploadRequest.upload` returns this object.
final class UploadContent: UploadableConvertible {
    /// The content as the caller gave it; `nil` for a form and for an async sequence.
    let given: UploadRequest.Uploadable?
    /// The file manager that `removeFile()` uses.
    let fileManager: FileManager
    private let make: @Sendable () throws -> MessageContent
    private let made = Mutex<Result<MessageContent, any Error>?>(nil)
    /// Shows a form or an async sequence in a `curl` command.
    private let show: (@Sendable () -> CURLContent)?
    /// True for content that can be read once.
    private let isOneShot: Bool
    /// True for an async sequence, whose length only a `Content-Length` field tells.
    private let isSequence: Bool
    /// The stream of `.stream`, which the first exchange reads.
    private let stream: OneShotStream?
    /// Whether a message has begun to read content that can be read once.
    private let isRead = Atomic<Bool>(false)
    /// Whether the stream of a form's part was taken, so that the form cannot be sent again.
    private let isFormUsedUp: @Sendable () -> Bool

    /// Makes the content from the caller's bytes, file or stream.
    init(_ uploadable: UploadRequest.Uploadable, fileManager: FileManager) {
        let stream: OneShotStream? = if case .stream(let stream) = uploadable { OneShotStream(stream) } else { nil }
        let source: MessageContent =
            switch uploadable {
            case .data(let data): .data(data)
            case .file(let url, _): .file(url)
            case .stream: stream.map { .oneShot($0, byteCount: nil) } ?? .none
            }
        given = uploadable
        self.fileManager = fileManager
        make = {
            if case .file(let url, _) = uploadable, !url.isFileURL {
                let text = "a URL of the scheme \(url.scheme ?? "") is given for a file"
                throw URLError(.unsupportedURL, userInfo: [NSLocalizedDescriptionKey: text])
            }
            return source
        }
        show = nil
        isOneShot = stream != nil
        isSequence = false
        self.stream = stream
        isFormUsedUp = { false }
    }

    /// Makes the content of a form.
    ///
    /// The form is encoded when the request is made, since parts may be added until then: in memory below the
    /// threshold; a longer form is read from its parts.
    init(_ form: UploadedForm, threshold: UInt64, fileManager: FileManager) {
        given = nil
        self.fileManager = fileManager
        make = { try form.source(below: threshold) }
        show = { form.form.shownContent }
        isOneShot = false
        isSequence = false
        stream = nil
        isFormUsedUp = { form.form.isUsedUp }
    }

    /// Makes the content of an async sequence; every message reads a repeatable sequence anew.
    convenience init<Content: AsyncSequence & Sendable>(sequence: Content, isRepeatable: Bool = false)
    where Content.Element: DataProtocol {
        self.init(
            isRepeatable ? .reader { SequenceBodyReader(sequence) } : .oneShot(sequence), isOneShot: !isRepeatable)
    }

    private init(_ sequence: MessageContent, isOneShot: Bool) {
        given = nil
        fileManager = .default
        make = { sequence }
        show = { .pieces([.stream]) }
        self.isOneShot = isOneShot
        isSequence = true
        stream = nil
        isFormUsedUp = { false }
    }

    /// The content; `nil` for a form that is not encoded yet or is sent from its parts, and for an async sequence.
    var uploadable: UploadRequest.Uploadable? { given ?? data.map { .data($0) } }

    /// The content in a `curl` command.
    var shown: CURLContent? {
        switch uploadable {
        case .data(let data): .data(data)
        case .file(let url, _): .pieces([.file(url)])
        case .stream: .pieces([.stream])
        case nil: show?()
        }
    }

    /// Removes the file of an `.file(_, shouldRemove: true)`.
    func removeFile() {
        guard case .file(let url, shouldRemove: true) = given else { return }
        try? fileManager.removeItem(at: url)
        if TemporaryFolders.isTemporaryPath(url) { TemporaryFolders.leave(url) }
    }

    // MARK: Making

    /// Makes the content, unless it was made before.
    func prepare() throws(AFError) {
        if case .failure(let error) = source {
            throw error.asAFError(or: .createUploadableFailed(error: error))
        }
    }

    /// Notifies monitors of the content, or of its failure.
    func announce(_ made: Result<Void, AFError>, of request: Request) {
        if case .failure(let error) = made {
            request.notifyMonitors(.uploads, as: UploadRequest.self) {
                $0.request($1, didFailToCreateUploadableWithError: error)
            }
        } else if let uploadable {
            request.notifyMonitors(.uploads, as: UploadRequest.self) { $0.request($1, didCreateUploadable: uploadable) }
        }
    }

    /// The content to send, made at the first call; every attempt sends the same.
    private var source: Result<MessageContent, any Error> {
        if let made = made.withLock({ $0 }) { return made }
        let result = Result { try make() }  // outside the lock: it reads the caller's streams
        return made.withLock { made in
            let first = made ?? result
            made = first
            return first
        }
    }

    /// The content in memory, once it is made.
    private var data: Data? {
        if case .success(.data(let data)) = made.withLock({ $0 }) { data } else { nil }
    }

    /// The content of an attempt's first message.
    func source(for record: RequestRecord, of request: Request) throws -> MessageContent {
        let source = try source.get()
        guard isOneShot || isSequence, case .reader(let make) = source else { return source }
        // A stream or a sequence has no length: the caller's `Content-Length` gives it.
        let byteCount = record.ownHeaders?["Content-Length"].flatMap({ Int64($0) })
        guard isOneShot else {
            return byteCount.map { count in .reader { MeasuredReader(try make(), byteCount: count) } } ?? source
        }
        return .reader { [weak request, self] in
            guard let request, let attempt = request.lastAttempt else { throw URLError(.requestBodyStreamExhausted) }
            return try makeReader(for: attempt, of: request, byteCount: byteCount, makeFirst: make)
        }
    }

    // MARK: Content that can be read once

    /// Whether no further message can have the content; false when the session's delegate may give another stream.
    func isUsedUp(for request: Request) -> Bool {
        if isOneShot { return isRead.load(ordering: .acquiring) && !request.core.arguments.delegate.isSubclass }
        // Only a reader can be used up: a form in memory has read its streams already, and can be sent again.
        guard case .success(.reader) = made.withLock({ $0 }) else { return false }
        return isFormUsedUp()
    }

    /// A reader for one exchange; called on the event loop.
    private func makeReader(
        for attempt: Attempt, of request: Request, byteCount: Int64?, makeFirst: () throws -> any BodyReader
    ) throws -> any BodyReader {
        isRead.store(true, ordering: .releasing)
        // An async sequence has no stream; once the sequence was read, only a stream from the delegate can replace it.
        if stream == nil, let reader = try? makeFirst() {
            return byteCount.map { MeasuredReader(reader, byteCount: $0) } ?? reader
        }
        request.notifyOfStreamNeed(attempt)
        if request.core.arguments.delegate.isSubclass {
            return DelegatedStreamReader(of: request, attempt, byteCount: byteCount)
        }
        guard let stream = takeStream(for: request) else { throw URLError(.requestBodyStreamExhausted) }
        return StreamBodyReader(opening: stream, byteCount: byteCount)
    }

    /// The caller's stream; `nil` when the stream was taken before, and for other content.
    func takeStream(for request: Request) -> InputStream? {
        guard let stream = stream?.take() else { return nil }
        if request.beginAnnouncement(during: .transferring) {
            let shown = SendableInputStream(stream)
            request.notifyMonitors(.uploads, as: UploadRequest.self) {
                $0.request($1, didProvideInputStream: shown.value)
            }
            request.endAnnouncement()
        }
        return stream
    }

    // MARK: For callers that want an `Uploadable`

    /// Returns the content; a reader's content, such as a form that is sent from its parts, is copied to a new
    /// temporary file.
    func createUploadable() throws -> UploadRequest.Uploadable {
        switch try source.get() {
        case .none: return .data(Data())
        case .data(let data): return .data(data)
        case .file(let url): return .file(url, shouldRemove: false)
        case .reader(let make):
            let file = try TemporaryFile()
            try Self.copy(make(), to: file.url)
            file.release()
            return .file(file.url, shouldRemove: true)
        }
    }

    private static func copy(_ reader: any BodyReader, to url: URL) throws {
        BlockingCall.check("open")
        let descriptor = Descriptors.make { open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 else { throw FileFailure.current(.create, url).urlError }
        let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var block = Data(count: 64 * 1024)
        while true {
            let count = try block.withUnsafeMutableBytes { try reader.read(into: $0) }
            if count == 0 { return }
            try output.write(contentsOf: block.prefix(count))
        }
    }
}

/// The form of an upload.
struct UploadedForm: @unchecked Sendable {
    // SAFETY: the caller hands the form over. The caller, and the convertible that makes the `URLRequest`, may add
    // parts until the request is made; from then on the request alone reads the form, one thread at a time.
    let form: MultipartFormData

    /// Returns the form in memory if it is shorter than the threshold, otherwise a reader of its parts.
    func source(below threshold: UInt64) throws -> MessageContent {
        form.contentLength < threshold ? .data(try form.encode()) : try form.source()
    }
}
