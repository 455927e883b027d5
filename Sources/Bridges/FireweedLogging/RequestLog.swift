// The log entries of requests.

#if SwiftLog
import Fireweed
import FireweedTransport
import Foundation
import Logging
import ServiceContextModule

/// Writes the entries of requests to one logger.
struct RequestLog: RequestObserver {
    /// The caller's context, which the session has captured.
    enum ContextKey: RequestValueKey { typealias Value = ServiceContext }

    let logger: Logger
    let options: LoggingOptions
    /// The context of the code that gave the logger to a request; a captured context takes precedence.
    let context: ServiceContext?

    func request(_ request: Request, didMeet event: RequestObservation.Event) {
        let levels = options.levels
        switch event {
        case .attemptEnded(let attempt): write(attempt, of: request)
        case .retries:
            write(levels.retry, "request is retried", of: request) {
                ["fireweed.retries": .stringConvertible(request.retryCount)]
            }
        case .notSent(let error):
            let isCancelled = error.isCancellation
            let level = isCancelled ? levels.cancellation : levels.failure
            write(level, isCancelled ? "request cancelled" : "request not sent", of: request) {
                var metadata = target(of: request.lastRequest?.httpMethod, request.lastRequest?.url)
                if !isCancelled { metadata["error.type"] = .string(error.word ?? "not_sent") }
                return metadata
            }
        case .waitsForRateLimit(let duration):
            write(levels.detail, "request waits for its rate limit", of: request) {
                ["fireweed.wait_ms": .stringConvertible(Int(duration / .milliseconds(1)))]
            }
        case .waitsForConnectivity: write(levels.detail, "request waits for a route", of: request) { [:] }
        }
    }

    // MARK: Attempts

    private func write(_ attempt: AttemptSummary, of request: Request) {
        let failure = attempt.failure
        let isCancelled = failure?.isCancellation == true
        let status = attempt.statusCode
        let level = isCancelled ? options.levels.cancellation : level(status, failed: failure != nil)
        guard isWritten(level) else { return }
        let isSuccess = failure == nil && (status ?? 0) < 400
        guard !isSuccess || attempt.number > 0 || isSampled(request) else { return }
        let metrics = attempt.metrics
        for earlier in metrics?.transactionMetrics.dropLast() ?? [] { write(earlier, of: request) }
        let message: Logger.Message =
            isCancelled ? "request cancelled" : failure == nil ? "request completed" : "request failed"
        write(level, message, of: request) {
            // Everything is from the last message: after a redirect, its method, URL and server may differ from the
            // request's.
            let last = metrics?.transactionMetrics.last
            var metadata = target(of: last?.method ?? attempt.method, last?.url ?? attempt.url)
            describe(last, in: &metadata)
            if attempt.resendCount > 0 {
                metadata["http.request.resend_count"] = .stringConvertible(attempt.resendCount)
            }
            if let metrics { describe(metrics, in: &metadata) }
            if let word = isCancelled ? nil : failure.map({ $0.word ?? URLError.Code.otherWord }) ?? errorType(status) {
                metadata["error.type"] = .string(word)
            }
            return metadata
        }
    }

    private func level(_ status: Int?, failed: Bool) -> Logger.Level {
        switch status ?? 0 {
        case _ where failed: options.levels.failure
        case 400..<500: options.levels.clientError
        case 500...: options.levels.serverError
        default: options.levels.success
        }
    }

    private func errorType(_ status: Int?) -> String? { status.flatMap { $0 >= 400 ? String($0) : nil } }

    /// Whether a success is logged; decided by the request's identity, so that all its attempts have the same result.
    private func isSampled(_ request: Request) -> Bool {
        guard options.successRatio < 1 else { return true }
        let bytes = request.id.uuid
        let number = UInt32(bytes.0) << 24 | UInt32(bytes.1) << 16 | UInt32(bytes.2) << 8 | UInt32(bytes.3)
        return Double(number) < options.successRatio * 0x1p32
    }

    /// Writes the entry of an attempt's earlier message, such as a message that was redirected.
    private func write(_ transaction: TransactionMetrics, of request: Request) {
        write(options.levels.detail, "message answered", of: request) {
            var metadata = target(of: transaction.method, transaction.url)
            describe(transaction, in: &metadata)
            return metadata
        }
    }

    // MARK: Metadata

    private func target(of method: String?, _ url: URL?) -> Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        if let method { metadata["http.request.method"] = .string(visible(method)) }
        guard let text = url?.absoluteString else { return metadata }
        metadata["url.full"] = .string(visible(options.redaction.text(ofURL: text)))
        if let target = url.flatMap({ try? RequestTarget(WebSocketURL.onTheWire($0).absoluteString) }) {
            metadata["server.address"] = .string(target.canonicalHost)
            metadata["server.port"] = .stringConvertible(target.port)
        }
        return metadata
    }

    private func describe(_ transaction: TransactionMetrics?, in metadata: inout Logger.Metadata) {
        guard let transaction else { return }
        if let status = transaction.statusCode { metadata["http.response.status_code"] = .stringConvertible(status) }
        metadata["http.response.body.size"] = .stringConvertible(transaction.countOfResponseBodyBytesReceived)
        switch transaction.networkProtocolName {
        case "h2": metadata["network.protocol.version"] = "2"
        case "http/1.1": metadata["network.protocol.version"] = "1.1"
        case "http/1.0": metadata["network.protocol.version"] = "1.0"
        default: break
        }
    }

    private func describe(_ metrics: TaskMetrics, in metadata: inout Logger.Metadata) {
        metadata["fireweed.duration_ms"] = .stringConvertible(
            (metrics.taskInterval.duration * 1_000_000).rounded() / 1000)
        if metrics.redirectCount > 0 { metadata["fireweed.redirects"] = .stringConvertible(metrics.redirectCount) }
        switch metrics.responseSource {
        case .network: break
        case .cache, .revalidation: metadata["fireweed.response.source"] = "cache"
        case .notSent: metadata["fireweed.response.source"] = "none"
        }
    }

    // MARK: Entries

    private func isWritten(_ level: Logger.Level) -> Bool { level >= logger.logLevel }

    /// Writes an entry; its metadata is made only if the logger's level admits the entry.
    private func write(
        _ level: Logger.Level, _ message: Logger.Message, of request: Request, _ metadata: () -> Logger.Metadata
    ) {
        guard isWritten(level) else { return }
        let values = request.values
        var metadata = metadata()
        metadata["fireweed.request.id"] = .string(request.id.uuidString)
        if let template = values[URLTemplateKey.self] { metadata["url.template"] = .string(template) }
        // Set even if it is `nil`: the thread may have the context of another request.
        ServiceContext.$current.withValue(values[ContextKey.self] ?? context) {
            logger.log(level: level, message, metadata: metadata)
        }
    }
}

/// Removes control characters, so that a server cannot forge lines of the log.
private func visible(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
}

extension AFError {
    /// Whether the caller ended the attempt.
    fileprivate var isCancellation: Bool {
        isExplicitlyCancelledError || (underlyingError as? URLError)?.code == .cancelled
    }

    /// The kind of failure, by the names that metrics use; `nil` for a failure without a name.
    fileprivate var word: String? {
        switch self {
        case .serverTrustEvaluationFailed: URLError.Code.serverCertificateUntrusted.word
        case .invalidURL: URLError.Code.badURL.word
        case .sessionInvalidated: "session_invalidated"
        case .requestAdaptationFailed: "adaptation_failed"
        default:
            switch underlyingError {
            case let error as URLError: error.code.word
            case let error as OverloadError: error.word
            default: nil
            }
        }
    }
}
#endif
