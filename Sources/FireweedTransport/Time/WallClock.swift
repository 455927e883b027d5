// The date as whole nanoseconds.

import CLinux
package import Foundation
import Glibc

/// The machine's date as a number, for reports.
///
/// An `Int64` of nanoseconds holds the years 1677 to 2262: other dates become the nearest of these moments. Durations
/// come from the monotonic clock, never from differences of dates, since the machine's date can be set.
package enum WallClock {
    /// Nanoseconds since 1970.
    package static var nanoseconds: Int64 { date(fw_clock_nanoseconds(CLOCK_REALTIME)) }

    /// A reading of the system's clock as an `Int64`, or the largest one if the reading does not fit.
    static func date(_ nanoseconds: UInt64) -> Int64 { Int64(clamping: nanoseconds) }
}

extension Date {
    /// Nanoseconds since 1970, or the nearest number that fits.
    package var nanosecondsSince1970: Int64 {
        let nanoseconds = timeIntervalSince1970 * 1e9
        if let exact = Int64(exactly: nanoseconds.rounded(.towardZero)) { return exact }
        return nanoseconds < 0 ? .min : .max
    }
}
