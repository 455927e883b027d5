// The continuation of a download: the range that is requested, and the place for the response's content.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Makes the request of a download that continues from resume data.
struct ResumedDownload: URLRequestConvertible {
    let data: Data

    func asURLRequest() throws -> URLRequest {
        let data = try ResumeData(data)
        guard data.urlDigest == nil else {
            throw ResumeError.unreadable("a .resume file is without the secrets of its URL; use resumable(at:)")
        }
        return try URLRequest(url: data.url, method: .get, headers: data.headers)
    }
}

extension FileReceiver {
    // MARK: The request for the rest

    /// Returns the request for the rest of the content if there is a partial file to continue; otherwise `record`.
    func completing(_ record: RequestRecord) throws -> RequestRecord {
        guard let partial = try partialFile(for: record) else { return record }
        return try self.record(for: record.urlRequest, after: partial)
    }

    /// Returns the caller's partial file, or the partial file of the resume data; `nil` for a plain download.
    private func partialFile(for record: RequestRecord) throws -> PartialFile? {
        let (known, place, makesFolders) = content.withLock { ($0.partial, $0.place, $0.makesFolders) }
        if case .resumeData(let data) = downloadable {
            if let known { return known }
            let partial = try PartialFile(resuming: ResumeData(data))
            if partial == nil { content.withLock { $0.resumption = .startedAgain(.fileMissing) } }
            return partial
        }
        guard let place else { return nil }
        guard record.method == "GET" else { throw ResumeError.unsupportedMethod(record.method) }
        return try known ?? PartialFile(at: place, makingFolders: makesFolders)
    }

    private func record(for request: URLRequest, after partial: PartialFile) throws -> RequestRecord {
        var request = request
        if request.value(forHTTPHeaderField: "Accept-Encoding") == nil {
            // Ranges count coded bytes, but the file has decoded bytes (RFC 9110 §14.1), so no content coding is
            // accepted.
            request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        let isSame = request.url.map { partial.resumeData?.describes($0) == true } ?? false
        if isSame, let url = request.url { partial.restore(url) }
        var (offset, resumption) = (Int64(0), Resumption?.none)
        switch partial.usableByteCount {
        case .success where !isSame:
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
            guard !content.isFinal else { return false }
            content.partial = partial
            content.offset = offset
            content.resumption = resumption ?? content.resumption
            return true
        }
        if !isWanted { partial.release() }  // the request has ended, and does not release this file
        return try RequestRecord(request)
    }

    // MARK: The answer

    /// Decides where the content of a response goes, when there is a partial file; on the transport's thread.
    ///
    /// Returns true when the response cannot be used, and the whole representation has to be requested.
    func decide(on head: ResponseHead, of attempt: Attempt, for request: Request) -> Bool {
        let (known, offset) = content.withLock { ($0.partial, $0.offset) }
        guard let partial = known else { return false }
        guard offset > 0, let saved = partial.resumeData, let validator = saved.validator else {
            let isContent = (200...299).contains(head.status) && head.status != 206
            if ResumeRules.isWhole(head) || isContent && partial.byteCount == 0 {
                write(head, from: 0, to: partial, attempt, of: request)
            }
            return false
        }
        let decision = ResumeRules.decide(
            on: head, offset: offset, validator: validator, expectedByteCount: saved.expectedByteCount)
        switch decision {
        case .append(let end, let total):
            content.withLock { content in
                content.resumption = .continued(offset: offset)
                content.expectedByteCount = total
                content.rangeEnd = end
            }
            attempt.startCounting(at: offset)
            request.notifyTaskMonitors(.downloads) { monitor, session in
                guard let task = attempt.sessionTask as? URLSessionDownloadTask else { return }
                monitor.urlSession(
                    session, downloadTask: task, didResumeAtOffset: offset, expectedTotalBytes: total ?? -1)
            }
            write(head, from: offset, to: partial, attempt, of: request)
        case .replace(let reason):
            content.withLock { $0.resumption = .startedAgain(reason) }
            write(head, from: 0, to: partial, attempt, of: request)
        case .askAgain(let reason):
            content.withLock { content in
                content.resumption = .startedAgain(reason)
                content.offset = 0
            }
            return true
        case .other: break  // a response without the representation goes to a new file
        }
        return false
    }

    /// Directs the content to the partial file; the first write, off the transport's thread, is the first change of the
    /// file.
    private func write(
        _ head: ResponseHead, from offset: Int64, to partial: PartialFile, _ attempt: Attempt, of request: Request
    ) {
        var data = offset > 0 ? partial.resumeData : describe(head, attempt, of: request, in: partial.url)
        if offset > 0 { data?.expectedByteCount = content.withLock { $0.expectedByteCount } }
        data?.byteCount = nil
        let names = request.core.settings.credentialFieldNames + (attempt.redirectHandler?.credentialFieldNames ?? [])
        let credentials = CredentialFields(names)
        let sink = FileSink(
            offset: offset,
            open: { [data] in
                try partial.prepare(offset: offset, content: data) { $0.withoutSecrets(credentials) }
                return partial
            }, onRoom: { [weak attempt] in attempt?.resumeIntake() },
            onFailure: { [weak attempt] in attempt?.cancel(with: $0.transferFailure) })
        content.withLock { $0.sink = sink }
    }

    /// Returns the resume data that describes a response with the whole representation.
    func describe(_ head: ResponseHead, _ attempt: Attempt, of request: Request, in file: URL) -> ResumeData {
        let isResumable = ResumeRules.isResumable(head, method: attempt.record.method)
        // The first record is the request before the adapters: a later download runs the adapters again.
        let origin = request.mutable.withLock { $0.records.first } ?? attempt.record
        var headers = origin.ownHeaders ?? HTTPHeaders()
        for name in ["Range", "If-Range"] { headers.remove(name: name) }
        if headers["Accept-Encoding"] == "identity" { headers.remove(name: "Accept-Encoding") }
        return ResumeData(
            url: origin.url, headers: headers, validator: isResumable ? ResumeRules.validator(of: head) : nil,
            expectedByteCount: isResumable ? head.contentLength : nil, file: file)
    }
}
