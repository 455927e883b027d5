// From the bytes of a download to its file.

import FireweedTransport
import Foundation
import FoundationNetworking
import Glibc
import Synchronization

/// Where the content of a download is at this moment, and what it is to go on from.
struct DownloadContent: Sendable {
    /// Writes what comes in the present attempt.
    var sink: FileSink?
    /// The file, once it is whole and at its place.
    var complete: ContentFile?
    /// The file at the destination, which a retry has to take back.
    var installed: URL?
    /// The move to the destination, while it waits for validation.
    var plannedMove: PlannedMove?

    /// What could not be moved to the destination.
    var unmoved: OwnedFile?

    /// Where the caller wants the partial file, if there is such a wish.
    var place: URL?
    /// Whether the folders above `place` are made.
    var makesFolders = false
    /// The file beside which content lies while it comes, if there is such a wish.
    var sibling: URL?
    /// What there is to go on from, open and locked until the outcome stands.
    var partial: PartialFile?
    /// The first byte that the present attempt asks for.
    var offset: Int64 = 0
    /// The length of the whole, when the rest alone comes.
    var expectedByteCount: Int64?
    var resumption: Resumption?

    var produced: ProducedResumeData?
    var resumeDataHandlers: [@Sendable (Data?) -> Void] = []
    /// True once the outcome stands.
    var isSettled = false
}

/// A complete file, and where it goes once the response is valid.
struct PlannedMove: Sendable {
    let file: PartialFile
    let target: URL
    let options: DownloadRequest.Options
}

extension DownloadRequest {
    /// The sink of the present attempt; one to a new temporary file where the head did not decide otherwise.
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
        case .stream, nil: try PartialFile(temporary: OwnedFile())
        }
    }

    /// Everything has come, or nothing more will: the file is closed and gets to its place, or is kept for a later download.
    func finishContent(_ attempt: Attempt?) {
        if let attempt, let head = attempt.head {
            do {
                // A response without content still gives a file; a failure without content gives none.
                let sink: FileSink? = error == nil ? sink(of: attempt) : content.withLock { $0.sink }
                try sink?.finish()
                if error == nil, let sink {
                    try checkLength(sink)
                    try place(sink, attempt)
                }
            } catch {
                record(error, attempt)
            }
            if error != nil { produceResumeData(head, attempt) }
        } else {
            produceResumeData(nil, attempt)
        }
    }

    /// A part that ends before the whole does is no success, even if it came as it was announced.
    private func checkLength(_ sink: FileSink) throws {
        guard let expected = content.withLock({ $0.expectedByteCount }), sink.writtenByteCount != expected else {
            return
        }
        let text = "the server's range ended at byte \(sink.writtenByteCount) of \(expected)"
        throw URLError(.networkConnectionLost, userInfo: [NSLocalizedDescriptionKey: text])
    }

    private func record(_ error: any Error, _ attempt: Attempt) {
        let failure: AFError =
            switch error {
            case let error as FileFailure: .sessionTaskFailed(error: error.urlError)
            default: error.asAFError(or: .sessionTaskFailed(error: error))
            }
        let isFirst = mutable.withLock { state in
            // The sink's failure has ended the attempt: what the attempt says about it is less than what we know here.
            if error is FileFailure, case .sessionTaskFailed = state.error { state.error = nil }
            defer { state.error = state.error ?? failure }
            return state.error == nil
        }
        guard isFirst else { return }
        tellMonitors { monitor, request in
            monitor.request(request, didFailTask: attempt.sessionTask, earlyWithError: failure)
        }
    }

    // MARK: The end of a success

    /// Moves the complete file to its destination.
    private func place(_ sink: FileSink, _ attempt: Attempt) throws {
        guard let file = sink.partial else { return }
        tellTaskMonitors { monitor, session in
            guard let task = attempt.sessionTask as? URLSessionDownloadTask else { return }
            monitor.urlSession(session, downloadTask: task, didFinishDownloadingTo: file.url)
        }
        let partialFile = content.withLock { $0.place }
        let isOtherAnswer = partialFile != nil && partialFile != file.url
        guard let destination, let response = attempt.httpURLResponse, !isOtherAnswer else {
            tellMonitors { monitor, _ in monitor.request(self, didCreateDestinationURL: file.url) }
            return placed(file, file.url, attempt)
        }
        let (target, options) = destination(file.url, response)
        tellMonitors { monitor, _ in monitor.request(self, didCreateDestinationURL: target) }
        guard target != file.url else { return placed(file, target, attempt) }
        guard partialFile != nil || options.contains(.waitForValidation) else {
            return try move(file, to: target, options, attempt)
        }
        content.withLock { content in
            content.complete = ContentFile(url: file.url, owner: file.owner)
            content.plannedMove = PlannedMove(file: file, target: target, options: options)
        }
    }

    /// Validation is over: a file that waited for it gets to its destination, or stays where it is.
    func finishPlannedMove(_ attempt: Attempt) {
        let planned = content.withLock { content in
            defer { content.plannedMove = nil }
            return content.plannedMove
        }
        guard let planned else { return }
        guard error == nil else {
            return tellMonitors { monitor, _ in
                monitor.request(
                    self, didFinishDownloadingUsing: attempt.sessionTask, with: .success(planned.file.url))
            }
        }
        do {
            try move(planned.file, to: planned.target, planned.options, attempt)
        } catch {
            content.withLock { $0.complete = nil }
            record(error, attempt)
        }
    }

    private func move(_ file: PartialFile, to target: URL, _ options: Options, _ attempt: Attempt) throws {
        let installed: URL?
        do {
            if options.contains(.createIntermediateDirectories) {
                try core.delegate.fileManager.createDirectory(
                    at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            }
            installed = try FileInstaller.move(
                file.url, to: target, replacing: options.contains(.removePreviousFile))
        } catch {
            // What came is complete: it stays where the error says that it is.
            file.owner?.take()
            content.withLock { $0.unmoved = file.owner }
            let cause = (error as? FileFailure)?.cocoaError ?? error
            let failure = AFError.downloadedFileMoveFailed(error: cause, source: file.url, destination: target)
            tellMonitors { monitor, _ in
                monitor.request(self, didFinishDownloadingUsing: attempt.sessionTask, with: .failure(failure))
            }
            throw failure
        }
        file.owner?.moved()
        placed(file, target, attempt, installed: installed)
    }

    private func placed(_ file: PartialFile, _ url: URL, _ attempt: Attempt, installed: URL? = nil) {
        // The caller's partial file is complete when the request ends well, which is not certain yet: a cancel may
        // still come, and a later download needs what is known about the file.
        if !file.hasSidecar || url != file.url { file.complete() }
        content.withLock { content in
            content.complete = ContentFile(url: url, owner: url == file.url ? file.owner : nil)
            content.installed = installed
            content.sink = nil
        }
        tellMonitors { monitor, _ in
            monitor.request(self, didFinishDownloadingUsing: attempt.sessionTask, with: .success(url))
        }
    }

    // MARK: The end of a failure

    private func produceResumeData(_ head: ResponseHead?, _ attempt: Attempt?) {
        let (error, isWanted) = mutable.withLock { ($0.error, $0.extras?.wantsResumeData ?? false) }
        guard let error, isWanted || !error.isExplicitlyCancelledError, let produced = remainder(head, attempt) else {
            return
        }
        content.withLock { $0.produced = produced }
        guard case .sessionTaskFailed(let cause as URLError) = error else { return }
        mutable.withLock { $0.error = .sessionTaskFailed(error: produced.added(to: cause)) }
    }

    /// What there is to go on from: what this attempt has written, else what was there before it.
    private func remainder(_ head: ResponseHead?, _ attempt: Attempt?) -> ProducedResumeData? {
        let (sink, partial) = content.withLock { ($0.sink, $0.partial) }
        if let attempt, let head, let sink, let file = sink.partial {
            let count = sink.writtenByteCount
            if file.owner == nil {
                return file.resumeData(byteCount: count).map { ProducedResumeData(data: $0.data, owner: nil) }
            }
            var data = describe(head, attempt, in: file.url)
            data.byteCount = count
            if count > 0, data.validator != nil { return ProducedResumeData(data: data.data, owner: file.owner) }
        }
        if let partial {
            guard case .success(let count) = partial.usableByteCount else { return nil }
            return partial.resumeData(byteCount: count).map { ProducedResumeData(data: $0.data, owner: nil) }
        }
        guard case .resumeData(let data) = downloadable, (try? ResumeData(data)) != nil else { return nil }
        return ProducedResumeData(data: data, owner: nil)
    }

    // MARK: Over and over

    /// Removes what a request that has ended leaves in a file of the library's own, without waiting for the last
    /// reference to it.
    package func removeOwnedFile() {
        let owners = content.withLock { [$0.complete?.owner, $0.produced?.owner, $0.unmoved, $0.sink?.partial?.owner] }
        for owner in owners { owner?.remove() }
    }

    /// Forgets what the last attempt produced; what was there before it, and the caller's partial file, stay.
    func takeBackContent() {
        let mistaken = content.withLock { content in
            defer {
                content.sink = nil
                content.complete = nil
                content.installed = nil
                content.plannedMove = nil
                content.produced = nil
                content.expectedByteCount = nil
                content.isSettled = false
            }
            return content.installed
        }
        if let mistaken { unlink(mistaken.path) }
    }

    /// The outcome stands: others may go on from the partial file, and whoever waits for resume data gets it.
    func releaseContent() {
        let (partial, produced, handlers) = content.withLock { content in
            defer {
                content.sink = nil
                content.partial = nil
                content.resumeDataHandlers = []
                content.isSettled = true
            }
            return (content.partial, content.produced, content.resumeDataHandlers)
        }
        if let partial, error == nil, contentFile?.url == partial.url { partial.complete() }
        partial?.release()
        guard !handlers.isEmpty else { return }
        let data = produced?.taken
        underlyingQueue.async { for handler in handlers { handler(data) } }
    }
}
