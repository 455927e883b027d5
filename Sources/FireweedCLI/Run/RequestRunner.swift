// Sends the request and prints what comes.

import Fireweed
import Foundation

/// Carries an invocation out.
struct RequestRunner {
    private let invocation: Invocation
    private let plan: RequestPlan
    private let session: Session
    private let text = MessageText(isColoured: Terminal.isOutput)

    init(_ invocation: Invocation, standardInput: Data?) throws {
        self.invocation = invocation
        plan = try RequestPlan(invocation, standardInput: standardInput)
        session = try SessionMaker.session(for: invocation, plan: plan)
    }

    func run() async -> ExitCode {
        let code = invocation.isDownload || invocation.outputFile != nil ? await download() : await print()
        if invocation.usesCache { await session.flushResponseStore() }
        return code
    }

    /// What to print: as asked, else head and content on a terminal, and the content alone in a pipe.
    private var parts: String {
        invocation.print ?? (Terminal.isOutput ? "hb" : "b")
    }

    // MARK: To standard output

    private func print() async -> ExitCode {
        let request = dataRequest()
        let response = await request.serializingData(emptyResponseCodes: Set(100..<600)).response
        printRequest(request)
        if let answer = response.response {
            if parts.contains("h") {
                let protocolName = response.metrics?.transactionMetrics.last?.networkProtocolName
                Terminal.write(text.head(of: answer, protocolName: protocolName))
            }
            if parts.contains("b"), let data = response.data {
                let isRaw = !Terminal.isOutput
                isRaw
                    ? Terminal.write(Array(data))
                    : Terminal.write(text.content(data, type: answer.headers["Content-Type"]))
            }
        }
        return finish(error: response.error, status: response.response?.statusCode, metrics: response.metrics)
    }

    private func dataRequest() -> DataRequest {
        switch plan.content {
        case .none: session.request(plan.url, method: plan.method, headers: plan.headers)
        case .data(let data, _):
            session.upload(data, to: plan.url, method: plan.method, headers: plan.headers)
        case .multipart(let form):
            session.upload(multipartFormData: form, to: plan.url, method: plan.method, headers: plan.headers)
        }
    }

    private func printRequest(_ request: Request) {
        guard let sent = request.performedRequests.first else { return }
        if parts.contains("H") { Terminal.write(text.head(of: sent)) }
        if parts.contains("B") {
            switch plan.content {
            case .none: break
            case .data(let data, let type): Terminal.write(text.content(data, type: type) + "\n")
            case .multipart: Terminal.write("(multipart content)\n\n")
            }
        }
    }

    // MARK: To a file

    private func download() async -> ExitCode {
        let meter = DownloadMeter()
        let given = invocation.outputFile
        let url = plan.url
        let destination: DownloadRequest.Destination = { temporary, response in
            guard (200..<300).contains(response.statusCode) else { return (temporary, []) }
            let target = given.map { URL(fileURLWithPath: $0) } ?? FileName.free(for: response, url: url)
            return (target, given == nil ? [] : .removePreviousFile)
        }
        var request = URLRequest(url: plan.url)
        request.method = plan.method
        request.headers = plan.headers
        if case .data(let data, _) = plan.content { request.httpBody = data }
        let task = session.download(request, to: destination)
        if Terminal.isError { task.downloadProgress(queue: .global()) { meter.show($0) } }
        let response = await task.serializingDownloadedFileURL().response
        meter.end()
        if parts.contains("h"), invocation.isDownload, let answer = response.response {
            let protocolName = response.metrics?.transactionMetrics.last?.networkProtocolName
            Terminal.tell(text.head(of: answer, protocolName: protocolName))
        }
        if let status = response.response?.statusCode, !(200..<300).contains(status) {
            if let file = response.fileURL { try? FileManager.default.removeItem(at: file) }
            Terminal.tell("fireweed: nothing was saved: the status is \(status)\n")
            let code = finish(error: response.error, status: status, metrics: response.metrics)
            return code == .success ? .failure : code
        }
        if let file = response.value, let metrics = response.metrics {
            let count = metrics.transactionMetrics.last?.countOfResponseBodyBytesAfterDecoding ?? 0
            let seconds = metrics.taskInterval.duration
            Terminal.tell(
                "Saved \(ProgressBar.size(count)) to \(file.relativePath) in \(String(format: "%.1f s", seconds))\n")
        }
        return finish(error: response.error, status: response.response?.statusCode, metrics: response.metrics)
    }

    // MARK: The end

    private func finish(error: AFError?, status: Int?, metrics: TaskMetrics?) -> ExitCode {
        if invocation.isVerbose, invocation.usesCache, let metrics { Terminal.tell(CacheFolder.note(of: metrics)) }
        if invocation.showsTiming, let metrics {
            Terminal.tell(Waterfall(metrics).text(width: Terminal.width))
        }
        if let error {
            let failure = ErrorText(error)
            Terminal.tell("fireweed: \(failure.message)\n")
            return failure.code
        }
        guard invocation.checksStatus, let status else { return .success }
        switch status {
        case 300..<400: return .redirect
        case 400..<500: return .clientError
        case 500..<600: return .serverError
        default: return .success
        }
    }
}
