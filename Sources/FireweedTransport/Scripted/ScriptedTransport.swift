// A transport without a wire, for tests.

public import Foundation

/// Answers messages from a script, to test code that uses a session without a server.
///
/// A transfer's report contains real times. A stalled script ends at the message's idle time-out or deadline, and a
/// script whose consumer pauses it ends at the deadline.
///
/// ```swift
/// let session = Session(transport: ScriptedTransport { message in
///     [.head(ResponseHead(status: 200, fields: [])), .content(Data("hello".utf8))]
/// })
/// ```
public final class ScriptedTransport: Transport {
    /// The events of a script; after the last event, the transfer succeeds unless that event is a failure or a stall.
    public enum Action: Sendable {
        /// An interim response.
        case interim(ResponseHead)
        /// The head of the response.
        case head(ResponseHead)
        /// Content of the response.
        case content(Data)
        /// The end of the transfer, with a failure.
        case failure(TransferFailure)
        /// No further event, until the transfer is cancelled, is discarded or times out.
        case stall
    }

    private let stage: ScriptedStage

    /// Makes a transport; `answer` is called on the transport's own serial queue, once for each message.
    public init(answer: @escaping @Sendable (RequestMessage) -> [Action]) {
        stage = ScriptedStage(answer: answer)
    }

    deinit {
        shutDown()
    }

    /// Makes a transfer that plays the script for a message.
    ///
    /// A message with a WebSocket offer fails with `unsupportedURL`.
    public func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer) -> any TransferControl {
        ScriptedTransfer(message: message, consumer: consumer, stage: stage)
    }

    /// Ends every transfer as cancelled, including transfers that are started later.
    public func shutDown() {
        stage.shutDown()
    }

    /// Always `nil`, since scripts run on a dispatch queue.
    public var executor: (any TaskExecutor)? { nil }
}
