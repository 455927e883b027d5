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
    private var report = TransferReport()
    private var isSuspended = false
    private var isIntakeFull = false

    init(
        message: RequestMessage, consumer: any TransferConsumer, queue: DispatchQueue,
        answer: @escaping @Sendable (RequestMessage) -> [ScriptedTransport.Step]
    ) {
        self.message = message
        self.consumer = consumer
        self.queue = queue
        self.answer = answer
    }

    func start() {
        queue.async { [self] in
            guard !hasStarted else { return }
            hasStarted = true
            report.startNanoseconds = Self.nanoseconds
            steps = answer(message)[...]
            play()
        }
    }

    func cancel() {
        queue.async { [self] in end(.cancelled) }
    }

    func suspend() {
        queue.async { [self] in isSuspended = true }
    }

    func resume() {
        queue.async { [self] in
            isSuspended = false
            if hasStarted { play() }
        }
    }

    func resumeIntake() {
        queue.async { [self] in
            isIntakeFull = false
            if hasStarted { play() }
        }
    }

    private func play() {
        while let consumer, !isSuspended, !isIntakeFull {
            guard let step = steps.first else { return end(nil) }
            switch step {
            case .interim(let head): consumer.transferDidReceiveInterim(head)
            case .head(let head):
                report.responseStart = elapsedMicroseconds
                consumer.transferDidReceive(head)
            case .failure(let failure): return end(failure)
            case .content(let data):
                if data.withUnsafeBytes(consumer.transferDidReceive) == .pause {
                    isIntakeFull = true
                    return
                }
                report.responseDecodedByteCount += Int64(data.count)
            }
            steps = steps.dropFirst()
        }
        if message.tellsOfLulls { consumer?.transferDidReachLull() }
    }

    private func end(_ failure: TransferFailure?) {
        guard let consumer else { return }
        self.consumer = nil
        if !hasStarted { report.startNanoseconds = Self.nanoseconds }
        report.total = elapsedMicroseconds
        consumer.transferDidFinish(failure, report: report)
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
