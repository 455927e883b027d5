// A transport without a wire, for tests.

public import Foundation

/// Answers messages from a script; for tests of code that uses a session, without a server.
///
/// A transfer takes real time, from its start to its last step, and its report says so. A script that stalls, or that
/// its consumer stops, runs into the message's time-outs.
///
/// ```swift
/// let session = Session(transport: ScriptedTransport { message in
///     [.head(ResponseHead(status: 200, fields: [])), .content(Data("hello".utf8))]
/// })
/// ```
public final class ScriptedTransport: Transport {
    /// The events for a consumer; the end follows when nothing failed.
    public enum Action: Sendable {
        /// An interim response.
        case interim(ResponseHead)
        /// The head of the response.
        case head(ResponseHead)
        /// Content of the response.
        case content(Data)
        /// The end, with a failure.
        case failure(TransferFailure)
        /// Nothing more, until the transfer is cancelled or its rest discarded.
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

    /// Makes a transfer that plays the script for its message.
    ///
    /// A message with a WebSocket offer fails with `unsupportedURL`.
    public func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer) -> any TransferControl {
        ScriptedTransfer(message: message, consumer: consumer, stage: stage)
    }

    /// Ends every transfer as cancelled, later ones too.
    public func shutDown() {
        stage.shutDown()
    }

    /// None: scripts run on a queue.
    public var executor: (any TaskExecutor)? { nil }
}
