// Responses that are printed.

import CommandLanguage
import Fireweed
import Foundation

extension RequestRunner {
    /// Prints the request as a curl command; with this option the session makes requests eagerly, and never resumes
    /// them.
    func printCURL() -> ExitCode {
        let request = dataRequest()
        authentication?.apply(to: request)
        if let error = request.error {
            let failure = ErrorText(error)
            Terminal.tell("fireweed: \(failure.message)\n")
            return failure.code
        }
        // Drops the prompt, so that a shell can read the command from a pipe.
        let described = request.cURLDescription()
        let command = described.hasPrefix("$ ") ? String(described.dropFirst(2)) : described
        let options = CURLOptions(invocation, plan: plan)
        Terminal.writeContent(options.adding(to: command) + "\n")
        if let warning = options.warning { note("fireweed: \(warning)\n") }
        return .success
    }

    func print() async -> ExitCode {
        let isWhole = invocation.selection != nil || invocation.expectations.contains(where: \.needsContent)
        return isWhole ? await printWhole() : await printStream()
    }

    /// A response whose content is in memory.
    struct Fetched: Sendable {
        var outcome: RequestOutcome
        /// Set if a signal has ended the request.
        var interruption: ExitCode?
    }

    private func printWhole() async -> ExitCode {
        show(await fetch())
    }

    /// The statuses whose responses may be empty: all statuses.
    ///
    /// Made once: filling the set takes as long as sending a request.
    static let everyStatus = Set(100..<600)

    /// Gets the response with its content.
    ///
    /// `shared` is the interruption of several requests; with `nil`, a signal interrupts only this request.
    func fetch(_ shared: Interruption? = nil) async -> Fetched {
        let request = prepare(dataRequest())
        let meter = uploadMeter(for: request)
        let interruption = shared ?? Interruption { request.cancel() }
        // The Swift task is never cancelled: a signal cancels the request.
        let task = request.serializingData(automaticallyCancelling: false, emptyResponseCodes: Self.everyStatus)
        // A signal that arrived before the session had this request could not cancel the request.
        if interruption.code != nil { request.cancel() }
        let response = await task.response
        meter.end()
        let outcome = RequestOutcome(
            request: request, error: response.error, context: response.context, content: response.data)
        return Fetched(outcome: outcome, interruption: interruption.code)
    }

    /// Prints a response.
    func show(_ fetched: Fetched) -> ExitCode {
        if let code = fetched.interruption { return code }
        var outcome = fetched.outcome
        if outcome.status != nil {
            if let answer = outcome.response { showHead(of: answer, outcome.request) }
            var printer = printer(ofType: outcome.contentType)
            let isRefused = outcome.error != nil || invocation.refusedTarget(of: outcome.response) != nil
            let isHidden = isRefused && outcome.response?.isRedirect == true || hidesContent(of: outcome.response)
            // Whether the selected values are there is asked even if they are not printed.
            if parts.contains("b") || invocation.selection != nil, !isHidden {
                let bytes = printer.take(outcome.content ?? Data()) + printer.finish()
                if parts.contains("b") { Terminal.write(bytes) }
            }
            outcome.printingFailure = printer.failure
        }
        if let recorder { heads.showRest(recorder) }
        return finish(outcome)
    }

    private func printStream() async -> ExitCode {
        let request = session.streamRequest(compressedMessage, uploading: sentContent)
        authentication?.apply(to: request)
        let meter = uploadMeter(for: request)
        if invocation.retryCount > 0 {
            // Head and content of a response that is refused here, since it is retried, are not printed.
            request.validate { [self, weak request] _, response in
                let validation = made.validation(of: request)
                if case .success = validation, let request { showFirst(response, of: request, meter) }
                return validation
            }
        } else if recorder != nil || canShowMeter {
            request.onHTTPResponse(on: .global()) { [self, weak request] response in
                if let request { showFirst(response, of: request, meter) }
            }
        }
        let interruption = Interruption { request.cancel() }
        var printer: ContentPrinter?
        var completion: DataStreamRequest.Completion?
        // The held content of a redirect; `nil` for other responses. It is not printed if the redirect was refused,
        // since the user did not request that content.
        var held: [UInt8]?
        for await stream in request.streamTask().streamingData() {
            switch stream.event {
            case .complete(let end): completion = end
            case .stream(.success(let piece)):
                if printer == nil {
                    printer = self.printer(ofType: request.response?.value(forHTTPHeaderField: "Content-Type"))
                    held = invocation.followsRedirects && request.response?.isRedirect == true ? [] : nil
                }
                guard parts.contains("b"), !hidesContent(of: request.response),
                    let bytes = printer?.take(piece)
                else { continue }
                if held != nil { held?.append(contentsOf: bytes) } else { Terminal.write(bytes) }
            }
        }
        meter.end()
        if let code = interruption.code { return code }  // incomplete content stays unprinted
        interruption.end()
        let isRefused = completion?.error != nil || invocation.refusedTarget(of: completion?.response) != nil
        let isHidden = held != nil && isRefused || hidesContent(of: completion?.response)
        if parts.contains("b"), !isHidden, let bytes = printer?.finish() { Terminal.write((held ?? []) + bytes) }
        if let recorder { heads.showRest(recorder) }
        return finish(RequestOutcome(request: request, error: completion?.error, context: completion))
    }

    /// Shows the head of a response that is about to be printed, instead of the meter.
    private func showFirst(_ response: HTTPURLResponse, of request: Request, _ meter: TransferMeter) {
        meter.end()
        showHead(of: response, request)
    }

    /// Shows the last response's head, if it is wanted; to be called before any content.
    func showHead(of response: HTTPURLResponse, _ request: Request) {
        recorder?.flush()
        if invocation.curl?.headFile == "-" { Terminal.write(receivedHeads(of: request).flatMap { $0 }) }
        heads.showResponse(response, exchange(of: request))
    }

    /// The last exchange of a request: as it was on the wire, or as the request has it beside others (`--parallel`),
    /// whose exchanges the recorder would mix.
    func exchange(of request: Request) -> WireRecorder.Exchange? {
        guard isParallel else { return recorder?.last }
        return request.responseHead.map { WireRecorder.Exchange(status: $0.status, lines: $0.receivedLines) }
    }

    /// The heads of a request's responses so far, of all attempts or of the last one; beside other requests, those of
    /// the last attempt, and before the last one once it has ended.
    func receivedHeads(of request: Request, inLastAttempt: Bool = false) -> [[UInt8]] {
        guard isParallel else { return recorder?.heads(inLastAttempt: inLastAttempt) ?? [] }
        let ended = request.metrics?.transactionMetrics.compactMap { exchange in
            exchange.response.map {
                WireRecorder.Exchange(status: $0.statusCode, lines: Array(exchange.responseHeadData ?? Data()))
            }
        }
        return (ended ?? [exchange(of: request)].compactMap(\.self)).flatMap(\.responses)
    }

    /// Whether a curl command hides the content of a response, for its status (`-f`) or its date (`-z`).
    private func hidesContent(of response: HTTPURLResponse?) -> Bool {
        guard let response else { return false }
        return invocation.curl?.hidesFailures == true && response.statusCode >= 400
            || timeCondition?.refuses(response) == true
    }

    /// Makes a meter that shows the progress of the request's content.
    ///
    /// The meter shows only content larger than a socket's buffers: shorter content is sent before a user could see a
    /// bar.
    private func uploadMeter(for request: Request) -> TransferMeter {
        let meter = TransferMeter(leastTotal: 256 * 1024)
        if case .none = plan.content { return meter }
        if canShowMeter { request.uploadProgress(queue: .global()) { meter.show($0) } }
        return meter
    }

    /// Whether a progress bar can be drawn, and is wanted.
    var canShowMeter: Bool {
        let isUnwanted = invocation.isQuiet || invocation.curl.map { $0.isSilent || !$0.showsMeter } == true
        return Terminal.canDraw && !isUnwanted && invocation.parallelCount == 1
    }

    /// Makes the printer of the content: a pipe gets the unchanged bytes as they arrive, unless an option changes this.
    ///
    /// `own` is the media type in the response.
    private func printer(ofType own: String?) -> ContentPrinter {
        let type = invocation.responseType ?? own
        return ContentPrinter(form: form(ofType: type), text: text, type: type, charset: charset(ofType: own))
    }

    /// Returns the name of the character set in which content is read; `nil` takes the one that the content or its type
    /// names.
    private func charset(ofType own: String?) -> String? {
        // `--response-mime` replaces only the media type: the character set is still that of the response.
        invocation.responseCharset
            ?? invocation.responseType.map { _ in CharacterSetDecoder.name(of: [UInt8](), type: own) }
    }

    /// Returns content as the text that is printed of it; `nil` if it is not text.
    func text(of content: Data, ofType own: String?) -> String? {
        MessageText.text(content, type: invocation.responseType ?? own, charset: charset(ofType: own))
    }

    /// Media types of sequences of JSON values.
    private static let lineTypes: Set = [
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
        "application/jsonlines", "application/json-seq", "application/stream+json",
    ]

    private func form(ofType type: String?) -> ContentPrinter.Form {
        if let path = invocation.selection { return .selection(path) }
        let essence = type.map(Self.essence)
        let isRaw =
            invocation.writesToStandardOutput
            || !Terminal.isOutput && invocation.prettiness == nil
                && invocation.responseCharset == nil
        if essence == "text/event-stream" { return .events(areRaw: isRaw) }
        if isRaw || !Terminal.isOutput && invocation.prettiness == Invocation.Prettiness.none { return .bytes }
        if let essence, Self.lineTypes.contains(essence) { return .lines }
        return invocation.isStreamed ? .text : .formatted
    }
}

extension RequestRunner {
    /// Returns a media type without parameters and spaces, in lower case.
    fileprivate static func essence(of type: String) -> String {
        // Most types have this form already.
        let isEssence = type.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2F || $0 == 0x2D }
        return isEssence ? type : type.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}

extension HTTPURLResponse {
    /// Whether the response is a redirect with a `Location` (RFC 9110 §15.4).
    var isRedirect: Bool {
        [301, 302, 303, 307, 308].contains(statusCode) && value(forHTTPHeaderField: "Location") != nil
    }
}
