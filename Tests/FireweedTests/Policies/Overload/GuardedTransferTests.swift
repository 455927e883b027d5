// The permits of guarded transfers.

import FireweedTransport
import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import Fireweed

/// Counts permits, and refuses what a test wants refused.
private final class CountingGate: AdmissionGuard {
    struct Counts: Equatable {
        var admitted = 0
        var released = 0
        var heads = 0
    }

    private let state = Mutex(Counts())
    private let decide: @Sendable () -> OverloadError?

    init(refusingWith decide: @escaping @Sendable () -> OverloadError? = { nil }) {
        self.decide = decide
    }

    var counts: Counts { state.withLock { $0 } }

    func admit(_ message: borrowing RequestMessage, at now: UInt64) -> GuardAdmission<Int> {
        if let error = decide() { return .refuse(error) }
        return .admit(
            state.withLock { counts in
                counts.admitted += 1
                return counts.admitted
            })
    }

    func noteHead(_ head: ResponseHead, for permit: Int, clock: any SessionClock) { state.withLock { $0.heads += 1 } }

    func release(_ permit: Int, after end: GuardedEnd, at now: UInt64) { state.withLock { $0.released += 1 } }
}

@Suite("Guarded transfers", .timeLimit(.minutes(TestTimeouts.minutes)))
struct GuardedTransferTests {
    private static let head = ScriptedTransport.Action.head(ResponseHead(status: 200, fields: []))

    /// How a transfer ends.
    enum Ending: CaseIterable {
        case complete
        case failureBeforeHead
        case failureAfterHead
        case cancel
        case cancelAfterHead
        case discardBeforeHead
        case discardAfterHead
        case cancelInsideHead
        case timeout
        case shutDown

        var script: [ScriptedTransport.Action] {
            let failure = ScriptedTransport.Action.failure(
                .exchange(.networkConnectionLost, detail: "", engineCode: 0))
            return switch self {
            case .complete: [head, .content(Data("content".utf8))]
            case .failureBeforeHead: [failure]
            case .failureAfterHead: [head, failure]
            case .cancel, .discardBeforeHead, .timeout, .shutDown: [.stall]
            case .cancelAfterHead, .discardAfterHead, .cancelInsideHead: [head, .stall]
            }
        }

        var hasHead: Bool { script.count > 1 }
    }

    @Test("every admitted transfer releases its permit once, however it ends", arguments: Ending.allCases)
    func endings(ending: Ending) async {
        let gate = CountingGate()
        let transport = GuardedTransport(ScriptedTransport { _ in ending.script }, by: gate)
        for _ in 0..<20 {
            let control = Mutex<(any TransferControl)?>(nil)
            let recorder = EndRecorder { _ in
                if ending == .cancelInsideHead { control.withLock { $0 }?.cancel() }
            }
            let idleTimeout = ending == .timeout ? 0.01 : 0
            let made = transport.makeTransfer(
                of: RequestMessage(url: "http://a.test/", idleTimeout: idleTimeout), for: recorder)
            control.withLock { $0 = made }
            made.start(.undecided)
            if ending.hasHead { await recorder.head() }
            switch ending {
            case .cancel, .cancelAfterHead: made.cancel()
            case .discardBeforeHead, .discardAfterHead: made.discard()
            case .shutDown: transport.shutDown()
            case .complete, .failureBeforeHead, .failureAfterHead, .cancelInsideHead, .timeout: break
            }
            await recorder.end()
            // Whatever is called afterwards changes nothing.
            made.cancel()
            made.start(.undecided)
            made.discard()
            #expect(recorder.endCount == 1)
            control.withLock { $0 = nil }
        }
        #expect(gate.counts == CountingGate.Counts(admitted: 20, released: 20, heads: ending.hasHead ? 20 : 0))
    }

    @Test("before its start a transfer has no permit: dropped, cancelled or discarded, it owes none")
    func unstarted() async {
        let gate = CountingGate()
        let transport = GuardedTransport(ScriptedTransport { _ in [Self.head] }, by: gate)
        let message = RequestMessage(url: "http://a.test/")
        _ = transport.makeTransfer(of: message, for: EndRecorder())
        for stop in [{ $0.cancel() }, { $0.discard() }] as [(any TransferControl) -> Void] {
            let recorder = EndRecorder()
            let control = transport.makeTransfer(of: message, for: recorder)
            stop(control)
            control.start(.undecided)
            #expect(await recorder.end()?.error(failingURL: "") as? URLError != nil)
            #expect(recorder.endCount == 1)
        }
        #expect(gate.counts == CountingGate.Counts())
    }

    @Test("a refusal is the only end, and makes no transfer")
    func refusal() async {
        let error = OverloadError.limitReached(origin: "http://a.test:80", limit: 1)
        let gate = CountingGate { error }
        let sent = Mutex(0)
        let transport = GuardedTransport(
            ScriptedTransport { _ in
                sent.withLock { $0 += 1 }
                return []
            }, by: gate)
        let recorder = EndRecorder()
        let control = transport.makeTransfer(of: RequestMessage(url: "http://a.test/"), for: recorder)
        control.start(.undecided)
        control.cancel()
        #expect(await recorder.end()?.overload == error)
        control.cancel()
        #expect(recorder.endCount == 1)
        #expect(sent.withLock { $0 } == 0)
        #expect(gate.counts == CountingGate.Counts())
    }

    @Test("a cancel while the guard is asked ends the transfer, and releases its permit")
    func cancelledWhileAsked() async {
        let control = Mutex<(any TransferControl)?>(nil)
        let gate = CountingGate {
            control.withLock { $0 }?.cancel()
            return nil
        }
        let transport = GuardedTransport(ScriptedTransport { _ in [.stall] }, by: gate)
        let recorder = EndRecorder()
        let made = transport.makeTransfer(of: RequestMessage(url: "http://a.test/"), for: recorder)
        control.withLock { $0 = made }
        made.start(.undecided)
        #expect(await recorder.end() != nil)
        #expect(gate.counts == CountingGate.Counts(admitted: 1, released: 1))
        control.withLock { $0 = nil }
    }

    @Test("threads that start, cancel and discard at once leave no permit behind")
    func race() async {
        let gate = CountingGate()
        let transport = GuardedTransport(ScriptedTransport { _ in [Self.head, .stall] }, by: gate)
        await withTaskGroup { group in
            for _ in 0..<200 {
                group.addTask {
                    let recorder = EndRecorder()
                    let control = transport.makeTransfer(of: RequestMessage(url: "http://a.test/"), for: recorder)
                    await withTaskGroup { calls in
                        calls.addTask { control.start(.undecided) }
                        calls.addTask { control.start(Flow(.running, revision: 1)) }
                        calls.addTask { control.setFlow(Flow(.running, revision: 2)) }
                        calls.addTask { control.cancel() }
                    }
                    await recorder.end()
                    #expect(recorder.endCount == 1)
                }
            }
        }
        let counts = gate.counts
        #expect(counts.admitted == counts.released)
    }

    @Test("a transfer that has ended keeps neither its consumer nor its base's transfer")
    func lifetime() async {
        let transport = GuardedTransport(ScriptedTransport { _ in [Self.head] }, by: CountingGate())
        weak var consumer: EndRecorder?
        weak var control: (any TransferControl)?
        do {
            let recorder = EndRecorder()
            let made = transport.makeTransfer(of: RequestMessage(url: "http://a.test/"), for: recorder)
            (consumer, control) = (recorder, made)
            made.start(.undecided)
            await recorder.end()
        }
        await eventually("both are released") { consumer == nil && control == nil }
    }
}
