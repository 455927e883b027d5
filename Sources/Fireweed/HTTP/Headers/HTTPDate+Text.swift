// The form in which dates are written (RFC 9110 §5.6.7).

package import Foundation

extension HTTPDate {
    /// Returns the date as `Sun, 06 Nov 1994 08:49:37 GMT`, independent of the process's locale; a date outside the
    /// years 1970 to 9999 becomes the nearest date inside.
    package static func text(of date: Date) -> String {
        let time = date.timeIntervalSince1970.rounded(.down)
        let seconds = time.isNaN ? 0 : Int(min(max(time, 0), 253_402_300_799))
        let (days, rest) = (seconds / 86_400, seconds % 86_400)
        let (year, month, day) = civil(days)
        let clock = [rest / 3_600, rest / 60 % 60, rest % 60].map(twoDigits).joined(separator: ":")
        return "\(dayNames[days % 7]), \(twoDigits(day)) \(monthNames[month - 1]) \(year) \(clock) GMT"
    }

    /// Returns year, month and day for a number of days since the first of January 1970.
    ///
    /// The calculation uses eras of 400 years that begin in March, so that the leap day is the last day of its year.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    // The names begin with Thursday, the weekday of 1 January 1970.
    private static let dayNames = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
