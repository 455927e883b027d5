// The figures of one round.

import Foundation
import Glibc

/// The figures of one round of one client, which the round's process reports as JSON.
struct Measurement: Codable, Sendable {
    let seconds: Double
    let cpuSeconds: Double
    let peakKibibytes: Int
    /// The peak of resident memory minus the resident memory before the work.
    let extraKibibytes: Int
    let count: Int
    /// The number of threads of the process at the end of the work.
    let threads: Int

    var requestsPerSecond: Double { Double(count) / seconds }
    var cpuMicroseconds: Double { cpuSeconds / Double(count) * 1e6 }

    /// Runs the work and measures it; with `ofChildren`, the CPU time is that of the child processes that the work ran.
    static func measure(count: Int, ofChildren: Bool = false, _ work: () async throws -> Void) async rethrows
        -> Measurement
    {
        let start = ContinuousClock.now
        let who = ofChildren ? RUSAGE_CHILDREN : RUSAGE_SELF
        let cpu = cpuSeconds(of: who)
        let resident = number("VmRSS:")
        try await work()
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return Measurement(
            seconds: Double(seconds) + Double(attoseconds) / 1e18, cpuSeconds: cpuSeconds(of: who) - cpu,
            peakKibibytes: number("VmHWM:"), extraKibibytes: number("VmHWM:") - resident, count: count,
            threads: number("Threads:"))
    }

    private static func cpuSeconds(of who: __rusage_who) -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(who.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    private static func number(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}
