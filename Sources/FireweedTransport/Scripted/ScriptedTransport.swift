// A transport without a wire, for tests.

import Dispatch
public import Foundation

/// Answers messages from a script; for tests of code that uses a session, without a server.
///
/// A transfer takes real time, from its start to its last step, and its report says so.
///
/// ```swift
/// let session = Session(transport: ScriptedTransport { message in
///     [.head(ResponseHead(status: 200, fields: [])), .content(Data("hello".utf8))]
/// })
/// ```
public final class ScriptedTransport: Transport {
    /// What a consumer hears of; the end follows by itself when nothing failed.
    public enum Step: Sendable {
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

    private let answer: @Sendable (RequestMessage) -> [Step]
    private let queue = DispatchQueue(label: "fireweed.scripted")

    /// Makes a transport; `answer` is called on the transport's own serial queue, once for each message.
    public init(answer: @escaping @Sendable (RequestMessage) -> [Step]) {
        self.answer = answer
    }

    /// Makes a transfer that plays the script for its message.
    public func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer) -> any TransferControl {
        ScriptedTransfer(message: message, consumer: consumer, queue: queue, answer: answer)
    }

    /// Does nothing: there is no connection to close.
    ///
    /// Transfers that wait are ended by their owner's cancel.
    public func shutDown() {}

    /// None: scripts run on a queue.
    public var executor: (any TaskExecutor)? { nil }
}

/// One script as it is played.
private final class ScriptedTransfer: TransferControl, @unchecked Sendable {
    private let message: RequestMessage
    private let queue: DispatchQueue
    private let answer: @Sendable (RequestMessage) -> [ScriptedTransport.Step]

    // SAFETY: everything below is touched on the serial queue alone.
    private var consumer: (any TransferConsumer)?
    private var steps: ArraySlice<ScriptedTransport.Step> = []
    private var hasStarted = false
    private var hasDeliveredHead = false
    private var isStalled = false
    private var report = TransferReport()
    private var flow = Flow.undecided

    init(
        message: RequestMessage, consumer: any TransferConsumer, queue: DispatchQueue,
        answer: @escaping @Sendable (RequestMessage) -> [ScriptedTransport.Step]
    ) {
        self.message = message
        self.consumer = consumer
        self.queue = queue
        self.answer = answer
    }

    func start(_ flow: Flow) {
        queue.async { [self] in
            guard !hasStarted else { return }
            hasStarted = true
            _ = self.flow.follow(flow)
            report.startNanoseconds = Self.nanoseconds
            guard consumer != nil else { return }
            steps = answer(message)[...]
            play()
        }
    }

    func setFlow(_ flow: Flow) {
        queue.async { [self] in
            if self.flow.follow(flow), hasStarted { play() }
        }
    }

    func discard() {
        queue.async { [self] in end(hasDeliveredHead ? nil : .cancelled) }
    }

    func cancel() {
        queue.async { [self] in end(.cancelled) }
    }

    private func play() {
        while let consumer, flow.level == .running, !isStalled {
            guard let step = steps.popFirst() else { return end(nil) }
            switch step {
            case .interim(let head): consumer.transferDidReceiveInterim(head)
            case .head(let head):
                report.responseStart = elapsedMicroseconds
                hasDeliveredHead = true
                _ = flow.follow(consumer.transferDidReceive(head))
            case .failure(let failure): return end(failure)
            case .stall: isStalled = true
            case .content(let data):
                report.responseDecodedByteCount += Int64(data.count)
                let answer = data.withUnsafeBytes { consumer.transferDidReceive(ContentBytes($0)) }
                _ = flow.follow(answer)
            }
        }
        if message.tellsOfLulls { consumer?.transferDidReachLull() }
    }

    private func end(_ failure: TransferFailure?) {
        guard let consumer else { return }
        self.consumer = nil
        if report.startNanoseconds == 0 { report.startNanoseconds = Self.nanoseconds }
        report.total = elapsedMicroseconds
        consumer.transferDidFinish(TransferEnd(failure, report: report))
    }

    /// At least 1: in a report, 0 means that something did not happen.
    private var elapsedMicroseconds: Int64 {
        max(1, (Self.nanoseconds - report.startNanoseconds) / 1000)
    }

    /// Nanoseconds since 1970.
    private static var nanoseconds: Int64 {
        Int64(Date().timeIntervalSince1970 * 1e9)
    }
}
