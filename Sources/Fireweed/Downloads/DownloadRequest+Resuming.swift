// Downloads that go on where an earlier one ended: what is asked for, and what is done about the answer.

import FireweedTransport
public import Foundation
import FoundationNetworking
import Synchronization

extension DownloadRequest {
    /// What a later download can go on from, once this one has ended early; asking for it keeps a temporary partial file.
    ///
    /// `nil` while the request runs, after a success and after a plain `cancel()`. See `ResumeData` for the form.
    public var resumeData: Data? { producedResumeData?.taken }

    var producedResumeData: ProducedResumeData? { content.withLock { $0.produced } }

    /// Whether a download that was to go on did so, or why it started again; `nil` before the response, and for plain downloads.
    public var resumption: Resumption? { content.withLock { $0.resumption } }

    /// Writes to a file of the caller's choice, in such a way that a later download can go on however this one's process ended.
    ///
    /// To be called before the request is resumed; only for `GET`. What is in the file comes first: the server is asked for the
    /// rest alone, if it still has the same representation. Beside the file is another one with `.resume` behind its name that
    /// holds the `ResumeData`, without credentials; it goes when the download is complete. The file stays when the download fails
    /// or is cancelled, and a retry goes on from it. Complete, it is moved to the request's destination; without one it stays.
    ///
    /// A file at that place which no download has left there is left alone: the request fails with `ResumeError.notPartial`. What the
    /// process has written is safe when the process ends; after a crash of the machine it is what the file system promises.
    ///
    /// - Parameters:
    ///   - partialFile: the partial file, a regular file of this user or nothing yet.
    ///   - options: `.createIntermediateDirectories` makes the folders above the partial file; other options mean
    ///     nothing here.
    @discardableResult
    public func resumable(at partialFile: URL, options: Options = []) -> Self {
        content.withLock { content in
            content.place = partialFile
            content.makesFolders = options.contains(.createIntermediateDirectories)
        }
        return self
    }

    /// Writes the content beside `file` while it comes, so that the move to a destination in the same folder is one
    /// rename.
    ///
    /// The content has a hidden name, `.name.….part`, and goes when the download fails. A file of a process that was
    /// killed goes when the next download beside the same `file` starts. A link at `file` is followed. Where `file` is
    /// a device or a pipe, the content is in a temporary folder, as without this call. A folder or a socket at `file`
    /// fails the request when content comes. To be called before the request is resumed; `resumable(at:options:)` has
    /// precedence.
    @discardableResult
    public func staged(beside file: URL) -> Self {
        content.withLock { $0.sibling = file }
        return self
    }

    // MARK: The request for the rest

    /// The record of a request: as it was given, or for the rest of what is in the caller's partial file.
    func record(of convertible: any URLRequestConvertible) throws -> RequestRecord {
        let record = try RequestRecord(convertible)
        let (place, makesFolders) = content.withLock { ($0.place, $0.makesFolders) }
        guard let place else { return record }
        guard record.method == "GET" else { throw ResumeError.unsupportedMethod(record.method) }
        let partial = try content.withLock({ $0.partial }) ?? PartialFile(at: place, makingFolders: makesFolders)
        return try self.record(for: record.urlRequest, after: partial)
    }

    /// The record of a request for the rest of what resume data describes.
    func record(resuming data: ResumeData) throws -> RequestRecord {
        let request = try URLRequest(url: data.url, method: .get, headers: data.headers)
        guard let partial = try content.withLock({ $0.partial }) ?? PartialFile(resuming: data) else {
            content.withLock { $0.resumption = .startedAgain(.fileMissing) }
            return try RequestRecord(request)
        }
        return try record(for: request, after: partial)
    }

    private func record(for request: URLRequest, after partial: PartialFile) throws -> RequestRecord {
        var request = request
        if request.value(forHTTPHeaderField: "Accept-Encoding") == nil {
            // In a content coding, ranges count other bytes than the file has (RFC 9110 §14.1).
            request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        var (offset, resumption) = (Int64(0), Resumption?.none)
        switch partial.usableByteCount {
        case .success where partial.resumeData?.url != request.url:
            resumption = .startedAgain(.representationChanged)
        case .success(let count):
            offset = ResumeRules.offset(
                byteCount: count, expectedByteCount: partial.resumeData?.expectedByteCount)
        case .failure(let unusable): resumption = partial.byteCount > 0 ? .startedAgain(unusable.reason) : nil
        }
        if offset > 0 {
            request.setValue("bytes=\(offset)-", forHTTPHeaderField: "Range")
            request.setValue(partial.resumeData?.validator?.fieldValue, forHTTPHeaderField: "If-Range")
        }
        let isWanted = content.withLock { content in
            guard !content.isSettled else { return false }
            content.partial = partial
            content.offset = offset
            content.resumption = resumption ?? content.resumption
            return true
        }
        if !isWanted { partial.release() }  // cancelled meanwhile: the request lets go of its file only once
        return try RequestRecord(request)
    }

    // MARK: The answer

    /// Decides where the content of a response goes, when there is a partial file; on the transport's thread.
    ///
    /// Returns whether the response is of no use, and the whole has to be asked for.
    func decide(on head: ResponseHead, of attempt: Attempt) -> Bool {
        let (known, offset) = content.withLock { ($0.partial, $0.offset) }
        guard let partial = known else { return false }
        guard offset > 0, let saved = partial.resumeData, let validator = saved.validator else {
            if (200...299).contains(head.status), head.status != 206 { write(head, from: 0, to: partial, attempt) }
            return false
        }
        let decision = ResumeRules.decide(
            on: head, offset: offset, validator: validator, expectedByteCount: saved.expectedByteCount)
        switch decision {
        case .append(let total):
            content.withLock { content in
                content.resumption = .continued(offset: offset)
                content.expectedByteCount = total
            }
            attempt.startCounting(at: offset)
            tellTaskMonitors { monitor, session in
                guard let task = attempt.sessionTask as? URLSessionDownloadTask else { return }
                monitor.urlSession(
                    session, downloadTask: task, didResumeAtOffset: offset, expectedTotalBytes: total ?? -1)
            }
            write(head, from: offset, to: partial, attempt)
        case .replace(let reason):
            content.withLock { $0.resumption = .startedAgain(reason) }
            write(head, from: 0, to: partial, attempt)
        case .askAgain(let reason):
            content.withLock { content in
                content.resumption = .startedAgain(reason)
                content.offset = 0
            }
            return true
        case .other: break  // an answer without the representation goes to a file of its own
        }
        return false
    }

    /// Lets the content go to the partial file; the file is touched at the first write, off the transport's thread.
    private func write(_ head: ResponseHead, from offset: Int64, to partial: PartialFile, _ attempt: Attempt) {
        var data = offset > 0 ? partial.resumeData : describe(head, attempt, in: partial.url)
        if offset > 0 { data?.expectedByteCount = content.withLock { $0.expectedByteCount } }
        data?.byteCount = nil
        let sink = FileSink(
            offset: offset,
            open: { [data] in
                try partial.prepare(offset: offset, content: data)
                return partial
            }, onRoom: { [weak attempt] in attempt?.resumeIntake() },
            onFailure: { [weak attempt] in attempt?.cancel(with: $0.transferFailure) })
        content.withLock { $0.sink = sink }
    }

    /// What is known about the content of a response that came whole.
    func describe(_ head: ResponseHead, _ attempt: Attempt, in file: URL) -> ResumeData {
        let isResumable = ResumeRules.isResumable(head, method: attempt.record.method)
        // The record in front of the adapters: what they add, they will add again.
        let origin = mutable.withLock { $0.records.first } ?? attempt.record
        var headers = origin.ownHeaders ?? HTTPHeaders()
        for name in ["Range", "If-Range"] { headers.remove(name: name) }
        if headers["Accept-Encoding"] == "identity" { headers.remove(name: "Accept-Encoding") }
        return ResumeData(
            url: origin.url, headers: headers, validator: isResumable ? ResumeRules.validator(of: head) : nil,
            expectedByteCount: isResumable ? head.contentLength : nil, file: file)
    }
}

extension AFError {
    /// What a later download can go on from, for failures of a download's task; asking for it keeps the partial file.
    public var downloadResumeData: Data? {
        guard let error = underlyingError as? URLError else { return nil }
        (error.userInfo[ProducedResumeData.ownerKey] as? OwnedFile)?.take()
        return error.userInfo[ProducedResumeData.dataKey] as? Data
    }
}

extension ProducedResumeData {
    /// The key of the partial file's owner in an error's `userInfo`: the file lives as long as the error.
    static let ownerKey = "FireweedPartialFile"

    /// Apple's key for resume data in an error's `userInfo`; Foundation has no constant for it here.
    static let dataKey = "NSURLSessionDownloadTaskResumeData"

    /// The error with this in it, as Apple's URLSession puts it there.
    func added(to error: URLError) -> URLError {
        var info = error.userInfo
        info[Self.dataKey] = data
        info[Self.ownerKey] = owner
        return URLError(error.code, userInfo: info)
    }
}
