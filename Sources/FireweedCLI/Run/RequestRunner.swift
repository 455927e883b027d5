// Sends the request and prints what comes.

import Fireweed
import Foundation

/// Carries an invocation out.
struct RequestRunner {
    let invocation: Invocation
    let plan: RequestPlan
    let session: Session
    let text = MessageText(isColoured: Terminal.isOutput)

    init(_ invocation: Invocation, standardInput: Data?) throws {
        self.invocation = invocation
        plan = try RequestPlan(invocation, standardInput: standardInput)
        session = try SessionMaker.session(for: invocation, plan: plan)
    }

    func run() async -> ExitCode {
        if invocation.isDownload || invocation.goesOn || invocation.outputFile != nil { return await download() }
        return await print()
    }

    /// What to print: as asked, else head and content on a terminal, and the content alone in a pipe.
    var parts: String {
        invocation.print ?? (Terminal.isOutput ? "hb" : "b")
    }

    // MARK: To standard output

    private func print() async -> ExitCode {
        let request = dataRequest()
        // Above the size of a socket's buffers: what is shorter has gone before anyone could read a bar.
        let meter = TransferMeter(leastTotal: 256 * 1024)
        if Terminal.isError, request is UploadRequest { request.uploadProgress(queue: .global()) { meter.show($0) } }
        let response = await request.serializingData(emptyResponseCodes: Set(100..<600)).response
        meter.end()
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
        case .file(let file, _):
            session.upload(file, to: plan.url, method: plan.method, headers: plan.headers)
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
            case .file(let file, _): Terminal.write("(the content of \(file.path))\n\n")
            case .multipart: Terminal.write("(multipart content)\n\n")
            }
        }
    }

    // MARK: The end

    func finish(error: AFError?, status: Int?, metrics: TaskMetrics?) -> ExitCode {
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
