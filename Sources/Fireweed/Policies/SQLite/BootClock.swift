// A clock that all processes of a machine share.

#if SQLite
import CLinux
import Foundation
import Glibc

/// The time since the machine started, and an identifier of that start.
///
/// No program can set this time.
///
/// Leases and slots in files use this clock, since a lease by the date would last longer when the date is set back.
/// Entries from before a restart of the machine have another identifier, and count as ended.
enum BootClock {
    /// Nanoseconds since the machine started, including suspended time.
    static var nanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    static var milliseconds: Int { Int(nanoseconds / 1_000_000) }

    /// The kernel's random identifier of this start of the machine; empty if the kernel gives none.
    static let identifier: String = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return (text ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
    }()
}
#endif
