// The detection of turns of a loop that take too long, in debug builds.

import CLinux
import Glibc

/// Measures the CPU time that a loop's thread uses in each turn, and names the longest piece of work.
///
/// Debug builds make a watch if the variable `FIREWEED_TURN_LIMIT` is a number of milliseconds: a longer turn is
/// reported on standard error. Users' Swift tasks that run on the loop are not counted. Used on a loop's thread.
final class TurnWatch {
    private let limit: UInt64
    private let clock: () -> UInt64
    private let report: (String) -> Void
    private var start: UInt64
    private var exempt: UInt64 = 0
    private var longest: (name: String, time: UInt64)?

    /// Makes a watch if the environment has a limit; otherwise returns `nil`.
    static func make() -> TurnWatch? {
        guard let text = getenv("FIREWEED_TURN_LIMIT"), let milliseconds = UInt64(String(cString: text)) else {
            return nil
        }
        return TurnWatch(
            limit: milliseconds * 1_000_000, clock: { fw_clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID) },
            report: { line in
                let bytes = Array("\(line)\n".utf8)
                _ = write(STDERR_FILENO, bytes, bytes.count)
            })
    }

    /// Makes a watch that reports turns of more than `limit` nanoseconds.
    init(limit: UInt64, clock: @escaping () -> UInt64, report: @escaping (String) -> Void) {
        (self.limit, self.clock, self.report) = (limit, clock, report)
        start = clock()
    }

    /// Runs a piece of work of the current turn.
    func measure(_ name: @autoclosure () -> String, isExempt: Bool = false, _ work: () -> Void) {
        let begin = clock()
        work()
        let time = clock() - begin
        if isExempt { exempt += time } else if time > longest?.time ?? 0 { longest = (name(), time) }
    }

    /// Ends a turn, and begins the next one.
    func turnEnds() {
        let now = clock()
        let time = now - start - min(exempt, now - start)
        if time > limit {
            let part = longest.map { ", \($0.time / 1_000_000) ms of it in \($0.name)" } ?? ""
            report("fireweed: a turn of an event loop used \(time / 1_000_000) ms of CPU time\(part)")
        }
        (start, exempt, longest) = (now, 0, nil)
    }
}
