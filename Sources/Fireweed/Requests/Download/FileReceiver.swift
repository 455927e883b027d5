// The receiver of a download's content.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Writes the content of a download to a file, and keeps the state from which a later download can continue.
final class FileReceiver: ResponseReceiver {
    let downloadable: DownloadRequest.Downloadable
    let destination: DownloadRequest.Destination?
    let content = Mutex(DownloadContent())

    init(_ downloadable: DownloadRequest.Downloadable, destination: DownloadRequest.Destination?) {
        self.downloadable = downloadable
        self.destination = destination
    }

    /// The file, once it is complete.
    var file: ContentFile? { content.withLock { $0.complete } }
    /// The resume data for a later download; `nil` when there is none.
    var produced: ProducedResumeData? { content.withLock { $0.produced } }

    func links(for request: Request) -> [any Link] {
        guard content.withLock({ $0.partial != nil }) else { return [] }
        return [
            ResumptionLink { [weak request, self] head in
                guard let request, let attempt = request.lastAttempt else { return false }
                return decide(on: head, of: attempt, for: request)
            }
        ]
    }

    var coalescesContent: Bool { true }

    func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Demand {
        sink(of: attempt).append(bytes)
    }

    func request(_ request: Request, reached stage: ConclusionStage) {
        switch stage {
        case .contentEnd(let attempt): finishContent(attempt, of: request)
        case .validated(let attempt): finishPlannedMove(attempt, of: request)
        case .retry: discardContent()
        case .outcome: releaseContent(of: request)
        case .delivery: keepFiles(of: request)
        }
    }

    /// The sink of the present attempt; it writes to a new file, unless `decide` has chosen the partial file.
    func sink(of attempt: Attempt) -> FileSink {
        content.withLock { content in
            if let sink = content.sink { return sink }
            let made = FileSink(
                open: { [sibling = content.sibling] in try Self.newFile(beside: sibling) },
                onRoom: { [weak attempt] in attempt?.resumeIntake() },
                onFailure: { [weak attempt] in attempt?.cancel(with: $0.transferFailure) })
            content.sink = made
            return made
        }
    }

    private static func newFile(beside target: URL?) throws -> PartialFile {
        switch try target.map(FileDestination.init(at:)) {
        case .vacant(let path): try PartialFile(beside: path, isReplacing: false)
        case .file(let path, _): try PartialFile(beside: path, isReplacing: true)
        case .stream, nil: try PartialFile(temporary: TemporaryFile())
        }
    }
}

/// The changing state of a download: its files, and the content that it continues.
struct DownloadContent: Sendable {
    /// Writes the content of the present attempt.
    var sink: FileSink?
    /// The complete file, at its destination or still waiting for its move.
    var complete: ContentFile?
    /// Whether a handler gets the file itself: the caller owns the file then.
    var isHandedOut = false
    /// The file at the destination, which a retry removes.
    var installed: URL?
    /// The move to the destination, while it waits for validation.
    var plannedMove: PlannedMove?

    /// The file that could not be moved to the destination.
    var unmoved: TemporaryFile?

    /// The caller's path for the partial file (`resumable(at:)`).
    var place: URL?
    /// Whether the folders above `place` are made.
    var makesFolders = false
    /// The file next to which incoming content is written (`staged(beside:)`).
    var sibling: URL?
    /// The file that the download continues, open and locked until the outcome is final.
    var partial: PartialFile?
    /// The offset of the first byte that the present attempt asks for.
    var offset: Int64 = 0
    /// The length of the whole representation, when the response has only the rest.
    var expectedByteCount: Int64?
    /// The end of the response's range: the length of the file after the last byte of the range.
    var rangeEnd: Int64?
    var resumption: Resumption?

    var produced: ProducedResumeData?
    var resumeDataHandlers: [@Sendable (Data?) -> Void] = []
    /// True once the outcome is final.
    var isFinal = false
}

/// A move of a complete file to its destination, which waits for validation.
struct PlannedMove: Sendable {
    let file: PartialFile
    let target: URL
    let options: DownloadRequest.Options
}
