// A clock that all processes of a machine share.

#if SQLite
import CLinux  // `timespec` is of CLinux or of Glibc: it depends on the files that are compiled together
import Foundation
import Glibc

/// The time since the machine started, and an identifier of that start.
///
/// No program can set this time.
///
/// Leases and slots in files go by this clock: a date that is set back would make them last for as long as it was set
/// back. What was written before the machine began anew has another name, and counts as over.
enum BootClock {
    /// Nanoseconds since the machine began, times of sleep included.
    static var nanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    static var milliseconds: Int { Int(nanoseconds / 1_000_000) }

    /// The kernel's random name for this run of the machine; empty where the kernel does not give one.
    static let identifier: String = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return (text ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
    }()
}
#endif
