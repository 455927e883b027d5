// An event that a server sent, and what a client does when the connection ends.

/// One event of a `text/event-stream` (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event: what its `event` field says, else `message`.
    public var event: String
    /// The values of its `data` fields, joined by line feeds.
    public var data: String
    /// The last event ID at this event, which a reconnection sends as `Last-Event-ID`; it stays until an event sets
    /// another one.
    ///
    /// `nil` when there is none, or when it was set to nothing.
    public var id: String?
    /// The reconnection time that came with this event, if one did.
    public var retry: Duration?

    /// Makes an event.
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
    /// It does after a response that ended, and after a failure of the network that may pass; never after `cancel()`, a
    /// status other than 200, or content of another type.
    public struct Reconnection: Sendable, Equatable {
        /// Whether it connects again at all.
        public var isEnabled: Bool
        /// How long it waits, until the server's `retry` says otherwise.
        ///
        /// Default: 3 seconds.
        public var delay: Duration
        /// The longest wait after connections that failed one after the other, each of which doubles it.
        ///
        /// Default: 1 minute. A longer delay, of the server or of `delay`, is kept as it is.
        public var maximumDelay: Duration
        /// After so many failed connections in a row the sequence ends with the last one's error.
        ///
        /// `nil`, the default, continues for ever, as browsers do.
        public var maximumFailureCount: Int?

        /// Makes the rule.
        public init(
            isEnabled: Bool = true, delay: Duration = .seconds(3), maximumDelay: Duration = .seconds(60),
            maximumFailureCount: Int? = nil
        ) {
            self.isEnabled = isEnabled
            self.delay = delay
            self.maximumDelay = maximumDelay
            self.maximumFailureCount = maximumFailureCount
        }

        /// Connects again as WHATWG HTML §9.2 says, whatever the request's method is.
        public static let automatic = Reconnection()
        /// Ends with the first connection: normally when the response was whole, with its error otherwise.
        public static let never = Reconnection(isEnabled: false)
    }
}
