// What a round took.

import Foundation
import Glibc

/// The numbers of one round of one client, as its process reports them.
struct Measurement: Codable, Sendable {
    let seconds: Double
    let cpuSeconds: Double
    let peakKibibytes: Int
    /// How far the peak is above what the process had before the work.
    let extraKibibytes: Int
    let count: Int

    var requestsPerSecond: Double { Double(count) / seconds }
    var cpuMicroseconds: Double { cpuSeconds / Double(count) * 1e6 }

    /// Runs the work and measures this process while it does.
    static func measure(count: Int, _ work: () async throws -> Void) async rethrows -> Measurement {
        let start = ContinuousClock.now
        let cpu = cpuSeconds
        let resident = kibibytes("VmRSS:")
        try await work()
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return Measurement(
            seconds: Double(seconds) + Double(attoseconds) / 1e18, cpuSeconds: cpuSeconds - cpu,
            peakKibibytes: kibibytes("VmHWM:"), extraKibibytes: kibibytes("VmHWM:") - resident, count: count)
    }

    private static var cpuSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    private static func kibibytes(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}
