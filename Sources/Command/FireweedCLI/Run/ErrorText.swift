// Error messages of one line, and their exit codes.

import Fireweed
import Foundation

/// The message of a failure, and the exit code of the command.
struct ErrorText {
    let message: String
    let code: ExitCode

    /// Makes the text for an error.
    ///
    /// `invocation` has the time limits, and `metrics` the elapsed time: together they show which limit expired.
    init(_ error: AFError, _ invocation: Invocation? = nil, _ metrics: TaskMetrics? = nil) {
        code = Self.code(of: error)
        if code == .timedOut, let invocation {
            message = Self.timeOut(invocation, metrics)
            return
        }
        if Self.urlError(in: error)?.code == .cannotConnectToHost, let path = invocation?.unixSocket {
            message = "the socket \(path) cannot be connected to"
            return
        }
        if Self.urlError(in: error)?.code == .httpTooManyRedirects, let invocation {
            let count = invocation.maximumRedirectCount ?? 20
            message = "the redirects did not end after \(count) (--max-redirects)"
            return
        }
        var text = error.errorDescription ?? "\(error)"
        // Alamofire's prefixes are for developers: a user of the command knows no `URLSessionTask`.
        for prefix in ["URLSessionTask failed with error: ", "The URLRequest could not be made: "]
        where text.hasPrefix(prefix) {
            text.removeFirst(prefix.count)
        }
        // Replaces Foundation's placeholder for an error without a description.
        if text.contains("Error Domain=") || text.contains("NSURLErrorDomain error"),
            let code = Self.urlError(in: error)?.code
        {
            text = Self.words(for: code)
        }
        // Replaces OpenSSL's message for a reply that is not TLS, and the transport's message for a server that closes
        // the connection during the handshake.
        if text.contains("wrong version number") { text = "the server does not speak TLS there; is http:// meant?" }
        if text.hasPrefix("the TLS handshake with"),
            ["the server closed the connection", "Connection reset by peer"].contains(where: text.hasSuffix)
        {
            text = "the server ended the handshake; perhaps it does not speak TLS there, and http:// is meant"
        }
        // The description has the path of a temporary file, which means nothing to the user.
        if case .downloadedFileMoveFailed(let cause, _, _) = error { text = cause.plainText }
        if code == .tls, let hint = Self.trustHint(for: error, text, invocation) { text += "; \(hint)" }
        // A sign-in may end with a redirect to an app's scheme: the hint says how to see that URL.
        if text.hasPrefix("a redirect leads to") { text += " (--no-follow --headers shows where)" }
        if let option = Self.limitOption(for: error) { text += " (\(option))" }
        message = text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    /// Returns the message that names the expired time limit.
    ///
    /// The elapsed time can be too short, since it begins with the exchange, which a busy machine begins late. If the
    /// elapsed time is shorter than every limit, the message names the shortest limit.
    private static func timeOut(_ invocation: Invocation, _ metrics: TaskMetrics?) -> String {
        let transaction = metrics?.transactionMetrics.last
        let isConnected = transaction.map { $0.connectEndDate != nil || $0.isReusedConnection } ?? true
        var limits: [(limit: Double, text: String)] = []
        if let limit = invocation.timeout { limits = [(limit, "nothing came for \(seconds(limit)) (--timeout)")] }
        if !isConnected, let limit = invocation.connectTimeout, limit < invocation.timeout ?? .infinity {
            limits.insert((limit, "there was no connection after \(seconds(limit)) (--connect-timeout)"), at: 0)
        }
        if let limit = invocation.maximumTime {
            limits.insert((limit - invocation.secondsBeforeSending, wholeTimeOut(limit)), at: 0)
        }
        let elapsed = metrics?.taskInterval.duration ?? 0
        let over = limits.first { elapsed >= $0.limit * 0.99 } ?? limits.min { $0.limit < $1.limit }
        // If no option sets a limit, the kernel's time-out expired.
        guard let over else { return "the other side did not answer in time" }
        return over.text
    }

    /// The message of an expired limit on the whole.
    static func wholeTimeOut(_ limit: Double) -> String { "the whole took longer than \(seconds(limit)) (--max-time)" }

    /// Returns a hint at an option for a failure because of a certificate; `nil` for other failures of TLS.
    private static func trustHint(for error: AFError, _ text: String, _ invocation: Invocation?) -> String? {
        switch urlError(in: error)?.code {
        // The file of `--cacert` cannot be read, so a hint at `--cacert` would not help.
        case .serverCertificateHasUnknownRoot
        where text.contains("cannot be read") && invocation?.authorityFile != nil: nil
        case .serverCertificateHasUnknownRoot:
            "--cacert FILE has another authority trusted, and -k goes on without a check"
        case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateNotYetValid:
            text.contains("--") ? nil : "-k goes on without a check"
        case .clientCertificateRequired, .clientCertificateRejected: "--cert FILE shows a certificate"
        default: nil
        }
    }

    /// Returns the option that changes the limit which ended the exchange; `nil` without such an option.
    private static func limitOption(for error: AFError) -> String? {
        switch urlError(in: error)?.errorUserInfo[NSUnderlyingErrorKey] as? TransferRefusal {
        case .expansion?: "--max-expansion"
        case .headerFields?: "--max-headers"
        case .address?, .interimResponses?, .headerBytes?, .bodyBytes?, .framingBytes?, nil: nil
        }
    }

    private static func seconds(_ value: Double) -> String {
        "\(value == value.rounded() ? String(Int(value)) : String(value)) s"
    }

    private static func words(for code: URLError.Code) -> String {
        switch code {
        case .badURL: "the URL cannot be sent"
        case .unsupportedURL: "the URL has a scheme that cannot be sent"
        case .httpTooManyRedirects: "there were too many redirects (--max-redirects)"
        case .cannotConnectToHost: "no connection could be made"
        case .networkConnectionLost: "the connection was lost"
        case .requestBodyStreamExhausted: "the content has to be sent again, and cannot be read again"
        default: "the exchange failed (error \(code.rawValue))"
        }
    }

    /// Returns the `URLError` that an error is or contains, at any depth.
    private static func urlError(in error: any Error) -> URLError? {
        if let found = error as? URLError { return found }
        return error.asAFError?.underlyingError.flatMap { urlError(in: $0) }
    }

    private static func code(of error: AFError) -> ExitCode {
        if case .serverTrustEvaluationFailed = error { return .tls }
        guard let code = urlError(in: error)?.code else { return .failure }
        switch code {
        case .timedOut: return .timedOut
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRequired,
            .clientCertificateRejected:
            return .tls
        case .unsupportedURL, .cannotWriteToFile, .cannotCreateFile, .cannotOpenFile: return .failure
        default: return .network
        }
    }
}
