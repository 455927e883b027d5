// Responses that go to a file.

import Fireweed
import Foundation

extension RequestRunner {
    func download() async -> ExitCode {
        let place = invocation.goesOn ? partialFile : nil
        if let place, let code = await codeOfFinished(place) { return code }
        let meter = TransferMeter()
        let request: URLRequest
        do {
            request = try downloadedRequest()
        } catch {
            return finish(error: error.asAFError ?? .createURLRequestFailed(error: error), status: nil, metrics: nil)
        }
        let task = session.download(request, to: destination(place))
        authentication?.apply(to: task)
        if invocation.retryCount > 0 {
            task.validate { _, response, _ in
                SessionMaker.retriedStatuses.contains(response.statusCode) ? .failure(RetriedStatus()) : .success(())
            }
        }
        if let place {
            task.resumable(at: place)
            let size = try? FileManager.default.attributesOfItem(atPath: place.path)[.size] as? Int64
            meter.begin(at: size ?? 0)
        }
        if Terminal.isError { task.downloadProgress(queue: .global()) { meter.show($0) } }
        let response = await task.serializingDownloadedFileURL().response
        meter.end()
        tell(task.resumption)
        if parts.contains("h"), invocation.isDownload, let answer = response.response {
            let protocolName = response.metrics?.transactionMetrics.last?.networkProtocolName
            Terminal.tell(text.head(of: answer, protocolName: protocolName))
        }
        return finish(response, hasPartialFile: place != nil)
    }

    private func downloadedRequest() throws -> URLRequest {
        var request = URLRequest(url: plan.url)
        request.method = plan.method
        request.headers = headers
        switch plan.content {
        case .data(let data, _): request.httpBody = data
        case .file(let file, _): request.httpBodyStream = InputStream(url: file)
        case .multipart(let form):
            request.httpBody = try form.encode()
            request.headers.update(.contentType(form.contentType))
        case .none: break
        }
        return request
    }

    /// Where a complete file goes; what is no success stays in its temporary place.
    private func destination(_ partialFile: URL?) -> DownloadRequest.Destination {
        let given = invocation.outputFile
        let url = plan.url
        return { temporary, response in
            guard (200..<300).contains(response.statusCode) else { return (temporary, []) }
            if let partialFile { return (partialFile.deletingPathExtension(), []) }
            let target = given.map { URL(fileURLWithPath: $0) } ?? FileName.free(for: response, url: url)
            return (target, given == nil ? [] : .removePreviousFile)
        }
    }

    private func finish(_ response: AFDownloadResponse<URL>, hasPartialFile: Bool) -> ExitCode {
        if let status = response.response?.statusCode, !(200..<300).contains(status) {
            if let file = response.value { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
            Terminal.tell("fireweed: nothing was saved: the status is \(status)\n")
            let code = finish(error: visible(response.error), status: status, metrics: response.metrics)
            return code == .success ? .failure : code
        }
        if let file = response.value, let metrics = response.metrics {
            let count = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int64) ?? 0
            let seconds = String(format: "%.1f s", metrics.taskInterval.duration)
            Terminal.tell("Saved \(ProgressBar.size(count)) to \(file.relativePath) in \(seconds)\n")
        }
        if hasPartialFile, response.resumeData != nil {
            Terminal.tell("fireweed: what has come is kept; the same command goes on from there\n")
        }
        return finish(error: response.error, status: response.response?.statusCode, metrics: response.metrics)
    }

    // MARK: Going on

    /// Where the content is until it is complete: beside the file that it will be, whose name is known before the response.
    private var partialFile: URL {
        let name = SuggestedFileName.sanitised(plan.url.lastPathComponent) ?? "download"
        return URL(fileURLWithPath: invocation.outputFile ?? name).appendingPathExtension("part")
    }

    /// The end of the command when the file is there already: success when it is as long as what the server has.
    ///
    /// `nil` when there is something to download.
    private func codeOfFinished(_ place: URL) async -> ExitCode? {
        let file = place.deletingPathExtension()
        guard let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int64 else {
            return nil
        }
        var headers = headers
        headers.update(.acceptEncoding("identity"))
        let response = await session.request(plan.url, method: .head, headers: headers).serializingData().response
        let length = response.response?.headers["Content-Length"].flatMap { Int64($0) }
        guard response.response?.statusCode == 200, length == size else {
            Terminal.tell(
                "fireweed: \(file.relativePath) is there already, and not as long as what the server has; move it away\n"
            )
            return .failure
        }
        Terminal.tell("\(file.relativePath) is there already, complete\n")
        return .success
    }

    private func tell(_ resumption: Resumption?) {
        switch resumption {
        case .continued(let offset): Terminal.tell("Went on behind \(ProgressBar.size(offset)) that were there\n")
        case .startedAgain(let reason): Terminal.tell("Started again: \(Self.text(of: reason))\n")
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
