// Output and exit code at the end of a request.

import CommandLanguage
import Fireweed
import Foundation
import Synchronization

extension RequestRunner {
    /// The outcome of a request.
    struct RequestOutcome {
        let request: Request
        var error: AFError?
        /// Response and metrics, which are made on first access; `nil` for a request that could not be made.
        var context: (any ResponseContext)?
        /// The content, if it was kept in memory.
        var content: Data?
        /// The name of the file with the content; `nil` for the file of `--output`.
        var savedFile: String?
        /// Why the values of `--select` could not be printed.
        var printingFailure: String?
        /// Why the content was not saved.
        var refusal: String?

        var response: HTTPURLResponse? { context?.response }
        var metrics: TaskMetrics? { context?.metrics }
        /// The time of all attempts.
        var seconds: TimeInterval? { request.secondsOfAllAttempts }
        var status: Int? { context?.statusCode }
        var contentType: String? { context?.responseField("Content-Type") }
    }

    func finish(_ outcome: RequestOutcome) -> ExitCode {
        if invocation.isOffline, outcome.status != nil { return .success }
        if invocation.isVerbose, invocation.usesCache, !invocation.isQuiet, let metrics = outcome.metrics {
            Terminal.tell("\(CacheFolder.note(of: metrics))")
        }
        if invocation.showsTiming, let metrics = outcome.metrics {
            Terminal.tell("\(Waterfall(metrics).text(width: Terminal.width))")
        }
        if parts.contains("m"), let seconds = outcome.seconds {
            Terminal.write("Elapsed time: \(String(format: "%.3f", seconds)) s\n")
        }
        let (code, message) = keepFiles(of: outcome) ?? verdict(outcome)
        let isSilent = invocation.curl.map { $0.isSilent && !$0.showsErrors } ?? false
        if let message, !isSilent { Terminal.tell("fireweed: \(urlPrefix)\(message)\n") }
        let unmet = outcome.error == nil ? unmetExpectations(outcome) : []
        for failure in unmet { Terminal.tell("fireweed: \(urlPrefix)\(failure)\n") }
        let isOnlyOutput = code == .failure && (outcome.printingFailure ?? outcome.refusal) != nil
        let final = (code == .success || isOnlyOutput) && !unmet.isEmpty ? ExitCode.serverError : code
        if let format = invocation.writeOut {
            var written = WriteOut(
                outcome, plan, exchange(of: outcome.request), code: final, message: message ?? unmet.first)
            if let response = outcome.response, timeCondition?.refuses(response) == true { written.becomeNotModified() }
            let file = outcome.savedFile ?? invocation.outputFile ?? ""
            written.values.append(("filename_effective", JSONNode(text: file)))
            let text = written.text(format)
            if !text.output.isEmpty { Terminal.writeContent(text.output) }
            if !text.errors.isEmpty { Terminal.tell("\(text.errors)") }
        }
        return final
    }

    /// Writes the files of curl's `-D` and `--etag-save`; returns the failure if one of them cannot be written.
    private func keepFiles(of outcome: RequestOutcome) -> (ExitCode, String?)? {
        guard let curl = invocation.curl, outcome.status != nil else { return nil }
        var failure: (ExitCode, String?)?
        func keep(_ file: String?, _ write: () throws -> Void) {
            guard let file else { return }
            do { try write() } catch {
                failure = failure ?? (.failure, "\(file) cannot be written: \(error.plainText)")
            }
        }
        keep(curl.headFile) { try curl.writeHeads(receivedHeads(of: outcome.request)) }
        keep(curl.savedTagFile) { try curl.writeTag(of: outcome.response) }
        return failure
    }

    /// The URL as a prefix of messages if the command line has several URLs; else empty.
    var urlPrefix: TerminalText { invocation.urlCount > 1 ? "\(invocation.url): " : "" }

    private func verdict(_ outcome: RequestOutcome) -> (ExitCode, String?) {
        // Without a response, a serialisation error is only a consequence; the cause is that no response came.
        if let error = outcome.error, outcome.status != nil || !error.isResponseSerializationError {
            let failure = ErrorText(error, invocation, outcome.metrics)
            return (failure.code, failure.message)
        }
        guard let status = outcome.status else { return (.network, "no response came") }
        if let target = invocation.refusedTarget(of: outcome.response) {
            return (.failure, "the redirect to \(target.absoluteString) may not be followed (--proto)")
        }
        // curl takes a 416 for a part to mean that the file is complete.
        let isComplete = status == 416 && invocation.curl?.offset != nil
        let isRefused = invocation.failsWithStatus && !invocation.isSuccess(status) && !isComplete
        let code = isRefused ? ExitCode(status: status) : .success
        if let refusal = outcome.refusal { return (code == .success ? .failure : code, refusal) }
        // An error of the server has other content: its status is what scripts ask for.
        if let failure = outcome.printingFailure {
            return (
                code == .success ? .failure : code, status < 400 ? failure : "\(failure); the status is \(status)"
            )
        }
        return (code, code == .success ? nil : "the status is \(status)")
    }

    /// Returns a sentence for each expectation that is not met.
    private func unmetExpectations(_ outcome: RequestOutcome) -> [String] {
        guard !invocation.expectations.isEmpty else { return [] }
        let facts = Expectation.CheckedResponse(
            outcome.context,
            text: invocation.expectations.contains(where: \.needsContent)
                ? text(of: outcome.content ?? Data(), ofType: outcome.contentType) : nil,
            seconds: outcome.seconds ?? 0)
        return Expectation.failures(of: invocation.expectations, facts)
    }
}

extension Request {
    /// The time from the start of the first attempt to the end of the last one, in seconds; `nil` without an attempt.
    var secondsOfAllAttempts: TimeInterval? {
        let intervals = allMetrics.map(\.taskInterval)
        guard let first = intervals.first, let last = intervals.last else { return nil }
        return max(0, last.end.timeIntervalSince(first.start))
    }
}

extension RequestRunner.RequestOutcome {
    /// The target of a redirect; `nil` for another response.
    var redirectTarget: URL? {
        guard let response, response.isRedirect, let location = response.value(forHTTPHeaderField: "Location") else {
            return nil
        }
        return URL(string: location, relativeTo: response.url)?.absoluteURL
    }
}

extension Invocation {
    /// Returns the target of a redirect that `--proto` forbids; `nil` for another response.
    func refusedTarget(of response: @autoclosure () -> HTTPURLResponse?) -> URL? {
        guard followsRedirects, let allowedSchemes, let response = response(), response.isRedirect,
            let base = response.url, let location = response.value(forHTTPHeaderField: "Location"),
            let target = URL(string: location, relativeTo: base)?.absoluteURL, let scheme = target.scheme?.lowercased()
        else { return nil }
        return allowedSchemes.contains(scheme) ? nil : target
    }
}

extension WriteOut {
    /// Makes the values of curl's `--write-out` variables after a request.
    init(
        _ outcome: RequestRunner.RequestOutcome, _ plan: RequestPlan, _ exchange: WireRecorder.Exchange?,
        code: ExitCode,
        message: String?
    ) {
        let hops = outcome.metrics?.transactionMetrics ?? []
        let last = hops.last
        let start = outcome.metrics?.taskInterval.start
        func time(_ date: Date?) -> JSONNode {
            guard let date, let start else { return .literal("0.000000") }
            return .literal(String(format: "%.6f", max(0, date.timeIntervalSince(start))))
        }
        func number(_ value: some BinaryInteger) -> JSONNode { .literal("\(value)") }
        let total = outcome.metrics?.taskInterval.duration ?? 0
        // Only the last exchange counts: the content of redirects was not requested.
        let received = last?.countOfResponseBodyBytesReceived ?? 0
        let sent = last?.countOfRequestBodyBytesSent ?? 0
        let status = number(outcome.status ?? 0)
        let version =
            outcome.status == nil ? "0" : ["h2": "2", "http/1.0": "1.0"][last?.networkProtocolName ?? ""] ?? "1.1"
        values = [
            ("content_type", outcome.response?.headers["Content-Type"].map(JSONNode.init(text:)) ?? .string("")),
            ("errormsg", message.map(JSONNode.init(text:)) ?? .string("")), ("exitcode", number(code.rawValue)),
            ("http_code", status), ("http_version", .string(version)),
            ("local_ip", JSONNode(text: last?.localAddress ?? "")), ("local_port", number(last?.localPort ?? 0)),
            ("method", JSONNode(text: last?.request.httpMethod ?? plan.method.rawValue)),
            ("num_connects", number(hops.count { !$0.isReusedConnection && $0.remoteAddress != nil })),
            ("num_headers", number(exchange?.fields.count ?? 0)),
            ("redirect_url", JSONNode(text: outcome.redirectTarget?.absoluteString ?? "")),
            ("referer", JSONNode(text: plan.headers["Referer"] ?? "")),
            ("ssl_verify_result", number(CommandTrust.verifyResult.withLock { $0 })),
            ("num_redirects", number(outcome.metrics?.redirectCount ?? 0)),
            ("remote_ip", JSONNode(text: last?.remoteAddress ?? "")), ("remote_port", number(last?.remotePort ?? 0)),
            ("response_code", status), ("scheme", JSONNode(text: (last?.request.url ?? plan.url).scheme ?? "")),
            ("size_download", number(received)),
            ("size_header", number(hops.reduce(0) { $0 + $1.countOfResponseHeaderBytesReceived })),
            ("size_request", number(hops.reduce(0) { $0 + $1.countOfRequestHeaderBytesSent })),
            ("size_upload", number(sent)),
            ("speed_download", number(total > 0 ? Int64(Double(received) / total) : 0)),
            ("speed_upload", number(total > 0 ? Int64(Double(sent) / total) : 0)),
            ("time_redirect", time(hops.count > 1 ? last?.fetchStartDate : start)),
            ("time_appconnect", time(last?.secureConnectionEndDate)),
            ("time_connect", time(last?.secureConnectionStartDate ?? last?.connectEndDate)),
            ("time_namelookup", time(last?.domainLookupEndDate)), ("time_pretransfer", time(last?.requestStartDate)),
            ("time_starttransfer", time(last?.responseStartDate)),
            ("time_total", .literal(String(format: "%.6f", total))), ("url", JSONNode(text: plan.url.absoluteString)),
            ("url_effective", JSONNode(text: (last?.request.url ?? plan.url).absoluteString)),
        ]
        fields = exchange?.fields ?? []
        isFailure = code != .success
    }
}
