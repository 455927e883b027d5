// A server-sent event, and the rule for reconnecting.

/// One event of a `text/event-stream` (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event: the value of its `event` field, else `message`.
    public var event: String
    /// The values of its `data` fields, joined by line feeds.
    public var data: String
    /// The last event ID at this event, which a reconnection sends as `Last-Event-ID`; an ID stays in effect until
    /// another event sets one.
    ///
    /// `nil` when no event has set one, or when it was set to the empty string.
    public var id: String?
    /// The reconnection time that this event set with `retry`, if any.
    public var retry: Duration?

    /// Makes an event.
    ///
    /// - Parameters:
    ///   - event: the type; `message` by default.
    ///   - data: the data, whose lines are separated by LF.
    ///   - id: the event's ID; `nil`, the default, for none.
    ///   - retry: the server's time before a reconnection; `nil`, the default, for none.
    public init(event: String = "message", data: String, id: String? = nil, retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}

extension ServerSentEvent {
    /// Whether and when a source of events connects again.
    ///
    /// A source connects again after a response that ended, and after a transient failure of the network; never after
    /// `cancel()`, a status other than 200, or content of another type.
    public struct Reconnection: Sendable, Equatable {
        /// Whether the source connects again.
        public var isEnabled: Bool
        /// The wait before connecting again, until the server's `retry` sets another wait, which is at least 100 ms.
        ///
        /// Default: 3 seconds.
        public var delay: Duration
        /// The longest wait after failed connections; from the second failure in a row on, each failure doubles the
        /// wait.
        ///
        /// Default: 1 minute. A longer delay that the server or `delay` sets is not shortened.
        public var maximumDelay: Duration
        /// The number of failed connections in a row at which the sequence ends with the last error.
        ///
        /// `nil`, the default, sets no limit, as in browsers.
        public var maximumFailureCount: Int?

        /// Makes the rule.
        ///
        /// - Parameters:
        ///   - isEnabled: whether the source connects again; true by default.
        ///   - delay: the wait before connecting again, until the server's `retry` sets another wait; 3 seconds by
        ///     default.
        ///   - maximumDelay: the longest wait; failed connections double the wait up to it. 1 minute by default.
        ///   - maximumFailureCount: after how many failed connections in a row the sequence ends; `nil`, the default,
        ///     for never.
        public init(
            isEnabled: Bool = true, delay: Duration = .seconds(3), maximumDelay: Duration = .seconds(60),
            maximumFailureCount: Int? = nil
        ) {
            self.isEnabled = isEnabled
            self.delay = delay
            self.maximumDelay = maximumDelay
            self.maximumFailureCount = maximumFailureCount
        }

        /// Connects again as WHATWG HTML §9.2 says, for every request method.
        public static let automatic = Reconnection()
        /// Ends with the first connection: normally when its response was complete, otherwise with its error.
        public static let never = Reconnection(isEnabled: false)
    }
}
