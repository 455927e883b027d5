// How long something took.

import CLinux
import Foundation
import Glibc

/// Measures from its making on; `ContinuousClock` does so too, by way of attoseconds.
struct Stopwatch {
    private let start = fw_clock_nanoseconds(CLOCK_MONOTONIC)

    /// Seconds since the start.
    var seconds: TimeInterval {
        TimeInterval(fw_clock_nanoseconds(CLOCK_MONOTONIC) - start) / 1_000_000_000
    }
}
