// The shared state of one stub transport's transfers.

import Dispatch
import Fireweed

/// The queue on which stubs answer, and the transfers between start and end.
final class StubContext: @unchecked Sendable {
    let queue = DispatchQueue(label: "fireweed.stub")
    let clock: any SessionClock
    let answer: @Sendable (RecordedRequest) -> Result<(MockResponse, RecordedRequest), any Error>
    // SAFETY: the two variables are touched on the serial queue alone.
    /// The transfers between start and end; this dictionary keeps them alive.
    private var running: [ObjectIdentifier: StubTransfer] = [:]
    private var isShutDown = false

    /// The transport for requests that no stub matches; `nil` fails them.
    let fallback: (any Transport)?

    init(answering stubs: Stubs, clock: any SessionClock, fallback: (any Transport)? = nil) {
        self.clock = clock
        self.fallback = fallback
        answer = { stubs.answer(to: $0) }
    }

    func shutDown() {
        queue.async { [self] in
            isShutDown = true
            for transfer in running.values { transfer.end(.cancelled) }
        }
    }

    /// Holds a transfer until its end; false when the transport was shut down.
    func enter(_ transfer: StubTransfer) -> Bool {
        guard !isShutDown else { return false }
        running[ObjectIdentifier(transfer)] = transfer
        return true
    }

    func leave(_ transfer: StubTransfer) {
        running[ObjectIdentifier(transfer)] = nil
    }
}
