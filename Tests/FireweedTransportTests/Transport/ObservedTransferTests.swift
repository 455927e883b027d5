// The contract of transfers that an observer follows.

import FireweedTransport
import FixtureServer
import Foundation
import Synchronization
import Testing

@Suite("Observed transfers", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ObservedTransferTests {
    private let observer = Recorder()
    private let consumer = Recorder()

    private func transfer(
        on base: any Transport = ScriptedTransport { message in
            [.head(ResponseHead(status: message.method == "PUT" ? 204 : 400, fields: [])), .content(Data("ab".utf8))]
        }
    ) -> ObservedTransfer<Recorder> {
        ObservedTransfer(of: RequestMessage(url: "https://a.test/"), for: consumer, on: base, observer: observer)
    }

    @Test("events come in order, the observer's first, and the message is the one that it has changed")
    func order() async {
        let transfer = transfer()
        transfer.start(.undecided)
        transfer.start(.undecided)
        await consumer.ended()
        #expect(observer.events == ["start", "head 204", "end"])
        #expect(consumer.events == ["head 204", "content 2", "end"])
    }

    @Test("a transfer that is cancelled before its start ends, and is not observed", arguments: [false, true])
    func cancelledEarly(discards: Bool) async {
        let transfer = transfer()
        if discards { transfer.discard() } else { transfer.cancel() }
        transfer.start(.undecided)
        transfer.cancel()
        await consumer.ended()
        #expect(consumer.events == ["end cancelled"] && observer.events.isEmpty)
    }

    @Test("a cancel while the message is being changed ends the transfer of the base")
    func cancelledMeanwhile() async {
        let transfer = transfer(on: ScriptedTransport { _ in [.stall] })
        observer.whenStarting = { transfer.cancel() }
        transfer.start(.undecided)
        await consumer.ended()
        observer.whenStarting = nil
        #expect(observer.events == ["start", "end cancelled"] && consumer.events == ["end cancelled"])
    }

    @Test("an observer that refuses the message ends the transfer, which the base does not make")
    func refused() async {
        let observer = Recorder(refusing: .reported(URLError(.badURL)))
        let transfer = ObservedTransfer(
            of: RequestMessage(url: "https://a.test/"), for: consumer,
            on: ScriptedTransport { _ in
                Issue.record("it was sent")
                return []
            }, observer: observer)
        transfer.start(.undecided)
        transfer.cancel()
        transfer.start(.undecided)
        await consumer.ended()
        #expect(observer.events == ["start"] && consumer.events.count == 1)
        #expect(consumer.events.first?.hasPrefix("end reported") == true)
    }

    @Test("the flow with the highest revision counts, whenever it is set")
    func flow() async {
        let transfer = transfer()
        transfer.setFlow(Flow(.running, revision: 2))
        transfer.start(Flow(.suspended, revision: 1))
        await consumer.ended()
        #expect(consumer.events == ["head 204", "content 2", "end"])
    }

    @Test("nothing holds a transfer that has ended, nor one that is dropped")
    func released() async {
        weak var ended: ObservedTransfer<Recorder>?
        do {
            let transfer = transfer()
            ended = transfer
            transfer.start(.undecided)
            await consumer.ended()
        }
        while ended != nil { await Task.yield() }
        weak var dropped: ObservedTransfer<Recorder>?
        do {
            let transfer = transfer()
            dropped = transfer
        }
        #expect(dropped == nil)
    }
}

/// Keeps what it is notified of, as an observer or as a consumer.
private final class Recorder: TransferObserver, TransferConsumer {
    private let recorded = Mutex<[String]>([])
    private let hook = Mutex<(@Sendable () -> Void)?>(nil)
    private let refusal: Mutex<TransferFailure?>

    init(refusing refusal: TransferFailure? = nil) { self.refusal = Mutex(refusal) }

    var events: [String] { recorded.withLock { $0 } }
    var whenStarting: (@Sendable () -> Void)? {
        get { hook.withLock { $0 } }
        set { hook.withLock { $0 = newValue } }
    }

    func ended() async {
        while events.last?.hasPrefix("end") != true { await Task.yield() }
    }

    private func note(_ event: String) { recorded.withLock { $0.append(event) } }

    func transferWillStart(_ message: inout RequestMessage) -> TransferFailure? {
        message.method = "PUT"
        note("start")
        whenStarting?()
        return refusal.withLock { $0 }
    }

    func transferDidAnswerChallenge(_ head: ResponseHead) { note("challenge") }
    func transferDidReceive(_ head: ResponseHead) { note("head \(head.status)") }

    func transferDidFinish(_ end: borrowing TransferEnd, failure: TransferFailure?) {
        note(failure.map { "end \($0)" } ?? "end")
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        note("head \(head.status)")
        return .undecided
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        note("content \(content.count)")
        return .undecided
    }

    func transferDidFinish(_ end: consuming TransferEnd) { note(end.failure.map { "end \($0)" } ?? "end") }
}
