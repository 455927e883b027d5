// The date of a `Last-Modified`, to be compared with that of its response.

import Foundation

/// An HTTP-date in its preferred form (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum ValidatorDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970; `nil` for text that is no such date.
    static func date(from text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[0].count == 4, words[0].hasSuffix(","), words[5] == "GMT",
            let day = Int64(words[1]), (1...31).contains(day), let month = months.firstIndex(of: String(words[2])),
            let year = Int64(words[3]), (1583...9999).contains(year)
        else { return nil }
        let time = words[4].split(separator: ":").map { Int64($0) ?? -1 }
        guard time.count == 3, (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2]) else {
            return nil
        }
        return days(year: year, month: Int64(month) + 1, day: day) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
    }

    /// Days from 1970-01-01 to a day of the Gregorian calendar, counting years from March so that a leap day comes last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
