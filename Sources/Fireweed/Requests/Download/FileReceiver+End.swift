// The end of a download: its file is moved to its destination, or the part is kept for a later download.

import FireweedTransport
import Foundation
import FoundationNetworking
import Glibc
import Synchronization

extension FileReceiver {
    /// Closes the file after the last byte: a complete file is moved to its destination, a partial file is kept for a
    /// later download.
    func finishContent(_ attempt: Attempt?, of request: Request) {
        if let attempt, let head = attempt.head {
            do {
                // A success without content still needs an empty file, so `sink(of:)` makes its sink here; a failure
                // needs no file.
                let sink: FileSink? = request.error == nil ? sink(of: attempt) : content.withLock { $0.sink }
                try sink?.finish()
                if request.error == nil, let sink {
                    try checkLength(sink)
                    try checkRange(head, of: attempt)
                    try place(sink, attempt, of: request)
                }
            } catch {
                record(error, attempt, of: request)
            }
            if request.error != nil { produceResumeData(head, attempt, of: request) }
        } else {
            produceResumeData(nil, attempt, of: request)
        }
    }

    /// Throws when the bytes do not match the range of `Content-Range`, or when the range ends before the
    /// representation.
    private func checkLength(_ sink: FileSink) throws {
        let (rangeEnd, expected) = content.withLock { ($0.rangeEnd, $0.expectedByteCount) }
        let count = sink.writtenByteCount
        if let rangeEnd, count > rangeEnd {
            let text = "the server sent more bytes than its range has, which ends at byte \(rangeEnd)"
            throw URLError(.badServerResponse, userInfo: [NSLocalizedDescriptionKey: text])
        }
        guard let end = [rangeEnd, expected].compactMap({ $0 }).first(where: { $0 != count }) else { return }
        let text = "the server's range ended at byte \(count) of \(end)"
        throw URLError(.networkConnectionLost, userInfo: [NSLocalizedDescriptionKey: text])
    }

    /// Cuts off the content of a response that has more bytes than its `Content-Range` says: it is unknown which are
    /// right.
    private func discardExcess() {
        let (sink, rangeEnd, offset) = content.withLock { ($0.sink, $0.rangeEnd, $0.offset) }
        guard let sink, let rangeEnd, sink.writtenByteCount > rangeEnd else { return }
        sink.cut(at: offset)
    }

    /// Throws for a 206 response to a request without a `Range` field (RFC 9110 §15.3.7).
    private func checkRange(_ head: ResponseHead, of attempt: Attempt) throws {
        guard head.status == 206 else { return }
        let fields = attempt.sentFields.fields
        guard !fields.contains(where: { $0.name.isEqualIgnoringASCIICase("Range") }) else { return }
        let text = "the server sent a part of the content (206), and the whole was asked for"
        throw URLError(.badServerResponse, userInfo: [NSLocalizedDescriptionKey: text])
    }

    private func record(_ error: any Error, _ attempt: Attempt, of request: Request) {
        let failure: AFError =
            switch error {
            case let error as FileFailure: .sessionTaskFailed(error: error.urlError)
            default: error.asAFError(or: .sessionTaskFailed(error: error))
            }
        let isFirst = request.mutable.withLock { state in
            // The sink's failure has ended the attempt. The sink's error replaces the attempt's error, which says less.
            if error is FileFailure, case .sessionTaskFailed = state.error { state.setError(nil) }
            defer { state.fail(failure) }
            return state.error == nil
        }
        guard isFirst else { return }
        request.notifyMonitors(.taskEnds) { monitor, request in
            monitor.request(request, didFailTask: attempt.sessionTask, earlyWithError: failure)
        }
    }

    // MARK: The end of a success

    /// Moves the complete file to its destination.
    private func place(_ sink: FileSink, _ attempt: Attempt, of request: Request) throws {
        guard let file = sink.partial else { return }
        request.notifyTaskMonitors(.downloads) { monitor, session in
            guard let task = attempt.sessionTask as? URLSessionDownloadTask else { return }
            monitor.urlSession(session, downloadTask: task, didFinishDownloadingTo: file.url)
        }
        let partialFile = content.withLock { $0.place }
        let isOtherAnswer = partialFile != nil && partialFile != file.url
        guard let destination, let response = attempt.httpURLResponse, !isOtherAnswer else {
            notifyOfDestination(file.url, of: request)
            return placed(file, file.url, attempt, of: request)
        }
        let (target, options) = destination(file.url, response)
        // If the request was cancelled while the closure ran, the destination must not change.
        guard request.error == nil else { return }
        notifyOfDestination(target, of: request)
        guard target != file.url else { return placed(file, target, attempt, of: request) }
        guard partialFile != nil || options.contains(.waitForValidation) else {
            return try move(file, to: target, options, attempt, of: request)
        }
        content.withLock { content in
            content.complete = ContentFile(url: file.url, owner: file.owner)
            content.plannedMove = PlannedMove(file: file, target: target, options: options)
        }
    }

    private func notifyOfDestination(_ url: URL, of request: Request) {
        request.notifyMonitors(.downloads, as: DownloadRequest.self) { $0.request($1, didCreateDestinationURL: url) }
    }

    private func notifyOfFile(_ result: Result<URL, AFError>, _ attempt: Attempt, of request: Request) {
        request.notifyMonitors(.downloads, as: DownloadRequest.self) {
            $0.request($1, didFinishDownloadingUsing: attempt.sessionTask, with: result)
        }
    }

    /// Moves a file that waited for validation to its destination; a refused file stays where it is.
    func finishPlannedMove(_ attempt: Attempt, of request: Request) {
        let planned = content.withLock { content in
            defer { content.plannedMove = nil }
            return content.plannedMove
        }
        guard let planned else { return }
        guard request.error == nil else { return notifyOfFile(.success(planned.file.url), attempt, of: request) }
        do {
            try move(planned.file, to: planned.target, planned.options, attempt, of: request)
        } catch {
            content.withLock { $0.complete = nil }
            record(error, attempt, of: request)
        }
    }

    private func move(
        _ file: PartialFile, to target: URL, _ options: DownloadRequest.Options, _ attempt: Attempt, of request: Request
    ) throws {
        let installed: URL?
        do {
            if options.contains(.createIntermediateDirectories) {
                try request.core.arguments.delegate.fileManager.createDirectory(
                    at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            }
            installed = try FileInstaller.move(
                file.url, to: target, replacing: options.contains(.removePreviousFile),
                newMode: file.hasSidecar ? FileMode.ofNewFiles : nil)
        } catch {
            // The content is complete, so the file is kept, at the error's `source`.
            file.owner?.keep()
            content.withLock { $0.unmoved = file.owner }
            let cause = (error as? FileFailure)?.cocoaError ?? error
            let failure = AFError.downloadedFileMoveFailed(error: cause, source: file.url, destination: target)
            notifyOfFile(.failure(failure), attempt, of: request)
            throw failure
        }
        file.owner?.moved()
        placed(file, target, attempt, of: request, installed: installed)
    }

    private func placed(
        _ file: PartialFile, _ url: URL, _ attempt: Attempt, of request: Request, installed: URL? = nil
    ) {
        // The sidecar of the caller's partial file stays until the request has succeeded: a cancel may still come, and
        // a later download needs the sidecar then.
        if !file.hasSidecar || url != file.url { file.complete() }
        // A partial file of an earlier download is complete now, so it is exempted from the removal after ten days.
        if file.owner == nil, TemporaryFolders.isPartialFile(file.url) { TemporaryFolders.keep(file.url) }
        content.withLock { content in
            content.complete = ContentFile(url: url, owner: url == file.url ? file.owner : nil)
            content.installed = installed
            content.sink = nil
        }
        notifyOfFile(.success(url), attempt, of: request)
    }

    // MARK: The end of a failure

    private func produceResumeData(_ head: ResponseHead?, _ attempt: Attempt?, of request: Request) {
        discardExcess()
        let (error, isWanted) = request.mutable.withLock { ($0.error, $0.extras?.wantsResumeData ?? false) }
        guard let error, isWanted || !error.isExplicitlyCancelledError,
            let produced = remainder(head, attempt, of: request)
        else { return }
        content.withLock { $0.produced = produced }
        guard case .sessionTaskFailed(let cause as URLError) = error else { return }
        request.mutable.withLock { $0.setError(.sessionTaskFailed(error: produced.added(to: cause))) }
    }

    /// Returns the resume data for the content of this attempt, otherwise for the content from before the attempt.
    private func remainder(_ head: ResponseHead?, _ attempt: Attempt?, of request: Request) -> ProducedResumeData? {
        let (sink, partial) = content.withLock { ($0.sink, $0.partial) }
        if let attempt, let head, let sink, let file = sink.partial {
            let count = sink.writtenByteCount
            if file.owner == nil {
                return file.resumeData(byteCount: count).map { ProducedResumeData(data: $0.data, owner: nil) }
            }
            var data = describe(head, attempt, of: request, in: file.url)
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

    // MARK: After the end

    /// Removes the temporary files of a request that has ended, before the last reference to the request is gone.
    func removeTemporaryFiles() {
        let owners = content.withLock { [$0.complete?.owner, $0.produced?.owner, $0.unmoved, $0.sink?.partial?.owner] }
        for owner in owners { owner?.remove() }
    }

    /// Removes the content of the last attempt; content from before the attempt, and the caller's partial file, stay.
    func discardContent() {
        let installed = content.withLock { content in
            defer {
                content.sink = nil
                content.complete = nil
                content.installed = nil
                content.plannedMove = nil
                content.produced = nil
                content.expectedByteCount = nil
                content.rangeEnd = nil
                content.isFinal = false
            }
            return content.installed
        }
        if let installed { unlink(installed.path) }
    }

    /// Unlocks the partial file for other downloads, and gives the resume data to the handlers that wait for it.
    func releaseContent(of request: Request) {
        let (partial, produced, handlers) = content.withLock { content in
            defer {
                content.sink = nil
                content.partial = nil
                content.resumeDataHandlers = []
                content.isFinal = true
            }
            return (content.partial, content.produced, content.resumeDataHandlers)
        }
        if let partial, request.error == nil, file?.url == partial.url {
            partial.publish()
            partial.complete()
        }
        partial?.release()
        guard !handlers.isEmpty else { return }
        // A cancelled request has no retry, so the file can be kept now, before a handler uses the data.
        produced?.owner?.keepForResuming()
        request.underlyingQueue.async { for handler in handlers { handler(produced?.data) } }
    }

    /// Keeps the files that handlers are about to get: no retry can discard the files any more.
    ///
    /// A partial file beside its destination is kept only by a cancel that asks for resume data.
    func keepFiles(of request: Request) {
        let (file, produced) = content.withLock { ($0.isHandedOut ? $0.complete : nil, $0.produced) }
        file?.owner?.keep()
        guard let partial = produced?.owner else { return }
        let isWanted = request.mutable.withLock { $0.extras?.wantsResumeData ?? false }
        if partial.hasFolder || isWanted { partial.keepForResuming() }
    }
}
