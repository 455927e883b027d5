// Settings of the entries of a session.

#if SwiftLog
public import Fireweed
public import Logging
import ServiceContextModule

/// Settings of the entries that requests write to a `Logger`.
public struct LoggingOptions: Sendable {
    /// The levels of entries; by default nothing that goes well is at `info` or above.
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
        ///   - failure: an attempt without a whole response; `warning` by default.
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
    /// The share of requests that went well at the first attempt and are written, from 0 to 1; 1 by default.
    ///
    /// All other requests are written, with all of their attempts. Which requests are left out depends on their
    /// identities.
    public var successRatio: Double

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - levels: the levels of entries.
    ///   - redaction: removes secrets from URLs.
    ///   - successRatio: the share of requests that went well at the first attempt and are written; 1 by default.
    public init(levels: Levels = Levels(), redaction: Redaction = .standard, successRatio: Double = 1) {
        self.levels = levels
        self.redaction = redaction
        self.successRatio = successRatio
    }
}

extension SessionOptions {
    /// Has an entry for each attempt of each request of the session, in the context of its caller.
    ///
    /// ```swift
    /// let session = Session(options: SessionOptions().logged(to: Logger(label: "client")))
    /// ```
    ///
    /// The messages of entries are constant: `request completed`, `request failed`, `request cancelled`,
    /// `request is retried`, `request not sent`; and for details `message answered`,
    /// `request waits for its rate limit`, `request waits for a route`. All else is metadata, under OpenTelemetry's
    /// names: `http.request.method`, `url.full` without secrets, `url.template`, `server.address`, `server.port`,
    /// `http.response.status_code`, `error.type`, `http.request.resend_count`, `http.response.body.size`,
    /// `network.protocol.version`; and `fireweed.request.id`, `fireweed.duration_ms`, `fireweed.redirects`,
    /// `fireweed.response.source` (`cache`), `fireweed.retries`, `fireweed.wait_ms`.
    ///
    /// The logger's metadata provider runs with the `ServiceContext` that the caller had when the request was made or
    /// resumed. Entries are written where the response is validated: on the awaiting task or the serialisation queue,
    /// not on the transport's thread.
    ///
    /// - Parameters:
    ///   - logger: gets the entries, with its own metadata. A request can have another one
    ///     (`Request.log(to:options:)`).
    ///   - options: levels, secrets and sampling.
    /// - Returns: the options with entries.
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
    /// Has an entry for each attempt of this request, in the context of the caller.
    ///
    /// The entries are those of `SessionOptions.logged(to:options:)`, whose logger gets none for this request. Call it
    /// before the request is resumed.
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
