// The seam between the session and the wire.

/// Moves exchanges over the wire, one hop at a time.
///
/// libcurl is one implementation (`CurlTransport`); `ScriptedTransport` is another, for tests.
public protocol Transport: AnyObject, Sendable {
    /// Makes a transfer, which its control's `start` begins.
    ///
    /// The consumer hears of everything on the transport's own thread, in order, and of the end exactly once; nothing comes after
    /// that. Callable from any thread.
    func makeTransfer(of message: consuming RequestMessage, for consumer: any TransferConsumer) -> any TransferControl

    /// Ends every transfer as cancelled and closes all connections. Later transfers end as cancelled at once.
    func shutDown()

    /// An executor that runs tasks where this transport reports, so that no thread hop is left; `nil` when there is none.
    var executor: (any TaskExecutor)? { get }

    /// The options that it was made with; the session takes its own limits from them.
    var options: TransportOptions { get }
}

extension Transport {
    /// The default options.
    public var options: TransportOptions { TransportOptions() }
}

/// Steers a transfer.
///
/// Every method may be called from any thread, at any moment, any number of times.
public protocol TransferControl: AnyObject, Sendable {
    /// Begins the transfer; later calls do nothing.
    func start()
    /// Ends the transfer; its consumer hears `TransferFailure.cancelled` unless it had already ended.
    func cancel()
    /// Stops bytes in both directions until `resume`; the idle time-out stands still.
    func suspend()
    /// Lets bytes move again after `suspend`.
    func resume()
    /// Lets bytes come in again after the consumer answered `.pause`; the refused bytes are offered anew.
    func resumeIntake()
}

/// What a consumer does with bytes that it is offered.
public enum Intake: Sendable {
    /// They are taken; go on.
    case taken
    /// They are not taken; offer them again after `resumeIntake()`.
    case pause
}

/// Hears what happens to one transfer, on the transport's thread.
///
/// No method may wait.
public protocol TransferConsumer: AnyObject, Sendable {
    /// An interim response came (RFC 9110 §15.2). Any number of times, before the head.
    func transferDidReceiveInterim(_ head: ResponseHead)
    /// A challenge came (401 or 407) and was answered with the message's credentials. Any number of times, before the head.
    func transferDidAnswerChallenge(_ head: ResponseHead)
    /// The head of the response came. At most once, before any byte of content.
    func transferDidReceive(_ head: ResponseHead)
    /// Bytes of decoded content came; they are valid during the call only.
    func transferDidReceive(_ bytes: UnsafeRawBufferPointer) -> Intake
    /// No more content is at hand: what was gathered of it may go on. Only for messages that ask for it (`tellsOfLulls`).
    func transferDidReachLull()
    /// Bytes of the request's content were handed to the connection; `total` counts from the start of the content.
    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?)
    /// The transfer ended; `failure` is `nil` when a whole response came. Exactly once, last.
    func transferDidFinish(_ failure: TransferFailure?, report: TransferReport)
}

extension TransferConsumer {
    /// Does nothing.
    public func transferDidAnswerChallenge(_ head: ResponseHead) {}
    /// Does nothing.
    public func transferDidReachLull() {}
    /// Does nothing.
    public func transferDidReceiveInterim(_ head: ResponseHead) {}
    /// Does nothing.
    public func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {}
}
