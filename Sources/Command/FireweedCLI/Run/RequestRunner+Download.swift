// Responses that go to a file.

import Fireweed
import Foundation
import Synchronization

extension RequestRunner {
    /// Saves the response's content.
    ///
    /// `shared` is the interruption of several requests; with `nil`, a signal interrupts only this request.
    func download(_ shared: Interruption? = nil) async -> ExitCode {
        if let file = try? invocation.curl?.appendedFile { return await append(to: file, shared) }
        let place = invocation.goesOn ? partialFile : nil
        if let place, let code = await codeOfFinished(place) { return code }
        let meter = TransferMeter()
        let task = session.download(compressedMessage, uploading: sentContent, to: destination(place))
        authentication?.apply(to: task)
        validate(task)
        if let place {
            task.resumable(at: place)
            let size = try? FileManager.default.attributesOfItem(atPath: place.path)[.size] as? Int64
            meter.begin(at: size ?? 0)
        } else if invocation.curl?.includesHeads != true {
            // Without `--output` only the folder is known before the response, so the name is a placeholder.
            task.staged(beside: URL(fileURLWithPath: invocation.outputFile ?? "fireweed-download"))
        }
        if canShowMeter { task.downloadProgress(queue: .global()) { meter.show($0) } }
        let interruption = shared ?? Interruption { task.cancel() }
        let response = await task.serializingDownloadedFileURL().response
        meter.end()
        // The process may end before the library removes its temporary files, so they are removed now.
        if response.error != nil { task.removeTemporaryFiles() }
        if let code = interruption.code {
            if let place, FileManager.default.fileExists(atPath: place.path) { note(Self.continuation) }
            return code
        }
        if shared == nil { interruption.end() }
        tell(task.resumption)
        if let answer = response.response { showHead(of: answer, task) }
        let saved: URL?
        do {
            saved = try savedFile(response, place)
            if let saved, invocation.curl?.includesHeads == true, let path = invocation.outputFile {
                try CURLAppendedFile.write(receivedHeads(of: task, inLastAttempt: true), saved, to: path)
            }
        } catch {
            Terminal.tell("fireweed: what came cannot be saved: \(error.plainText)\n")
            return .failure
        }
        if let saved, invocation.keepsRemoteTime { setTime(of: saved, response.response) }
        return finish(task, response, saved, hasPartialFile: place != nil)
    }

    /// Returns the file with a response's content.
    ///
    /// With `--continue`, a response that is not part of the download, such as an error response with
    /// `--fail-with-body`, is moved to the path of the complete file; throws what moving throws.
    private func savedFile(_ response: AFDownloadResponse<URL>, _ place: URL?) throws -> URL? {
        guard let file = response.value, let target = place?.deletingPathExtension(),
            file.standardizedFileURL.path != target.standardizedFileURL.path
        else { return response.value }
        try FileManager.default.moveItem(at: file, to: target)
        return target
    }

    /// The error of a response whose content is not saved, for its status.
    private struct RefusedStatus: Error {}

    /// Refuses a status for which the request is tried again, and a status whose content is not saved.
    ///
    /// A 304 has no content, so the file stays, as it does for a document that `-z` of a curl command does not want.
    private func validate(_ task: DownloadRequest) {
        task.validate { [weak task, made, invocation, timeCondition] _, response, _ in
            if case .failure(let error) = made.validation(of: task) { return .failure(error) }
            let status = response.statusCode
            let isUnwanted = status == 304 || timeCondition?.refuses(response) == true
            let isSaved = !isUnwanted && (invocation.savesEveryStatus || invocation.isSuccess(status))
            return isSaved ? .success(()) : .failure(RefusedStatus())
        }
    }

    /// Returns the destination of the complete file.
    private func destination(_ partialFile: URL?) -> DownloadRequest.Destination {
        let given = invocation.outputFile
        let (url, curl) = (plan.url, invocation.curl)
        let folder = URL(fileURLWithPath: curl?.outputFolder ?? ".")
        // Each attempt asks for a name; the name of an attempt that was refused is free again.
        let taken = Mutex<URL?>(nil)
        return { _, response in
            if let partialFile { return (partialFile.deletingPathExtension(), []) }
            // With `-i`, heads are written before the content, so the content is first saved in a temporary file.
            if curl?.includesHeads == true, given != nil {
                let name = "fireweed-\(UInt64.random(in: 0 ... .max))"
                return (FileManager.default.temporaryDirectory.appendingPathComponent(name), .waitForValidation)
            }
            guard let given else {
                // As with `-O`, a name from the URL replaces an existing file, without `--no-clobber`; a name from the
                // server does not.
                let isNamedByURL = curl != nil && response.value(forHTTPHeaderField: "Content-Disposition") == nil
                let named = folder.appendingPathComponent(
                    SuggestedFileName.sanitised(url.lastPathComponent) ?? "download")
                if isNamedByURL, curl?.replacesFiles == true {
                    return (named, [.removePreviousFile, .waitForValidation])
                }
                let file = taken.withLock { taken in
                    if let taken { FileName.giveBack(taken) }
                    let numbered = isNamedByURL ? FileName.numbered(named.path) : nil
                    let file =
                        numbered.map { folder.appendingPathComponent(URL(fileURLWithPath: $0).lastPathComponent) }
                        ?? FileName.free(for: response, url: url, in: folder)
                    taken = file
                    return file
                }
                return (file, .waitForValidation)
            }
            return (URL(fileURLWithPath: given), [.removePreviousFile, .waitForValidation])
        }
    }

    private func finish(
        _ task: DownloadRequest, _ response: AFDownloadResponse<URL>, _ savedFile: URL?, hasPartialFile: Bool
    ) -> ExitCode {
        if response.error?.underlyingError is RefusedStatus {
            return nothingSaved(RequestOutcome(request: task, context: response.context))
        }
        if let file = savedFile {
            let attributes = try? FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path)
            let isFile = attributes?[.type] as? FileAttributeType == .typeRegular
            let count = isFile ? attributes?[.size] as? Int64 : nil
            let name = invocation.curl?.includesHeads == true ? invocation.outputFile ?? "" : file.relativePath
            let seconds = String(format: "%.1f s", task.secondsOfAllAttempts ?? 0)
            let size = ProgressBar.size(count ?? task.downloadProgress.completedUnitCount)
            note("Saved \(size) to \(name) in \(seconds)\n")
            if invocation.curl == nil, let coding = response.response?.value(forHTTPHeaderField: "Content-Encoding") {
                note("Its content has the coding \(coding), as the server sent it\n")
            }
        }
        if hasPartialFile, response.resumeData != nil {
            Terminal.tell(Self.continuation)
        }
        var outcome = RequestOutcome(request: task, error: response.error, context: response.context)
        if invocation.outputFile == nil, let name = savedFile?.relativePath {
            outcome.savedFile = name.hasPrefix("./") ? String(name.dropFirst(2)) : name
        }
        return finish(outcome)
    }

    /// Prints that nothing was saved because of the status; returns the exit code.
    func nothingSaved(_ outcome: RequestOutcome) -> ExitCode {
        let status = outcome.status ?? 0
        // A curl command with a condition expects a 304: there is nothing new to save.
        let isRefused = outcome.response.map { timeCondition?.refuses($0) == true } ?? false
        if status == 304 || isRefused, invocation.curl != nil { return finish(outcome) }
        var outcome = outcome
        let hint = invocation.savesEveryStatus ? "" : "; --any-status saves it"
        outcome.refusal = "nothing was saved: the status is \(status)\(hint)"
        return finish(outcome)
    }

    /// Sets a file's modification time to `Last-Modified`.
    func setTime(of file: URL, _ response: HTTPURLResponse?) {
        guard let text = response?.value(forHTTPHeaderField: "Last-Modified"), let date = HTTPDate.parse(text) else {
            return note("fireweed: the server does not say when the content was changed\n")
        }
        do {
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        } catch {
            Terminal.tell("fireweed: the time of \(file.relativePath) cannot be set: \(error.plainText)\n")
        }
    }

    /// The message that says how to continue an interrupted download.
    static let continuation: TerminalText = "fireweed: what has come is kept; the same command continues from there\n"

    // MARK: Continuing

    /// The file for incomplete content: the path of the complete file with `.part`.
    ///
    /// It does not depend on the response, so that the next run finds the file.
    private var partialFile: URL {
        let name = SuggestedFileName.sanitised(plan.url.lastPathComponent) ?? "download"
        return URL(fileURLWithPath: invocation.outputFile ?? name).appendingPathExtension("part")
    }

    /// Returns the exit code if the complete file exists already: success if it is as long as the server's content, and
    /// not older.
    ///
    /// `nil` if the file does not exist and has to be downloaded.
    private func codeOfFinished(_ place: URL) async -> ExitCode? {
        let file = place.deletingPathExtension()
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        guard let size = attributes?[.size] as? Int64 else { return nil }
        var headers = headers
        headers.update(.acceptEncoding("identity"))  // so that `Content-Length` is the file's length
        let request = session.request(plan.url, method: .head, headers: headers)
        authentication?.apply(to: request)
        let response = await request.serializingData(emptyResponseCodes: Self.everyStatus).response
        guard response.error == nil, let answer = response.response else {
            return finish(RequestOutcome(request: request, error: response.error, context: response.context))
        }
        let difference: TerminalText
        let length = answer.headers["Content-Length"].flatMap { Int64($0) }
        let changed = answer.headers["Last-Modified"].flatMap { HTTPDate.parse($0) }
        if answer.statusCode != 200 {
            difference = "the server does not say whether it is complete: it answers HEAD with \(answer.statusCode)"
        } else if length != size {
            difference = "it is not as long as what the server has; move it away"
        } else if let changed, let saved = attributes?[.modificationDate] as? Date, changed > saved {
            difference = "what the server has is newer; move it away"
        } else {
            note("\(file.relativePath) is there already, complete\n")
            return .success
        }
        Terminal.tell("fireweed: \(file.relativePath) is there already; \(difference)\n")
        return .failure
    }

    private func tell(_ resumption: Resumption?) {
        switch resumption {
        case .continued(let offset): note("Went on behind \(ProgressBar.size(offset)) that were there\n")
        case .startedAgain(let reason): note("Started again: \(Self.text(of: reason))\n")
        case nil: break
        }
    }

    private static func text(of reason: Resumption.Reason) -> String {
        switch reason {
        case .fileMissing: "what was there is not what an earlier download has left"
        case .noValidator: "the server has not said by what to tell one version from another"
        case .representationChanged: "the server has another version now"
        case .rangeIgnored: "the server sends no parts"
        case .rangeNotSatisfiable: "the server refused to send the rest"
        case .contentCoding: "the server sends it in a content coding"
        }
    }
}
