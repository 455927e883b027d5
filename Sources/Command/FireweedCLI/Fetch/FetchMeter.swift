// The progress bar of `fireweed fetch`.

/// The progress of a run.
struct FetchProgress: Equatable {
    /// Items of the list; `nil` if the number is known only at the end.
    var total: Int?
    /// Finished items, including those of earlier runs.
    var finished = 0
    var earlier = 0
    var failed = 0
    var running = 0

    /// Returns the line to draw on the terminal.
    func text(elapsed: Double, width: Int) -> String {
        let rate = elapsed > 0 ? Double(finished - earlier) / elapsed : 0
        var tail = " \(finished)" + (total.map { " of \($0)" } ?? " done")
        if failed > 0 { tail += ", \(failed) failed" }
        tail += ", \(running) running, \(Int(rate.rounded()))/s"
        guard let total, total > 0 else { return String(tail.dropFirst().prefix(width)) }
        if rate > 0, total > finished { tail += ", \(ProgressBar.time(Double(total - finished) / rate)) left" }
        let part = min(1, Double(finished) / Double(total))
        let room = max(0, min(40, width - tail.count - 6))
        let filled = Int(part * Double(room))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: room - filled)
        return String("\(bar) \(Int(part * 100))%\(tail)".prefix(width))
    }
}

/// Draws the bar at most ten times a second.
struct FetchMeter {
    private let start = ContinuousClock.now
    private var lastDrawn: ContinuousClock.Instant?

    mutating func show(_ progress: FetchProgress) {
        let now = ContinuousClock.now
        if let lastDrawn, now - lastDrawn < .milliseconds(100) { return }
        lastDrawn = now
        let (seconds, attoseconds) = (now - start).components
        let elapsed = Double(seconds) + Double(attoseconds) / 1e18
        Terminal.tell("\r\u{1B}[K\(progress.text(elapsed: elapsed, width: Terminal.width - 1))")
    }

    /// Clears the line.
    func end() {
        if lastDrawn != nil { Terminal.tell("\r\u{1B}[K") }
    }
}
