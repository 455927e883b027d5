import Synchronization
import Testing

@testable import FireweedTransport

@Suite("Pings and their pongs (RFC 6455 §5.5.2, §5.5.3)")
struct PendingPingsTests {
    private final class Answers: Sendable {
        let list = Mutex<[String]>([])
        func note(_ name: String) -> @Sendable (TransferFailure?) -> Void {
            { failure in self.list.withLock { $0.append(failure == nil ? name : "\(name) failed") } }
        }
        var all: [String] { list.withLock { $0 } }
    }

    @Test("a pong answers its own ping and the ones before it, and no other")
    func answers() {
        let answers = Answers()
        var pings = PendingPings()
        let payloads = ["a", "b", "c"].map { pings.add(answers.note($0)) }
        pings.answer([1, 2, 3])
        pings.answer([UInt8](repeating: 9, count: 8))
        #expect(answers.all.isEmpty)
        pings.answer(payloads[1])
        #expect(answers.all == ["a", "b"])
        pings.answer(payloads[1])
        pings.fail(.cancelled)
        #expect(answers.all == ["a", "b", "c failed"])
    }

    @Test("automatic pings come at their interval, one at a time")
    func automatic() {
        var pings = PendingPings()
        pings.begin(every: 2, now: 1_000_000_000)
        #expect(pings.deadline(isOpen: true) == 3_000_000_000 && pings.deadline(isOpen: false) == nil)
        let payload = pings.addAutomatic(now: 3_000_000_000)
        #expect(payload != nil && pings.isAutomaticPingOpen && pings.deadline(isOpen: true) == 5_000_000_000)
        #expect(pings.addAutomatic(now: 5_000_000_000) == nil)
        payload.map { pings.answer($0) }
        #expect(!pings.isAutomaticPingOpen)
        var none = PendingPings()
        none.begin(every: nil, now: 1)
        #expect(none.deadline(isOpen: true) == nil)
    }
}
