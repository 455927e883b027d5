// A transfer that plays a script.

import CLinux
import Dispatch
import Foundation
import Glibc

/// The state that the transfers of one scripted transport share.
final class ScriptedStage: @unchecked Sendable {
    let queue = DispatchQueue(label: "fireweed.scripted")
    let answer: @Sendable (RequestMessage) -> [ScriptedTransport.Action]
    // SAFETY: `running` and `isShutDown` are used only on the serial queue.
    /// Keeps the transfers alive from their start to their end.
    private var running: [ObjectIdentifier: ScriptedTransfer] = [:]
    private var isShutDown = false

    init(answer: @escaping @Sendable (RequestMessage) -> [ScriptedTransport.Action]) {
        self.answer = answer
    }

    func shutDown() {
        queue.async { [self] in
            isShutDown = true
            for transfer in running.values { transfer.end(.cancelled) }
        }
    }

    /// Holds a transfer until it ends; false if the transport was shut down.
    func enter(_ transfer: ScriptedTransfer) -> Bool {
        guard !isShutDown else { return false }
        running[ObjectIdentifier(transfer)] = transfer
        return true
    }

    func leave(_ transfer: ScriptedTransfer) {
        running[ObjectIdentifier(transfer)] = nil
    }
}

/// Plays the steps of a script, one after another, on the transport's queue.
final class ScriptedTransfer: TransferControl, @unchecked Sendable {
    private let message: RequestMessage
    private let stage: ScriptedStage

    // SAFETY: everything below is used only on the stage's serial queue.
    private var consumer: (any TransferConsumer)?
    private var steps: ArraySlice<ScriptedTransport.Action> = []
    private var hasStarted = false
    private var hasDeliveredHead = false
    private var isStalled = false
    /// Whether the next step has been enqueued.
    private var isStepDue = false
    /// Whether content was delivered since the last `transferDidCompleteRead()`.
    private var isInBurst = false
    /// Ends the transfer at `due`; `nil` until the first wait with a time limit.
    private var timer: (any DispatchSourceTimer)?
    /// The moment at which the latest wait times out, on the monotonic clock.
    private var due: UInt64 = .max
    private var report = TransferReport()
    private var flow = Flow.undecided
    /// The time of the start on the monotonic clock; 0 before the start.
    private var startNanoseconds: UInt64 = 0

    init(message: RequestMessage, consumer: any TransferConsumer, stage: ScriptedStage) {
        self.message = message
        self.consumer = consumer
        self.stage = stage
    }

    func start(_ flow: Flow) {
        stage.queue.async { [self] in
            guard !hasStarted else { return }
            hasStarted = true
            _ = self.flow.follow(flow)
            report.startNanoseconds = WallClock.nanoseconds
            startNanoseconds = Self.monotonicNanoseconds
            guard consumer != nil else { return }
            guard stage.enter(self) else { return end(.cancelled) }
            guard message.webSocket == nil else { return end(.noWebSockets) }
            report.requestStart = elapsedMicroseconds
            steps = stage.answer(message)[...]
            playOn()
        }
    }

    func setFlow(_ flow: Flow) {
        stage.queue.async { [self] in
            if self.flow.follow(flow), hasStarted { playOn() }
        }
    }

    func discard() {
        stage.queue.async { [self] in end(hasDeliveredHead ? nil : .cancelled) }
    }

    func cancel() {
        stage.queue.async { [self] in end(.cancelled) }
    }

    // MARK: Steps

    /// Enqueues the next step, so that earlier control calls take effect first, also those made inside the consumer's
    /// methods.
    private func playOn() {
        guard consumer != nil, !isStepDue else { return }
        guard mayPlay else { return wait() }
        isStepDue = true
        stage.queue.async { [self] in
            isStepDue = false
            if consumer != nil, mayPlay { playStep() }
            playOn()
        }
    }

    /// Whether the next step may be played: while receiving is paused, only a head or an interim response may.
    private var mayPlay: Bool {
        guard !isStalled else { return false }
        switch (flow.level, steps.first) {
        case (.running, _), (.receivingPaused, .interim), (.receivingPaused, .head): return true
        case (.receivingPaused, _), (.suspended, _): return false
        }
    }

    private func playStep() {
        guard let consumer else { return }
        switch steps.popFirst() {
        case nil: end(nil)
        case .interim(let head): consumer.transferDidReceiveInterim(head)
        case .head(let head):
            report.responseStart = elapsedMicroseconds
            hasDeliveredHead = true
            _ = flow.follow(consumer.transferDidReceive(head))
        case .failure(let failure): end(failure)
        case .stall: isStalled = true
        case .content(let data):
            guard !data.isEmpty else { return }
            isInBurst = true
            report.responseDecodedByteCount += Int64(data.count)
            let answer = data.withUnsafeBytes { consumer.transferDidReceive(ContentBytes($0)) }
            _ = flow.follow(answer)
        }
    }

    // MARK: Time

    /// Called when no step can be played: waits for a flow, a discard, a cancel or a time-out.
    private func wait() {
        if isInBurst, message.wantsReadComplete { consumer?.transferDidCompleteRead() }
        isInBurst = false
        let now = Self.monotonicNanoseconds
        // The idle time-out runs only while the flow allows content.
        let isIdle = flow.level == .running && message.idleTimeout > 0
        let idleEnd = isIdle ? now.addingSaturating(message.idleTimeout.nanoseconds) : .max
        due = min(idleEnd, message.deadlineNanoseconds ?? .max)
        guard due > now else { return end(.timedOut("the script took too long")) }
        guard due < .max || timer != nil else { return }
        let timer = timer ?? makeTimer()
        timer.schedule(deadline: due == .max ? .distantFuture : DispatchTime(uptimeNanoseconds: due))
    }

    private func makeTimer() -> any DispatchSourceTimer {
        let made = DispatchSource.makeTimerSource(queue: stage.queue)
        made.setEventHandler { [weak self] in self?.timeIsOver() }
        made.activate()
        timer = made
        return made
    }

    /// Ends the transfer at `due`; the timer may also fire for an earlier wait.
    private func timeIsOver() {
        if !isStepDue, due <= Self.monotonicNanoseconds { end(.timedOut("the script took too long")) }
    }

    // MARK: The end

    func end(_ failure: TransferFailure?) {
        guard let consumer else { return }
        self.consumer = nil
        timer?.cancel()
        timer = nil
        stage.leave(self)
        if report.startNanoseconds == 0 { report.startNanoseconds = WallClock.nanoseconds }
        report.total = elapsedMicroseconds
        consumer.transferDidFinish(TransferEnd(failure, report: report))
    }

    /// At least 1: in a report, 0 means that an event did not happen.
    private var elapsedMicroseconds: Int64 {
        guard startNanoseconds > 0 else { return 1 }
        return max(1, Int64((Self.monotonicNanoseconds - startNanoseconds) / 1000))
    }

    private static var monotonicNanoseconds: UInt64 { fw_clock_nanoseconds(CLOCK_MONOTONIC) }
}
