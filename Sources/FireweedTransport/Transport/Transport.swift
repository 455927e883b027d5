// The contract between a session and its transport.

/// Transfers request messages to servers, and their responses back.
///
/// ``EngineTransport`` is the default, and ``ScriptedTransport`` is for tests. A session reads `abilities` when it is
/// made; requests that need a missing ability fail. Every method may be called from any thread.
///
/// Rules for every implementation:
/// - A transfer calls its consumer in this order: interim responses, head, content, end. The end comes exactly once
///   after `TransferControl.start(_:)` or `cancel()`. A control that is released before either call reports nothing.
/// - Calls to one consumer never overlap. They come on a thread of the transport, and only after the method of the
///   control that caused them has returned.
/// - Content codings that the transport knows are decoded; the head is unchanged, and keeps `Content-Encoding` and the
///   `Content-Length` of the coded content.
/// - Redirects and responses with status 401 are reported like other responses. The transport answers a proxy's
///   challenge; a transport with a wire also answers challenges with `RequestMessage.credentials`.
/// - A message is sent a second time only if RFC 9110 §9.2.2 allows it; its content then comes from a new reader.
/// - The transport frames the message: it sets `Content-Length`, `Transfer-Encoding`, `Host` and the fields of the
///   connection, and checks these fields in the message.
public protocol Transport: AnyObject, Sendable {
    /// The optional abilities of the transport; none by default.
    ///
    /// Read when a session is made.
    var abilities: TransportAbilities { get }

    /// Sets the rules that evaluate the servers of all later connections; does nothing by default.
    ///
    /// A session calls this method once, before its first transfer, if the transport has the ability `serverTrust`.
    func evaluateServers(with rules: ServerTrustRules)

    /// Makes a transfer, which does nothing until `start(_:)` is called on its control.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - consumer: receives the events of the transfer; the transport retains it until the transfer's end.
    /// - Returns: the control of the transfer.
    func makeTransfer(of message: consuming RequestMessage, for consumer: any TransferConsumer) -> any TransferControl

    /// Closes connections that no transfer uses; does nothing by default.
    func closeIdleConnections()

    /// Ends every transfer as cancelled and closes all connections. Later transfers end as cancelled at once.
    ///
    /// A transport also does this when its last reference is released.
    func shutDown()

    /// An executor that runs tasks on the thread on which this transport reports, to save a thread hop; `nil` for none.
    var executor: (any TaskExecutor)? { get }

    /// The transport's options, from which the session also reads its own limits.
    var options: TransportOptions { get }

    /// The clock of the transport's time-outs, and of the session's delays and ages; ``SystemClock`` by default.
    ///
    /// Read when a session is made. `RequestMessage.deadlineNanoseconds` is a time of this clock.
    var clock: any SessionClock { get }

    /// The connections and the waiting messages of each origin that has any; empty by default.
    ///
    /// Reading this property must not wait for the transport's thread.
    var statistics: [OriginStatistics] { get }
}

extension Transport {
    /// No abilities.
    public var abilities: TransportAbilities { [] }
    /// The default options.
    public var options: TransportOptions { TransportOptions() }
    /// The system clock.
    public var clock: any SessionClock { SystemClock() }
    /// No statistics.
    public var statistics: [OriginStatistics] { [] }

    /// Does nothing.
    public func evaluateServers(with rules: ServerTrustRules) {}
    /// Does nothing.
    public func closeIdleConnections() {}
}

/// The optional abilities of a transport.
public struct TransportAbilities: OptionSet, Sendable, Hashable {
    /// The bits of the abilities.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A message with a ``WebSocketOffer`` opens a WebSocket; without this ability, it fails with
    /// `MissingAbility.webSockets`.
    public static let webSockets = TransportAbilities(rawValue: 1)
    /// The transport applies the session's trust rules inside the TLS handshake (`Transport.evaluateServers(with:)`).
    ///
    /// A session with a `ServerTrustManager` is invalid on a transport without this ability: every request fails with
    /// `AFError.sessionInvalidated(error:)`, which contains `MissingAbility.serverTrust`.
    public static let serverTrust = TransportAbilities(rawValue: 2)
}

/// Controls one transfer.
///
/// Every method may be called from any thread, at any time, any number of times. No method calls the consumer before it
/// returns. Calls made inside a consumer's method take effect when that method returns; after a cancel or a discard
/// made there, only the end follows.
public protocol TransferControl: AnyObject, Sendable {
    /// Starts the transfer; later calls do nothing.
    ///
    /// - Parameter flow: the initial flow; a flow with a higher revision that was set earlier takes precedence.
    func start(_ flow: Flow)

    /// Sets which bytes may be sent and received.
    ///
    /// Of all flows from calls and from the consumer's return values, the one with the highest revision applies,
    /// whatever the order in which they arrive.
    func setFlow(_ flow: Flow)

    /// Discards the rest of the response.
    ///
    /// The consumer gets no more content. The end follows soon, without a failure: when the rest has been read, or when
    /// the rest exceeds a limit (64 KiB or 100 ms). In the second case the connection is closed, or the stream reset.
    /// Before the head, this is the same as `cancel()`.
    func discard()

    /// Cancels the transfer; closes its connection, or resets its stream.
    ///
    /// The consumer gets the end with `TransferFailure.cancelled`, unless the transfer has already ended.
    func cancel()
}

/// Receives the events of one transfer, on the transport's thread.
///
/// No method may block.
public protocol TransferConsumer: AnyObject, Sendable {
    /// An interim response arrived (RFC 9110 §15.2); called any number of times, before the head, but not for a 101.
    func transferDidReceiveInterim(_ head: ResponseHead)
    /// A challenge (401 or 407) arrived and was answered with the message's credentials.
    ///
    /// Called any number of times, before the head.
    func transferDidAnswerChallenge(_ head: ResponseHead)
    /// The head of the response arrived; called at most once, before any content.
    ///
    /// - Returns: the new flow; while it forbids receiving, no content follows, but the end may follow.
    func transferDidReceive(_ head: ResponseHead) -> Flow
    /// Decoded content arrived; the consumer must copy bytes that it needs after the call.
    ///
    /// - Returns: the new flow.
    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow
    /// All content received so far was delivered, so the consumer can pass on what it has buffered.
    ///
    /// Called only for messages with `wantsReadComplete`.
    func transferDidCompleteRead()
    /// Bytes of the request's content were passed to the connection.
    ///
    /// - Parameters:
    ///   - byteCount: the number of bytes since the last call.
    ///   - total: the number of bytes since the start of the content.
    ///   - expected: the length of the content in bytes; `nil` if it is unknown.
    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?)
    /// The transfer ended; called exactly once, as the last call.
    func transferDidFinish(_ end: consuming TransferEnd)
}

extension TransferConsumer {
    /// Does nothing.
    public func transferDidAnswerChallenge(_ head: ResponseHead) {}
    /// Does nothing.
    public func transferDidCompleteRead() {}
    /// Does nothing.
    public func transferDidReceiveInterim(_ head: ResponseHead) {}
    /// Does nothing.
    public func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {}
}
