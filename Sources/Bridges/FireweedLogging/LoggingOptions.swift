// Settings for the log entries of a session.

#if SwiftLog
public import Fireweed
public import Logging
import ServiceContextModule

/// Settings for the entries that requests write to a `Logger`.
public struct LoggingOptions: Sendable {
    /// The levels of entries; by default the entries of successes are below `info`.
    public struct Levels: Sendable {
        /// An attempt whose response has a status below 400; `debug` by default.
        public var success: Logger.Level
        /// An attempt whose response has a status from 400 to 499; `notice` by default.
        public var clientError: Logger.Level
        /// An attempt whose response has a status of 500 or more; `warning` by default.
        public var serverError: Logger.Level
        /// An attempt without a whole response, and a request that could not be sent; `warning` by default.
        public var failure: Logger.Level
        /// An attempt that the caller cancelled; `debug` by default.
        public var cancellation: Logger.Level
        /// A request that is retried; `notice` by default.
        public var retry: Logger.Level
        /// The messages of an attempt before its last one, such as redirects, and waits; `trace` by default.
        public var detail: Logger.Level

        /// Makes levels.
        ///
        /// - Parameters:
        ///   - success: an attempt whose response has a status below 400; `debug` by default.
        ///   - clientError: an attempt whose response has a status from 400 to 499; `notice` by default.
        ///   - serverError: an attempt whose response has a status of 500 or more; `warning` by default.
        ///   - failure: an attempt without a whole response, and a request that could not be sent; `warning` by
        ///     default.
        ///   - cancellation: an attempt that the caller cancelled; `debug` by default.
        ///   - retry: a request that is retried; `notice` by default.
        ///   - detail: earlier messages of an attempt, and waits; `trace` by default.
        public init(
            success: Logger.Level = .debug, clientError: Logger.Level = .notice, serverError: Logger.Level = .warning,
            failure: Logger.Level = .warning, cancellation: Logger.Level = .debug, retry: Logger.Level = .notice,
            detail: Logger.Level = .trace
        ) {
            self.success = success
            self.clientError = clientError
            self.serverError = serverError
            self.failure = failure
            self.cancellation = cancellation
            self.retry = retry
            self.detail = detail
        }
    }

    /// The levels of entries.
    public var levels: Levels
    /// Removes secrets from URLs; ``Redaction/standard`` by default.
    public var redaction: Redaction
    /// The share of requests to log, from 0 to 1, among those that succeed at the first attempt; 1 by default.
    ///
    /// All other requests are logged, with all of their attempts. The choice depends on the identity of the request.
    public var successRatio: Double

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - levels: the levels of entries.
    ///   - redaction: removes secrets from URLs.
    ///   - successRatio: the share of requests to log among those that succeed at the first attempt; 1 by default.
    public init(levels: Levels = Levels(), redaction: Redaction = .standard, successRatio: Double = 1) {
        self.levels = levels
        self.redaction = redaction
        self.successRatio = successRatio
    }
}

extension SessionOptions {
    /// Logs each attempt of the session's requests, with the `ServiceContext` of the code that made or resumed the
    /// request.
    ///
    /// ```swift
    /// let session = Session(options: SessionOptions().logged(to: Logger(label: "client")))
    /// ```
    ///
    /// The messages of the entries are constant: `request completed`, `request failed`, `request cancelled`,
    /// `request is retried`, `request not sent`; and for details `message answered`,
    /// `request waits for its rate limit`, `request waits for a route`. All else is metadata, under OpenTelemetry's
    /// names: `http.request.method`, `url.full` without secrets, `url.template`, `server.address`, `server.port`,
    /// `http.response.status_code`, `error.type`, `http.request.resend_count`, `http.response.body.size`,
    /// `network.protocol.version`; and `fireweed.request.id`, `fireweed.duration_ms`, `fireweed.redirects`,
    /// `fireweed.response.source` (`cache` or `none`), `fireweed.retries`, `fireweed.wait_ms`.
    ///
    /// The logger's metadata provider runs with this `ServiceContext`. The entries of attempts are written where the
    /// response is validated: on the awaiting task or the serialisation queue, not on the transport's thread.
    ///
    /// - Parameters:
    ///   - logger: gets the entries, with its own metadata. A request can have another logger
    ///     (`Request.log(to:options:)`).
    ///   - options: levels, secrets and sampling.
    /// - Returns: the options with logging.
    public func logged(to logger: Logger, options: LoggingOptions = LoggingOptions()) -> SessionOptions {
        var logged = self
        let log = RequestLog(logger: logger, options: options, context: nil)
        logged.valueCaptures.append { values in
            values[RequestObservation.self] = log
            values[RequestLog.ContextKey.self] = ServiceContext.current
        }
        return logged
    }
}

extension Request {
    /// Logs each attempt of this request, with the `ServiceContext` captured by the session, else that of this call.
    ///
    /// The entries are those of `SessionOptions.logged(to:options:)`; the session's logger gets none for this request.
    /// Call this method before the request is resumed.
    ///
    /// - Parameters:
    ///   - logger: gets the entries, with its own metadata.
    ///   - options: levels, secrets and sampling.
    /// - Returns: the request.
    @discardableResult
    public func log(to logger: Logger, options: LoggingOptions = LoggingOptions()) -> Self {
        let log = RequestLog(logger: logger, options: options, context: ServiceContext.current)
        return value(log, for: RequestObservation.self)
    }
}
#endif
