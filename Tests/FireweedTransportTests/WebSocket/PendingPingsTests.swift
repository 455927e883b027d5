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
        var book = PingBook()
        let payloads = ["a", "b", "c"].map { book.add(answers.note($0)) }
        book.answer([1, 2, 3])
        book.answer([UInt8](repeating: 9, count: 8))
        #expect(answers.all.isEmpty)
        book.answer(payloads[1])
        #expect(answers.all == ["a", "b"])
        book.answer(payloads[1])
        book.fail(.cancelled)
        #expect(answers.all == ["a", "b", "c failed"])
    }

    @Test("automatic pings come at their interval, one at a time")
    func automatic() {
        var book = PingBook()
        book.begin(every: 2, now: 1_000_000_000)
        #expect(book.deadline(isOpen: true) == 3_000_000_000 && book.deadline(isOpen: false) == nil)
        let payload = book.addAutomatic(now: 3_000_000_000)
        #expect(payload != nil && book.isAutomaticPingOpen && book.deadline(isOpen: true) == 5_000_000_000)
        #expect(book.addAutomatic(now: 5_000_000_000) == nil)
        payload.map { book.answer($0) }
        #expect(!book.isAutomaticPingOpen)
        var none = PingBook()
        none.begin(every: nil, now: 1)
        #expect(none.deadline(isOpen: true) == nil)
    }
}
