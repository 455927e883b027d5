// Sends the request and prints what comes.

import Fireweed
import Foundation

/// Carries an invocation out.
struct RequestRunner {
    let invocation: Invocation
    let plan: RequestPlan
    private let made: SessionMaker.Made
    let headers: HTTPHeaders
    let authentication: Authentication?
    private let file: SessionFile?
    private let saved: SavedSession
    let text = MessageText(isColoured: Terminal.isOutput)
    var session: Session { made.session }

    init(_ invocation: Invocation, standardInput: StandardInput.Content?) throws {
        self.invocation = invocation
        try OutputFile.check(invocation)
        plan = try RequestPlan(invocation, standardInput: standardInput)
        file = try invocation.sessionName.map { try SessionFile(name: $0) }
        var saved = try file?.load() ?? SavedSession()
        let given = try Authentication(invocation, askForPassword: Terminal.askForPassword)
        if let given { saved.set(given, for: plan.url) }
        authentication = given ?? saved.authentication(for: plan.url)
        var headers = plan.headers
        // A field of the command line wins.
        if let header = authentication?.header, headers[header.name] == nil { headers.add(header) }
        try RequestPlan.check(headers)
        self.headers = headers
        self.saved = saved
        made = try SessionMaker.session(for: invocation, plan: plan, saved: file == nil ? nil : saved)
    }

    func run() async -> ExitCode {
        if invocation.printsCURL { return printCURL() }
        if invocation.isInsecure, plan.url.scheme == "https" {
            Terminal.tell(
                "fireweed: warning: the server's certificate is not checked; anyone in between can read along\n")
        }
        let code = invocation.savesToFile ? await download() : await print()
        if invocation.usesCache { await session.flushResponseStore() }
        return keep() ? code : .failure
    }

    /// Writes what is to stay: the session's file and the archive; false when one of them could not be written.
    private func keep() -> Bool {
        var isKept = true
        let note = { (what: String, path: String, error: any Error) in
            Terminal.tell("fireweed: \(what) \(path) cannot be written: \(error.localizedDescription)\n")
            isKept = false
        }
        if let file {
            var saved = saved
            saved.takeCookies(from: made.cookies)
            do { try file.save(saved) } catch { note("the session file", file.url.path, error) }
        }
        if let recorder = made.recorder, let path = invocation.archiveFile {
            do { try recorder.write(to: URL(fileURLWithPath: path)) } catch { note("the archive", path, error) }
        }
        return isKept
    }

    /// Puts on a request what the options ask for.
    private func prepare(_ request: DataRequest) -> DataRequest {
        authentication?.apply(to: request)
        guard invocation.retryCount > 0 else { return request }
        return request.validate { _, response, _ in Self.retried(response) }
    }

    /// Why a response is not taken as it is: it may be tried again, or its content is not to be saved.
    ///
    /// When the status stays, it is the response's, and no error.
    struct RefusedStatus: Error {}

    static func retried(_ response: HTTPURLResponse) -> Request.ValidationResult {
        SessionMaker.retriedStatuses.contains(response.statusCode) ? .failure(RefusedStatus()) : .success(())
    }

    func visible(_ error: AFError?) -> AFError? {
        error?.underlyingError is RefusedStatus ? nil : error
    }

    /// What to print: as asked, else head and content on a terminal, and the content alone in a pipe.
    var parts: String {
        invocation.print ?? (Terminal.isOutput && !invocation.writesToStandardOutput ? "hb" : "b")
    }

    /// The request has been made, since the session makes requests eagerly, and is never resumed.
    private func printCURL() -> ExitCode {
        let request = dataRequest()
        if let error = request.error {
            let failure = ErrorText(error)
            Terminal.tell("fireweed: \(failure.message)\n")
            return failure.code
        }
        // Without the prompt, so that a shell can take it from a pipe.
        let command = request.cURLDescription()
        Terminal.writeContent((command.hasPrefix("$ ") ? String(command.dropFirst(2)) : command) + "\n")
        return .success
    }

    // MARK: To standard output

    private func print() async -> ExitCode {
        // What comes before a retry must not be seen: only the last response is printed, when it is there.
        invocation.retryCount > 0 ? await printWhole() : await printStream()
    }

    private func printWhole() async -> ExitCode {
        let request = prepare(dataRequest())
        let meter = uploadMeter(for: request)
        let response = await request.serializingData(emptyResponseCodes: Set(100..<600)).response
        meter.end()
        let heads = HeadPrinter(parts: parts, text: text, content: plan.content)
        if let answer = response.response {
            heads.print(answer, of: request)
            var printer = ContentPrinter(form: form(of: answer), text: text)
            if parts.contains("b"), let data = response.data {
                Terminal.write(printer.take(data))
                Terminal.write(printer.finish())
            }
        } else {
            heads.printRequest(request)
        }
        return finish(
            error: visible(response.error), status: response.response?.statusCode, metrics: response.metrics)
    }

    private func printStream() async -> ExitCode {
        let request = session.streamRequest(message, uploading: upload)
        authentication?.apply(to: request)
        let meter = uploadMeter(for: request)
        let heads = HeadPrinter(parts: parts, text: text, content: plan.content)
        request.onHTTPResponse(on: .global()) { response in
            meter.end()
            heads.print(response, of: request)
        }
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
        meter.end()
        if let code = interruption.code { return code }  // what is half there stays unprinted
        if parts.contains("b") { Terminal.write(printer.finish()) }
        if completion?.response == nil { heads.printRequest(request) }
        return finish(
            error: completion?.error, status: completion?.response?.statusCode, metrics: completion?.metrics)
    }

    /// Shows how far the content of a request is.
    ///
    /// Only above the size of a socket's buffers: what is shorter has gone before anyone could read a bar.
    private func uploadMeter(for request: Request) -> TransferMeter {
        let meter = TransferMeter(leastTotal: 256 * 1024)
        if Terminal.isError, upload != nil { request.uploadProgress(queue: .global()) { meter.show($0) } }
        return meter
    }

    /// How content is printed: a pipe gets every byte as it comes.
    private func form(of response: HTTPURLResponse?) -> ContentPrinter.Form {
        let type = response?.headers["Content-Type"]
        let essence = type?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        if essence == "text/event-stream" {
            return .events(areRaw: !Terminal.isOutput || invocation.writesToStandardOutput)
        }
        if !Terminal.isOutput || invocation.writesToStandardOutput { return .bytes }
        return invocation.isStreamed ? .text : .whole(type: type)
    }

    private var message: URLRequest {
        var request = URLRequest(url: plan.url)
        request.method = plan.method
        request.headers = headers
        return request
    }

    private func dataRequest() -> DataRequest {
        switch plan.content {
        case .none: session.request(plan.url, method: plan.method, headers: headers)
        case .data(let data, _): session.upload(data, to: plan.url, method: plan.method, headers: headers)
        case .file(let file, _): session.upload(file, to: plan.url, method: plan.method, headers: headers)
        case .input(let input, _): session.upload(input.stream(), to: plan.url, method: plan.method, headers: headers)
        case .multipart(let form):
            session.upload(multipartFormData: form, to: plan.url, method: plan.method, headers: headers)
        }
    }

    private var upload: StreamRequestContent? {
        switch plan.content {
        case .none: nil
        case .data(let data, _): .data(data)
        case .file(let file, _): .file(file)
        case .input(let input, _): .stream(input.stream())
        case .multipart(let form): .form(form)
        }
    }

    // MARK: The end

    func finish(error: AFError?, status: Int?, metrics: TaskMetrics?) -> ExitCode {
        if invocation.isVerbose, invocation.usesCache, let metrics { Terminal.tell("\(CacheFolder.note(of: metrics))") }
        if invocation.showsTiming, let metrics {
            Terminal.tell("\(Waterfall(metrics).text(width: Terminal.width))")
        }
        // Without a response there is nothing to serialise: that is a consequence, and no cause.
        if let error, status != nil || !error.isResponseSerializationError {
            let failure = ErrorText(error)
            Terminal.tell("fireweed: \(failure.message)\n")
            return failure.code
        }
        guard let status else {
            Terminal.tell("fireweed: no response came\n")
            return .network
        }
        guard invocation.checksStatus else { return .success }
        switch status {
        case 300..<400: return .redirect
        case 400..<500: return .clientError
        case 500..<600: return .serverError
        default: return .success
        }
    }
}
