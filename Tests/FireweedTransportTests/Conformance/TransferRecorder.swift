// A consumer that writes down what it is told, and checks the contract.

import Dispatch
import FireweedTransport
import FixtureServer
import Foundation
import Glibc
import Synchronization

/// Writes down the calls of one transfer.
///
/// Each call that the contract forbids is a violation: one that overlaps another, one from inside a control's method,
/// one out of order, one after the end.
final class TransferRecorder: TransferConsumer {
    /// A call; content with the count of bytes that had come by then.
    enum Call: Sendable, Hashable {
        case interim, challenge, head, content(Int), readComplete, sent, end
    }

    /// What was told.
    struct Record: Sendable {
        var interimHeads: [ResponseHead] = []
        var challenges: [ResponseHead] = []
        var head: ResponseHead?
        var content = Data()
        var sent: [(byteCount: Int, total: Int64, expected: Int64?)] = []
        var end: TransferEnd?
        /// The moment of the end, in nanoseconds of the monotonic clock.
        var endNanoseconds: UInt64 = 0
        var violations: [String] = []
    }

    /// Says what may move after a call; the transfer is the one that the call is about.
    typealias Answer = @Sendable (RecordedTransfer, Record) -> Flow

    private struct State {
        var record = Record()
        var isInside = false
        /// Threads that are inside a method of the control.
        var callers: [pthread_t] = []
        weak var transfer: RecordedTransfer?
    }

    /// The calls in their order.
    let calls = EventLog<Call>()
    private let state = Mutex(State())
    private let wantsReadComplete: Bool
    private let afterHead: Answer
    private let afterContent: Answer

    private let whenReleased: @Sendable () -> Void

    init(
        wantsReadComplete: Bool, afterHead: @escaping Answer, afterContent: @escaping Answer,
        whenReleased: @escaping @Sendable () -> Void
    ) {
        self.wantsReadComplete = wantsReadComplete
        self.afterHead = afterHead
        self.afterContent = afterContent
        self.whenReleased = whenReleased
    }

    deinit { whenReleased() }

    /// What was told until now.
    var record: Record { state.withLock { $0.record } }

    func attach(_ transfer: RecordedTransfer) {
        state.withLock { $0.transfer = transfer }
    }

    /// Runs a method of the control, during which this thread must not be called.
    func during(_ method: () -> Void) {
        let thread = pthread_self()
        state.withLock { $0.callers.append(thread) }
        method()
        state.withLock { state in
            if let index = state.callers.lastIndex(of: thread) { state.callers.remove(at: index) }
        }
    }

    // MARK: TransferConsumer

    func transferDidReceiveInterim(_ head: ResponseHead) {
        enter(.interim) { record in
            if record.head != nil { record.violations.append("an interim response came after the head") }
            record.interimHeads.append(head)
        }
        leave(.interim)
    }

    func transferDidAnswerChallenge(_ head: ResponseHead) {
        enter(.challenge) { record in
            if record.head != nil { record.violations.append("a challenge came after the head") }
            record.challenges.append(head)
        }
        leave(.challenge)
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        let said = enter(.head) { record in
            if record.head != nil { record.violations.append("a second head came") }
            record.head = head
        }
        return leave(.head, said, afterHead)
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        let bytes = Data(content.bytes)
        let said = enter(.content(0)) { record in
            if record.head == nil { record.violations.append("content came before the head") }
            if bytes.isEmpty { record.violations.append("content without a byte came") }
            record.content.append(bytes)
        }
        return leave(.content(said.record.content.count), said, afterContent)
    }

    func transferDidCompleteRead() {
        enter(.readComplete) { record in
            if !wantsReadComplete { record.violations.append("the message did not ask for readCompletes") }
        }
        leave(.readComplete)
    }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        enter(.sent) { record in
            if byteCount <= 0 || total < byteCount || total > expected ?? .max {
                record.violations.append("\(byteCount) bytes were sent, \(total) in all of \(expected ?? -1)")
            }
            record.sent.append((byteCount, total, expected))
        }
        leave(.sent)
    }

    func transferDidFinish(_ end: consuming TransferEnd) {
        let end = consume end
        let now = DispatchTime.now().uptimeNanoseconds
        enter(.end) { record in
            record.end = end
            record.endNanoseconds = now
        }
        leave(.end)
    }

    // MARK: What the contract forbids

    private typealias Said = (record: Record, transfer: RecordedTransfer?)

    @discardableResult
    private func enter(_ call: Call, _ note: @Sendable (inout Record) -> Void) -> Said {
        let thread = pthread_self()
        return state.withLock { state in
            if state.isInside { state.record.violations.append("\(call) overlaps another call") }
            state.isInside = true
            if state.callers.contains(thread) {
                state.record.violations.append("\(call) came from inside a method of the control")
            }
            if state.record.end != nil { state.record.violations.append("\(call) came after the end") }
            note(&state.record)
            return (state.record, state.transfer)
        }
    }

    private func leave(_ call: Call) {
        state.withLock { $0.isInside = false }
        calls.note(call)
    }

    private func leave(_ call: Call, _ said: Said, _ answer: Answer) -> Flow {
        let flow = said.transfer.map { answer($0, said.record) } ?? .undecided
        leave(call)
        return flow
    }
}
