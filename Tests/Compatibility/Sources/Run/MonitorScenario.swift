import Alamofire
import App
import Foundation

/// What is done so that a monitor is told of it; together every method of the protocol but two.
///
/// `taskIsWaitingForConnectivity` needs a machine without a network.
enum MonitorScenario: String, CaseIterable {
    case data, failedURL, adapted, failedAdapter, retried, cancelled, suspended, challenged, redirected, cached
    case uploaded, failedUpload, download, failedMove, resumedDownload, stream

    /// What the monitor hears at the latest by this one.
    var events: [String] {
        switch self {
        case .data:
            [
                "requestDidResume", "didCreateInitialURLRequest", "didCreateURLRequest", "didCreateTask",
                "didResumeTask",
                "didReceiveResponse", "didReceiveData", "didFinishCollecting", "didGatherMetrics",
                "didCompleteWithError",
                "didValidateData", "didCompleteTask", "requestDidFinish", "didParseDataResponse",
                "didParseGenericDataResponse",
            ]
        case .failedURL: ["didFailToCreateURLRequestWithError"]
        case .adapted: ["didAdaptInitialRequest"]
        case .failedAdapter: ["didFailToAdaptURLRequest"]
        case .retried: ["requestIsRetrying"]
        case .cancelled: ["requestDidCancel", "didCancelTask"]
        case .suspended: ["requestDidSuspend", "didSuspendTask"]
        case .challenged: ["didReceiveChallenge"]
        case .redirected: ["willPerformHTTPRedirection"]
        case .cached: ["willCacheResponse"]
        case .uploaded: ["didCreateUploadable", "didSendBodyData", "didProvideInputStream", "taskNeedsNewBodyStream"]
        case .failedUpload: ["didFailToCreateUploadable"]
        case .download:
            [
                "didWriteData", "didFinishDownloadingTo", "didFinishDownloading", "didCreateDestinationURL",
                "didValidateDownload", "didParseDownloadResponse", "didParseGenericDownloadResponse",
            ]
        case .failedMove: ["didFinishDownloading"]
        case .resumedDownload: ["didResumeAtOffset"]
        case .stream: ["didValidateStream", "didParseStream"]
        }
    }

    func play(_ session: Session, _ checks: Checks) async {
        switch self {
        case .data:
            let request = session.request(checks.url("bytes/1000")).validate()
            await withCheckedContinuation { done in request.response { _ in done.resume() } }
            _ = await session.request(checks.url("get")).serializingDecodable(Echo.self).response
        case .failedURL: _ = await session.request("http://[broken").serializingData().response
        case .adapted:
            let adapter = Adapter { request, _, completion in
                var request = request
                request.headers.add(name: "X-Adapted", value: "1")
                completion(.success(request))
            }
            _ = await session.request(checks.url("get"), interceptor: adapter).serializingData().response
        case .failedAdapter:
            let adapter = Adapter { $2(.failure(URLError(.userAuthenticationRequired))) }
            _ = await session.request(checks.url("get"), interceptor: adapter).serializingData().response
        case .retried:
            _ = await session.request(checks.url("status/503"), interceptor: RetryPolicy(retryLimit: 1)).validate()
                .serializingData().response
        case .cancelled: await cancel(session.request(checks.url("delay/30")))
        case .suspended: await suspend(session.request(checks.url("delay/30")))
        case .challenged:
            _ = await session.request(checks.url("basic-auth/ada/secret"))
                .authenticate(username: "ada", password: "secret").serializingData().response
        case .redirected: _ = await session.request(checks.url("redirect/1")).serializingData().response
        case .cached: _ = await session.request(checks.url("cache/60")).serializingData().response
        case .uploaded:
            // A redirect that keeps the content needs the stream again.
            for path in ["upload", "redirect-to?url=/upload&status_code=307"] {
                let stream = InputStream(data: Data("text".utf8))
                _ = await session.upload(stream, to: checks.url(path)).serializingData().response
            }
        case .failedUpload:
            let form = MultipartFormData()
            form.append(URL(fileURLWithPath: "/no/such/file"), withName: "file")
            _ = await session.upload(multipartFormData: form, to: checks.url("upload")).serializingData().response
        case .download, .failedMove, .resumedDownload: await playDownload(session, checks)
        case .stream:
            for await _ in session.streamRequest(checks.url("bytes/1000")).validate().streamTask().streamingStrings() {}
        }
    }

    private func playDownload(_ session: Session, _ checks: Checks) async {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("compatibility-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        let destination: DownloadRequest.Destination = { _, _ in (file, []) }
        switch self {
        case .failedMove:
            try? Data().write(to: file)
            _ = await session.download(checks.url("bytes/10"), to: destination).serializingData().response
        case .resumedDownload:
            guard let data = await interrupted(session.download(checks.url("range/50000000"))) else {
                return checks.report.expect(false, "no resume data")
            }
            let request = session.download(resumingWith: data)
            _ = await interrupted(request)
        default:
            let request = session.download(checks.url("bytes/100000"), to: destination).validate()
            await withCheckedContinuation { done in request.response { _ in done.resume() } }
            _ = await session.download(checks.url("bytes/10")).serializingData().response
        }
    }

    private func interrupted(_ request: DownloadRequest) async -> Data? {
        await withCheckedContinuation { done in
            request
                .downloadProgress(queue: .global()) { progress in
                    if progress.completedUnitCount > 0 { request.cancel(producingResumeData: true) }
                }
                .response(queue: .global()) { done.resume(returning: $0.resumeData) }
        }
    }

    private func cancel(_ request: DataRequest) async {
        async let response = request.serializingData().response
        for await _ in request.urlSessionTasks() { break }
        request.cancel()
        _ = await response
    }

    private func suspend(_ request: DataRequest) async {
        request.resume()
        for await _ in request.urlSessionTasks() { break }
        request.suspend()
        request.cancel()
    }
}
