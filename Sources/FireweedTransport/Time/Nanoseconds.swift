// Times as whole nanoseconds.

extension Duration {
    /// Whole nanoseconds; zero for a negative duration, the largest number for a duration that does not fit.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : product.addingSaturating(UInt64(attoseconds / 1_000_000_000))
    }
}

extension Double {
    /// The whole nanoseconds in this number of seconds, at most those of 31 years; zero for a negative number or NaN.
    package var nanoseconds: UInt64 {
        self > 0 ? UInt64(Swift.min(self, 1e9) * 1e9) : 0
    }
}

extension UInt64 {
    /// The sum, or the largest number if the sum does not fit.
    package func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    /// The seconds between two moments of a monotonic clock; zero when `end` is the earlier one.
    package func seconds(until end: UInt64) -> Double {
        end > self ? Double(end - self) / 1e9 : 0
    }
}
