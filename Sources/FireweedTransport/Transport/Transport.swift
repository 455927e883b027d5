// The contract between a session and what moves its messages.

/// Moves exchanges: one request message out, one response in.
///
/// ``EngineTransport`` is what sessions have, ``ScriptedTransport`` is for tests. A session asks for
/// `abilities` when it is made, and fails what its transport cannot do. Every method may be called from any thread.
///
/// What every implementation keeps to:
/// - A transfer calls its consumer in this order: interim responses, head, content, end. The end comes exactly once
///   after `TransferControl.start(_:)` or `cancel()`. A control that is dropped before either tells nothing.
/// - Calls to one consumer never overlap. They come on a thread of the transport, and never before the method of the
///   control that causes them has returned.
/// - Content codings that the transport knows are taken off; the head stays as it came, `Content-Encoding` and
///   `Content-Length` of the coded form included.
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

    /// Judges the servers of all later connections by these rules; does nothing by default.
    ///
    /// A session calls it once, before its first transfer, where the transport has the ability `serverTrust`.
    func evaluateServers(with rules: ServerTrustRules)

    /// Makes a transfer, which does nothing until `start(_:)` of its control is called.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - consumer: is notified of the response; the transport keeps it until the transfer's end.
    /// - Returns: the control of the transfer.
    func makeTransfer(of message: consuming RequestMessage, for consumer: any TransferConsumer) -> any TransferControl

    /// Closes connections that no transfer uses; by default it does nothing.
    func closeIdleConnections()

    /// Ends every transfer as cancelled and closes all connections. Later transfers end as cancelled at once.
    ///
    /// A transport whose last reference goes does the same.
    func shutDown()

    /// An executor that runs tasks where this transport reports, so that no thread hop is left; `nil` when there is
    /// none.
    var executor: (any TaskExecutor)? { get }

    /// The options that it was made with; the session takes its own limits from them.
    var options: TransportOptions { get }

    /// The clock of its time-outs, by which the session's own waits and ages go too; ``SystemClock`` by default.
    ///
    /// Read when a session is made. `RequestMessage.deadlineNanoseconds` is a moment of this clock.
    var clock: any SessionClock { get }

    /// The connections to each origin that has any, and the messages that wait for one; empty by default.
    ///
    /// Reading must not wait for the transport's thread.
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
    /// Servers are judged by the session's rules inside the TLS handshake (`Transport.evaluateServers(with:)`).
    ///
    /// A session with a `ServerTrustManager` is invalid on a transport without it: every request fails with
    /// `MissingAbility.serverTrust`.
    public static let serverTrust = TransportAbilities(rawValue: 2)
}

/// Steers one transfer.
///
/// Every method may be called from any thread, at any moment, any number of times. None of them calls the consumer
/// before it returns; what is called inside of a consumer's method takes effect when that method has returned. After a
/// cancel or a discard from there, only the end follows.
public protocol TransferControl: AnyObject, Sendable {
    /// Begins the transfer; later calls do nothing.
    ///
    /// - Parameter flow: what may move from the start; a flow of a higher revision that was set before counts instead.
    func start(_ flow: Flow)

    /// Says which bytes may move.
    ///
    /// Of all flows that the transfer was given, by calls and by its consumer's answers, the one with the highest
    /// revision counts, in whatever order they arrive.
    func setFlow(_ flow: Flow)

    /// Says that the rest of the response is not wanted.
    ///
    /// The consumer gets no more content. The end follows soon, without a failure: when the rest has been read,
    /// or has proved too long to be waited for (64 KiB, or 100 ms), so that its connection is closed. Before the head
    /// it does the same as `cancel()`.
    func discard()

    /// Ends the transfer; its connection is closed, or its stream reset.
    ///
    /// The consumer gets the end with `TransferFailure.cancelled`, unless the transfer had ended already.
    func cancel()
}

/// Receives the events of one transfer, on the transport's thread.
///
/// No method may wait.
public protocol TransferConsumer: AnyObject, Sendable {
    /// An interim response came (RFC 9110 §15.2). Any number of times, before the head; a 101 is a head.
    func transferDidReceiveInterim(_ head: ResponseHead)
    /// A challenge came (401 or 407) and was answered with the message's credentials. Any number of times, before the
    /// head.
    func transferDidAnswerChallenge(_ head: ResponseHead)
    /// The head of the response came. At most once, before any byte of content.
    ///
    /// - Returns: which bytes may move now; no content follows until content may come in. The end may follow.
    func transferDidReceive(_ head: ResponseHead) -> Flow
    /// Decoded content came. It is offered once; what the consumer wants of it, it copies.
    ///
    /// - Returns: which bytes may move now.
    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow
    /// No more content is at hand: the consumer may pass on what it has gathered. Called only for messages with
    /// `wantsReadComplete`.
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
