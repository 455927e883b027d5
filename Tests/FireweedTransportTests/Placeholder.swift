import Foundation
import FireweedTransport
import Synchronization
import Testing

final class Probe: TransferConsumer {
    let state = Mutex<(head: ResponseHead?, bytes: Int)>((nil, 0))
    let done: @Sendable (Probe, TransferFailure?, TransferReport) -> Void
    init(_ done: @escaping @Sendable (Probe, TransferFailure?, TransferReport) -> Void) { self.done = done }
    func transferDidReceive(_ head: ResponseHead) { state.withLock { $0.head = head } }
    func transferDidReceive(_ bytes: UnsafeRawBufferPointer) -> Intake { state.withLock { $0.bytes += bytes.count }; return .taken }
    func transferDidFinish(_ failure: TransferFailure?, report: TransferReport) { done(self, failure, report) }
}

@Test("smoke") func smoke() async throws {
    let transport = CurlTransport(settings: PoolSettings())
    for url in ["http://127.0.0.1:18080/small", "http://127.0.0.1:18080/small", "http://127.0.0.1:18080/1g", "http://127.0.0.1:1/", "ftp://x/"] {
        let clock = ContinuousClock.now
        let out: String = await withCheckedContinuation { c in
            let probe = Probe { probe, f, r in c.resume(returning: "\(probe.state.withLock { ($0.head?.status, $0.bytes) }) \(String(describing: f)) \(r)") }
            transport.makeTransfer(of: RequestMessage(url: url), for: probe).start()
        }
        print(out, ContinuousClock.now - clock)
    }
}
