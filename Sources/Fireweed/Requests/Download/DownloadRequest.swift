// A request whose content goes to a file.

import Dispatch
import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A request that writes the content of its response to a file, in large writes as the content comes.
///
/// Without a destination the file is temporary. When a handler gets the file itself (`response`, `responseURL`,
/// `serializingDownloadedFileURL()`, or a custom ``DownloadResponseSerializerProtocol``), the file is kept and belongs
/// to the caller. When all handlers get the content (`responseData`, `serializingDecodable`), or there is no handler,
/// the file exists as long as the request or one of its responses, and is removed with the last of them.
///
/// The partial file of a download that ended early and has resume data is kept for ten days after its last change.
public final class DownloadRequest: Request, @unchecked Sendable {
    // SAFETY: its only stored property is a `let` of `Sendable` type.

    /// Options for the move of a file to its destination.
    ///
    /// Only a regular file is ever replaced; the new file gets the mode of the old file and, where this process may set
    /// it, the owner. Symbolic links at the destination are followed, and stay. A device, a pipe or an open descriptor
    /// (`/dev/stdout`) is written to. A folder or a socket at the destination fails with
    /// `AFError.downloadedFileMoveFailed`.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: Int
        /// Makes the folders above the destination.
        public static let createIntermediateDirectories = Options(rawValue: 1 << 0)
        /// Replaces the file at the destination, in one step with the move; without this option, anything at the
        /// destination is an error.
        public static let removePreviousFile = Options(rawValue: 1 << 1)
        /// Moves the file only after every validation of the request has passed.
        ///
        /// Without this option the content of a response that is refused, such as 404, is at the destination too, as
        /// with Alamofire. With this option a refused response leaves the destination as it was, and validations see
        /// the temporary file.
        public static let waitForValidation = Options(rawValue: 1 << 2)

        /// Makes options of bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }
    }

    /// A closure that returns the destination of a file, given the file's temporary place and the response.
    public typealias Destination =
        @Sendable (_ temporaryURL: URL, _ response: HTTPURLResponse) -> (destinationURL: URL, options: Options)

    /// A closure that checks a response; returns success, or the error with which the request ends.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ fileURL: URL?) -> ValidationResult

    /// The start of a download: a request or resume data.
    public enum Downloadable: Sendable {
        /// A request.
        case request(any URLRequestConvertible)
        /// The resume data of an earlier download.
        case resumeData(Data)
    }

    let receiver: FileReceiver

    init(
        downloadable: Downloadable, content: RequestContent = .ofURLRequest, destination: Destination?,
        core: SessionCore, interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        receiver = FileReceiver(downloadable, destination: destination)
        let origin: any URLRequestConvertible =
            switch downloadable {
            case .request(let convertible): convertible
            case .resumeData(let data): ResumedDownload(data: data)
            }
        super.init(
            RequestParts(origin: origin, content: content, receiver: receiver, taskKind: .download), core: core,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The request or the resume data that the download starts from.
    public var downloadable: Downloadable { receiver.downloadable }

    /// The file with the content, once it is complete.
    ///
    /// Reading the property does not keep a temporary file: see ``DownloadRequest`` for how long the file exists.
    public var fileURL: URL? { receiver.file?.url }

    /// Removes the temporary files of a request that has ended, before the last reference to the request is gone.
    package func removeTemporaryFiles() {
        receiver.removeTemporaryFiles()
    }

    /// Returns a destination in a standard folder, with the name that the response suggests.
    ///
    /// The name comes from the `Content-Disposition` field (RFC 6266), else from the last component of the URL's path,
    /// else from the host; it is never a path. A host, and a name without an extension, get the extension of the media
    /// type. The name is also the `suggestedFilename` of every `HTTPURLResponse` of a session.
    ///
    /// - Parameters:
    ///   - directory: the folder; the user's documents by default.
    ///   - domain: the domain of the folder; the user's by default.
    ///   - options: options for missing folders and an existing file; none by default.
    /// - Returns: the destination. If the system has no such folder, the file stays at its temporary place.
    @preconcurrency
    public static func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
    ) -> Destination {
        { temporaryURL, response in
            guard let folder = FileManager.default.urls(for: directory, in: domain).first else {
                return (temporaryURL, options)
            }
            return (folder.appendingPathComponent(SuggestedFileName.suggestion(for: response)), options)
        }
    }

    // MARK: Cancelling

    /// Ends the request with `AFError.explicitlyCancelled`, without resume data.
    ///
    /// An earlier error of the request stays, unless a retrier is being asked about that error. Handlers are still
    /// called, once; there is no retry.
    @discardableResult
    public override func cancel() -> Self {
        cancel(producingResumeData: false)
    }

    /// Ends the request like `cancel()`; with `true`, keeps the content so far, so that a later download can continue.
    ///
    /// The resume data is in `resumeData` and in the responses. There is no resume data when no content has come, or
    /// when the response cannot be continued, such as one without a strong validator, with a content coding, or to a
    /// method other than `GET`. If the request is cancelled more than once, the first call decides.
    @discardableResult
    public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
        endAsCancelled { state in
            if shouldProduceResumeData { state.withExtras { $0.wantsResumeData = true } }
        }
        return self
    }

    /// Ends the request like `cancel(producingResumeData: true)`, and calls a handler with the resume data.
    ///
    /// The handler is called once, on the session's root queue, when the file is closed. It gets `nil` when there is no
    /// resume data, as after a success.
    @discardableResult
    @preconcurrency
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void) -> Self {
        let isFinal = receiver.content.withLock { content in
            if !content.isFinal { content.resumeDataHandlers.append(completionHandler) }
            return content.isFinal
        }
        if isFinal { underlyingQueue.async { completionHandler(self.resumeData) } }
        return cancel(producingResumeData: true)
    }
}
