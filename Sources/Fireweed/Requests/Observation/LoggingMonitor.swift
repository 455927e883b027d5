// A log of requests and their responses.

public import Dispatch
import Foundation
public import FoundationNetworking
import Glibc

/// Logs every attempt of every request, as one line or with the heads of its messages.
///
/// Secrets are removed as `redaction` specifies. Control characters are removed too, so that a server cannot forge
/// lines or control a terminal.
///
/// ```swift
/// let session = Session(eventMonitors: [LoggingMonitor()])
/// // GET https://example.com/users?page=2 → 200, 1.2 kB in 34 ms
/// ```
public final class LoggingMonitor: EventMonitor {
    /// The amount of detail in the log of each attempt.
    public enum Detail: Sendable {
        /// One line for each attempt: method, URL, status or error, bytes and time.
        case line
        /// The line, and then for each transaction the heads of both messages, the connection and the timings; no
        /// content.
        case full
    }

    /// The queue on which `write` is called.
    public let queue: DispatchQueue
    private let detail: Detail
    private let redaction: Redaction
    private let write: @Sendable (String) -> Void

    /// Makes a monitor.
    ///
    /// - Parameters:
    ///   - detail: how much is written; a line by default.
    ///   - redaction: the secrets to remove, in addition to the values of the fields in the session's
    ///     `TransportOptions.credentialFieldNames`.
    ///   - queue: the queue to write on; lines are in order only if it is serial. `nil`, the default, makes a serial
    ///     queue.
    ///   - write: takes one entry, without a line end after it; standard error by default.
    @preconcurrency
    public init(
        detail: Detail = .line, redaction: Redaction = .standard, queue: DispatchQueue? = nil,
        write: @escaping @Sendable (String) -> Void = LoggingMonitor.writeToStandardError
    ) {
        self.detail = detail
        self.redaction = redaction
        self.queue = queue ?? DispatchQueue(label: "fireweed.logging")
        self.write = write
    }

    /// Writes a text and a line end to standard error in one `write(2)`, so that lines of several threads do not mix;
    /// ignores errors.
    public static let writeToStandardError: @Sendable (String) -> Void = { text in
        let bytes = Array((text + "\n").utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    // MARK: Events

    /// The events that are logged.
    public var events: MonitoredEvents { [.requestMaking, .taskEnds] }

    /// Writes that a request was not sent.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) {
        write(ExchangeText.visible("not sent: \(ExchangeText.line(of: error))"))
    }

    /// Writes that a request was not sent.
    public func request(_ request: Request, didFailToAdaptURLRequest initial: URLRequest, withError error: AFError) {
        let target = "\(initial.httpMethod ?? "GET") \(redaction.text(ofURL: initial.url?.absoluteString ?? ""))"
        write(ExchangeText.visible("\(target) not sent: \(ExchangeText.line(of: error))"))
    }

    /// Writes the outcome of an attempt.
    public func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        let text = ExchangeText(redaction: redaction.hiding(fields: request.core.settings.ownHiddenFieldNames))
        let metrics = task.metrics
        var lines = [text.summary(of: task, metrics: metrics, error: error)]
        if detail == .full, let metrics { lines += metrics.transactionMetrics.flatMap(text.lines) }
        write(lines.joined(separator: "\n"))
    }
}

/// Formats exchanges as text for a log.
struct ExchangeText {
    let redaction: Redaction

    func summary(of task: URLSessionTask, metrics: TaskMetrics?, error: AFError?) -> String {
        let request = task.originalRequest
        let target = redaction.text(ofURL: request?.url?.absoluteString ?? "")
        let status = (task.response as? HTTPURLResponse)?.statusCode
        var text = "\(request?.httpMethod ?? "GET") \(target) →"
        if let status { text += " \(status)" }
        if let metrics {
            let byteCount = metrics.transactionMetrics.reduce(0) { $0 + $1.countOfResponseBodyBytesReceived }
            text += "\(status == nil ? "" : ",") \(Self.bytes(byteCount))"
            text += " in \(Self.milliseconds(metrics.taskInterval.duration))"
            if metrics.redirectCount > 0 { text += ", \(metrics.redirectCount) redirected" }
        }
        if let error { text += ", failed: \(Self.line(of: error))" }
        return Self.visible(text)
    }

    func lines(of transaction: TransactionMetrics) -> [String] {
        var lines = ["  > \(transaction.method) \(redaction.text(ofURL: transaction.url.absoluteString))"]
        lines += transaction.requestFields.map { "  > \($0.name): \(redaction.value($0.value, ofField: $0.name))" }
        if let status = transaction.statusCode {
            lines.append("  < \(transaction.networkProtocolName ?? "http") \(status)")
        }
        lines += transaction.responseFields.map { "  < \($0.name): \(redaction.value($0.value, ofField: $0.name))" }
        var connection = transaction.isReusedConnection ? "reused connection" : "new connection"
        if let address = transaction.remoteAddress { connection += " to \(address):\(transaction.remotePort ?? 0)" }
        if let version = transaction.negotiatedTLSProtocolVersion { connection += ", \(version)" }
        lines.append("  * \(connection)")
        let timings = ExchangeTimings(transaction)
        let phases = [
            ("blocked", timings.blocked), ("name", timings.dns), ("connect", timings.connect), ("TLS", timings.ssl),
            ("send", timings.send), ("wait", timings.wait), ("receive", timings.receive),
        ]
        let shown = phases.filter { $0.1 > 0 }.map { "\($0.0) \(Self.milliseconds($0.1 / 1000))" }
        if !shown.isEmpty { lines.append("  * \(shown.joined(separator: ", "))") }
        return lines.map(Self.visible)
    }

    static func line(of error: AFError) -> String {
        (error.errorDescription ?? "\(error)").split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    static func bytes(_ count: Int64) -> String {
        switch count {
        case ..<1000: "\(count) B"
        case ..<1_000_000: String(format: "%.1f kB", Double(count) / 1e3)
        default: String(format: "%.1f MB", Double(count) / 1e6)
        }
    }

    static func milliseconds(_ seconds: TimeInterval) -> String {
        String(format: seconds < 0.01 ? "%.1f ms" : "%.0f ms", seconds * 1000)
    }

    /// The text without its control characters.
    static func visible(_ text: String) -> String {
        let isVisible = { (scalar: Unicode.Scalar) in
            scalar.value >= 0x20 && scalar.value != 0x7F && !(0x80..<0xA0).contains(scalar.value)
        }
        guard !text.unicodeScalars.allSatisfy(isVisible) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.filter(isVisible)))
    }
}
