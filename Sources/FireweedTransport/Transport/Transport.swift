// The contract between a session and its transport.

/// Moves exchanges: one request message out, one response in.
///
/// ``EngineTransport`` is the default, ``ScriptedTransport`` is for tests. A session reads `abilities` when it is made,
/// and requests that need a missing ability fail. Every method may be called from any thread.
///
/// Rules for every implementation:
/// - A transfer calls its consumer in this order: interim responses, head, content, end. The end comes exactly once
///   after `TransferControl.start(_:)` or `cancel()`. A control that is released before either call reports nothing.
/// - Calls to one consumer never overlap. They come on a thread of the transport, and never before the method of the
///   control that causes them has returned.
/// - Content codings that the transport knows are decoded; the head is unchanged, and keeps `Content-Encoding` and the
///   `Content-Length` of the coded content.
/// - A response with status 401 is a head like any other, and so is a redirect. A proxy's challenge is answered by the
///   transport; a transport with a wire also answers challenges with `RequestMessage.credentials`.
/// - A message is sent a second time only when RFC 9110 §9.2.2 allows it; content then comes from a new reader.
/// - The transport frames the message: it sets `Content-Length`, `Transfer-Encoding`, `Host` and the fields of the
///   connection, and checks those that the message has.
public protocol Transport: AnyObject, Sendable {
    /// What the transport can do besides moving messages; nothing by default.
    ///
    /// Read when a session is made.
    var abilities: TransportAbilities { get }

    /// Uses these rules for the servers of all later connections; does nothing by default.
    ///
    /// A session calls this method once, before its first transfer, if the transport has the ability `serverTrust`.
    func evaluateServers(with rules: ServerTrustRules)

    /// Makes a transfer, which does nothing until `start(_:)` of its control is called.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - consumer: is notified of the response; the transport keeps it until the transfer's end.
    /// - Returns: the control of the transfer.
    func makeTransfer(of message: consuming RequestMessage, for consumer: any TransferConsumer) -> any TransferControl

    /// Closes connections that no transfer uses; does nothing by default.
    func closeIdleConnections()

    /// Ends every transfer as cancelled and closes all connections. Later transfers end as cancelled at once.
    ///
    /// A transport also does this when its last reference is released.
    func shutDown()

    /// An executor that runs tasks on the thread on which this transport reports, which saves a thread hop; `nil` for
    /// none.
    var executor: (any TaskExecutor)? { get }

    /// The options of the transport, from which the session takes its own limits.
    var options: TransportOptions { get }

    /// The clock of the transport's time-outs and of the session's delays and ages; ``SystemClock`` by default.
    ///
    /// Read when a session is made. `RequestMessage.deadlineNanoseconds` is a moment of this clock.
    var clock: any SessionClock { get }

    /// The connections to each origin that has any, and the messages that wait for one; empty by default.
    ///
    /// Reading them must not wait for the transport's thread.
    var statistics: [OriginStatistics] { get }
}

extension Transport {
    /// Nothing.
    public var abilities: TransportAbilities { [] }
    /// The default options.
    public var options: TransportOptions { TransportOptions() }
    /// The machine's clock.
    public var clock: any SessionClock { SystemClock() }
    /// None.
    public var statistics: [OriginStatistics] { [] }

    /// Does nothing.
    public func evaluateServers(with rules: ServerTrustRules) {}
    /// Does nothing.
    public func closeIdleConnections() {}
}

/// The abilities of a transport besides moving messages.
public struct TransportAbilities: OptionSet, Sendable, Hashable {
    /// The bits of the abilities.
    public let rawValue: UInt8

    /// Makes a set of bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A message with a ``WebSocketOffer`` opens a WebSocket; without the ability such a request fails with
    /// `MissingAbility.webSockets`.
    public static let webSockets = TransportAbilities(rawValue: 1)
    /// The transport applies the session's trust rules inside the TLS handshake (`Transport.evaluateServers(with:)`).
    ///
    /// A session with a `ServerTrustManager` is invalid on a transport without this ability: every request fails with
    /// `MissingAbility.serverTrust`.
    public static let serverTrust = TransportAbilities(rawValue: 2)
}

/// Controls one transfer.
///
/// Every method may be called from any thread, at any moment, any number of times. None of them calls the consumer
/// before it returns. Calls made inside a consumer's method take effect when that method returns; after a cancel or a
/// discard made there, only the end follows.
public protocol TransferControl: AnyObject, Sendable {
    /// Begins the transfer; later calls do nothing.
    ///
    /// - Parameter flow: which bytes may move from the start; a flow of a higher revision that was set before takes
    ///   precedence.
    func start(_ flow: Flow)

    /// Sets which bytes may move.
    ///
    /// Of all flows from calls and from the consumer's return values, the flow with the highest revision is used, in
    /// whatever order they arrive.
    func setFlow(_ flow: Flow)

    /// Discards the rest of the response.
    ///
    /// The consumer gets no more content. The end follows soon, without a failure: when the rest has been read, or has
    /// exceeded a limit (64 KiB or 100 ms), in which case its connection is closed or its stream reset. Before the
    /// head, this is the same as `cancel()`.
    func discard()

    /// Ends the transfer; its connection is closed, or its stream reset.
    ///
    /// The consumer gets the end with `TransferFailure.cancelled`, unless the transfer has already ended.
    func cancel()
}

/// Receives the events of one transfer, on the transport's thread.
///
/// No method may block.
public protocol TransferConsumer: AnyObject, Sendable {
    /// An interim response came (RFC 9110 §15.2). Any number of times, before the head; a 101 is a head.
    func transferDidReceiveInterim(_ head: ResponseHead)
    /// A challenge came (401 or 407) and was answered with the message's credentials. Any number of times, before the
    /// head.
    func transferDidAnswerChallenge(_ head: ResponseHead)
    /// The head of the response came. At most once, before any byte of content.
    ///
    /// - Returns: which bytes may move now; no content follows while the flow forbids it, but the end may follow.
    func transferDidReceive(_ head: ResponseHead) -> Flow
    /// Decoded content came; the consumer copies the bytes that it needs after the call.
    ///
    /// - Returns: which bytes may move now.
    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow
    /// All content received so far was delivered: the consumer may pass on content that it has buffered. Called only
    /// for messages with `wantsReadComplete`.
    func transferDidCompleteRead()
    /// Bytes of the request's content were handed to the connection.
    ///
    /// - Parameters:
    ///   - byteCount: the bytes since the last call.
    ///   - total: the bytes from the start of the content.
    ///   - expected: the length of the content in bytes; `nil` where it is not known.
    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?)
    /// The transfer ended. Exactly once, last.
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
