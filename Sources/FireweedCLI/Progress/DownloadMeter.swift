// Shows a download's progress on standard error.

import Foundation
import Synchronization

/// Draws the bar at most ten times a second.
final class DownloadMeter: Sendable {
    private struct State {
        var lastDrawn: ContinuousClock.Instant?
        var hasEnded = false
    }

    private let start = ContinuousClock.now
    private let state = Mutex(State())

    func show(_ progress: Progress) {
        let now = ContinuousClock.now
        state.withLock { state in
            if state.hasEnded { return }
            if let last = state.lastDrawn, now - last < .milliseconds(100),
                progress.completedUnitCount < progress.totalUnitCount
            {
                return
            }
            state.lastDrawn = now
            let (seconds, attoseconds) = (now - start).components
            let total = progress.totalUnitCount > 0 ? progress.totalUnitCount : nil
            let bar = ProgressBar(
                completed: progress.completedUnitCount, total: total,
                elapsed: Double(seconds) + Double(attoseconds) / 1e18)
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
