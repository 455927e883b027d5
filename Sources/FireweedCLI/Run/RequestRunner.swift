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
        if invocation.isDownload || invocation.outputFile != nil { return await download() }
        return await print()
    }

    /// What to print: as asked, else head and content on a terminal, and the content alone in a pipe.
    private var parts: String {
        invocation.print ?? (Terminal.isOutput ? "hb" : "b")
    }

    // MARK: To standard output

    private func print() async -> ExitCode {
        let request = session.streamRequest(message, uploading: upload)
        let heads = HeadPrinter(parts: parts, text: text, content: plan.content)
        request.onHTTPResponse(on: .global()) { response in heads.print(response, of: request) }
        let interruption = Interruption { request.cancel() }
        var printer = ContentPrinter(form: .whole(type: nil), text: text)
        var isFirst = true
        var completion: DataStreamRequest.Completion?
        for await stream in request.streamTask().streamingData() {
            switch stream.event {
            case .complete(let end): completion = end
            case .stream(.success(let piece)):
                if isFirst { printer = ContentPrinter(form: form(of: request.response), text: text) }
                isFirst = false
                if parts.contains("b") { Terminal.write(printer.take(piece)) }
            }
        }
        if interruption.hasHappened { return .interrupted }  // what is half there stays unprinted
        if parts.contains("b") { Terminal.write(printer.finish()) }
        if completion?.response == nil { heads.printRequest(request) }
        return finish(
            error: completion?.error, status: completion?.response?.statusCode, metrics: completion?.metrics)
    }

    /// How content is printed: a pipe gets every byte as it comes.
    private func form(of response: HTTPURLResponse?) -> ContentPrinter.Form {
        let type = response?.headers["Content-Type"]
        let essence = type?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        if essence == "text/event-stream" { return .events(areRaw: !Terminal.isOutput) }
        if !Terminal.isOutput { return .bytes }
        return invocation.isStreamed ? .text : .whole(type: type)
    }

    private var message: URLRequest {
        var request = URLRequest(url: plan.url)
        request.method = plan.method
        request.headers = plan.headers
        return request
    }

    private var upload: StreamRequestContent? {
        switch plan.content {
        case .none: nil
        case .data(let data, _): .data(data)
        case .multipart(let form): .form(form)
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
