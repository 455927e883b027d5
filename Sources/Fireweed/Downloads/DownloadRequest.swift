// A request whose content goes to a file.

import Dispatch
import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A request that writes its response's content to a file, in large writes while it comes.
///
/// Without a destination the file is in a temporary place. It stays there once somebody has asked for its URL, by `fileURL` of the
/// request or of a response or by a serialiser that gives URLs; otherwise it goes with the request and its responses. The same holds
/// for the partial file of a download that ended early, and its resume data.
public final class DownloadRequest: Request, @unchecked Sendable {
    /// How a file gets to its destination.
    ///
    /// Only a regular file is ever replaced, and it keeps its mode and, where this process may set it, its owner.
    /// Symbolic links at the destination are followed, and stay. A device, a pipe or an open descriptor (`/dev/stdout`)
    /// is written to. A folder or a socket at the destination is `AFError.downloadedFileMoveFailed`.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: Int
        /// Makes the folders above the destination.
        public static let createIntermediateDirectories = Options(rawValue: 1 << 0)
        /// Replaces the file at the destination, in one step with the move; without this option, anything there is an
        /// error.
        public static let removePreviousFile = Options(rawValue: 1 << 1)
        /// Moves the file only after every validation of the request has passed.
        ///
        /// Without this option the content of a response that is refused, such as 404, is at the destination too, as
        /// with Alamofire. With it the destination stays as it was, and the file that validations see is the temporary
        /// one.
        public static let waitForValidation = Options(rawValue: 1 << 2)

        /// Makes options of bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }
    }

    /// Says where a file goes, from the place where it is and the response that it came with.
    public typealias Destination =
        @Sendable (_ temporaryURL: URL, _ response: HTTPURLResponse) -> (destinationURL: URL, options: Options)

    /// Checks a response; success, or the error that the request ends with.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ fileURL: URL?) -> ValidationResult

    /// What a download is made of.
    public enum Downloadable: Sendable {
        /// A request.
        case request(any URLRequestConvertible)
        /// What an earlier download has left.
        case resumeData(Data)
    }

    /// What the download is made of.
    public let downloadable: Downloadable
    let destination: Destination?
    let content = Mutex(DownloadContent())

    init(
        downloadable: Downloadable, destination: Destination?, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        self.downloadable = downloadable
        self.destination = destination
        super.init(core: core, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Where the content is, once it is complete; asking for it keeps a temporary file.
    public var fileURL: URL? { contentFile?.taken }

    var contentFile: ContentFile? { content.withLock { $0.complete } }

    /// A destination in a standard folder, under the name that the response suggests.
    @preconcurrency
    public static func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
    ) -> Destination {
        { temporaryURL, response in
            guard let folder = FileManager.default.urls(for: directory, in: domain).first else {
                return (temporaryURL, options)
            }
            return (SuggestedFileName.place(for: response, in: folder, else: temporaryURL), options)
        }
    }

    // MARK: The stations of a request, as a download has them

    override var taskKind: TaskKind { .download }

    override var links: [any Link] {
        guard content.withLock({ $0.partial != nil }) else { return [] }
        return [
            ResumptionLink { [weak self] head in
                guard let self, let attempt = lastAttempt else { return false }
                return decide(on: head, of: attempt)
            }
        ]
    }

    override func makeRecord() throws -> RequestRecord {
        switch downloadable {
        case .request(let convertible): try record(of: convertible)
        case .resumeData(let data): try record(resuming: ResumeData(data))
        }
    }

    override var gathersContent: Bool { true }

    override func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Intake {
        sink(of: attempt).append(bytes)
    }

    override func contentEnded(_ attempt: Attempt?) {
        finishContent(attempt)
    }

    override func validationEnded(_ attempt: Attempt) {
        finishPlannedMove(attempt)
    }

    override func resetContent() {
        takeBackContent()
    }

    override func outcomeSettled() {
        releaseContent()
    }

    // MARK: Cancelling

    /// Ends the request with `AFError.explicitlyCancelled`, unless it has an error already, and without resume data.
    ///
    /// Handlers are still called, once; there is no retry.
    @discardableResult
    public override func cancel() -> Self {
        cancel(producingResumeData: false)
    }

    /// Ends the request like `cancel()`, and keeps what has come so that a later download can go on from there.
    ///
    /// The resume data is in `resumeData` and in the responses; there is none when nothing has come, when the response has no
    /// strong validator, or when it came in a content coding. The first cancel counts.
    @discardableResult
    public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
        handle(.cancel) { state in
            guard state.lifecycle.isOutcomeOpen, state.lifecycle.visible != .cancelled else { return }
            state.error = state.error ?? .explicitlyCancelled
            if shouldProduceResumeData { state.withExtras { $0.wantsResumeData = true } }
        }
        return self
    }

    /// Ends the request like `cancel(producingResumeData: true)`, and hands the resume data over.
    ///
    /// The handler is called once, on the session's root queue, when the file is closed; with `nil` when there is none, as after a
    /// success.
    @discardableResult
    @preconcurrency
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void) -> Self {
        let isSettled = content.withLock { content in
            if !content.isSettled { content.resumeDataHandlers.append(completionHandler) }
            return content.isSettled
        }
        if isSettled { underlyingQueue.async { completionHandler(self.resumeData) } }
        return cancel(producingResumeData: true)
    }
}
