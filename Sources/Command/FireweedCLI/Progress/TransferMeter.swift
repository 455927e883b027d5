// The display of a download's or an upload's progress on standard error.

import Foundation
import Synchronization

/// Draws the bar at most ten times a second.
final class TransferMeter: Sendable {
    private struct State {
        var lastDrawn: ContinuousClock.Instant?
        var hasEnded = false
        var base: Int64?
    }

    private let start = ContinuousClock.now
    private let state = Mutex(State())
    private let leastTotal: Int64

    /// Makes a meter; a transfer of fewer than `leastTotal` bytes gets no bar, and an unknown length counts as 0 bytes.
    init(leastTotal: Int64 = 0) {
        self.leastTotal = leastTotal
    }

    /// Notes the bytes that existed before the transfer, which the rate leaves out.
    func begin(at base: Int64) {
        state.withLock { $0.base = base }
    }

    func show(_ progress: Progress) {
        let now = ContinuousClock.now
        state.withLock { state in
            if state.hasEnded || max(0, progress.totalUnitCount) < leastTotal { return }
            let isComplete = progress.totalUnitCount > 0 && progress.completedUnitCount >= progress.totalUnitCount
            if let last = state.lastDrawn, now - last < .milliseconds(100), !isComplete { return }
            state.lastDrawn = now
            let (seconds, attoseconds) = (now - start).components
            let total = progress.totalUnitCount > 0 ? progress.totalUnitCount : nil
            let bar = ProgressBar(
                completed: progress.completedUnitCount, total: total,
                elapsed: Double(seconds) + Double(attoseconds) / 1e18,
                base: state.base ?? 0)
            Terminal.tell("\r\u{1B}[K\(bar.text(width: Terminal.width - 1))")
        }
    }

    /// Ends the line of the bar.
    func end() {
        let wasDrawn = state.withLock { state in
            state.hasEnded = true
            return state.lastDrawn != nil
        }
        if wasDrawn { Terminal.tell("\n") }
    }
}
