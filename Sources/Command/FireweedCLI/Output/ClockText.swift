// The time of day in a log.

import CLinux
import Glibc

/// The local time of day, without the cost of a `DateFormatter`, which takes milliseconds to make.
enum ClockText {
    /// Returns the time as `HH:mm:ss`, or with milliseconds as `HH:mm:ss.SSS`.
    static func now(hasMilliseconds: Bool = false) -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var parts = tm()
        localtime_r(&time.tv_sec, &parts)
        let text = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { digits(Int($0), 2) }.joined(separator: ":")
        return hasMilliseconds ? "\(text).\(digits(time.tv_nsec / 1_000_000, 3))" : text
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}
