// The three forms of a date in a field (RFC 9110 §5.6.7).

package import Foundation

/// Parses dates in fields, whatever locale the process has.
package enum HTTPDate {
    /// The date, or `nil` when the text has none of the three forms.
    ///
    /// Names are compared without case, as a cache should (RFC 9111 §4.2). One space separates two parts; only a day of
    /// one digit in the form of asctime has a second space before it.
    ///
    /// - Parameters:
    ///   - text: the field value, without white space around it.
    ///   - now: decides the century of the form with a two-digit year.
    /// - Returns: the date, or `nil` when the text has none of the three forms.
    package static func parse(_ text: String, now: Date = Date()) -> Date? {
        var words = text.lowercased().split(separator: " ", omittingEmptySubsequences: false)
        switch words.count {
        case 6 where words[2].isEmpty:
            words.remove(at: 2)
            return asctime(words, dayDigitCount: 1)
        case 6: return imfFixdate(words)
        case 4: return rfc850(words, now: now)
        case 5: return asctime(words, dayDigitCount: 2)
        default: return nil
        }
    }

    // `Sun, 06 Nov 1994 08:49:37 GMT`
    private static func imfFixdate(_ words: [Substring]) -> Date? {
        guard words[0].last == ",", weekdays.contains(words[0].dropLast()), words[5] == "gmt", words[1].count == 2,
            words[3].count == 4, let day = number(words[1]), let month = month(words[2]), let year = number(words[3])
        else { return nil }
        return date(year, month, day, time: words[4])
    }

    // `Sunday, 06-Nov-94 08:49:37 GMT`; of the years with these digits, the one within 50 years of the present is
    // meant.
    private static func rfc850(_ words: [Substring], now: Date) -> Date? {
        let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
        guard words[0].last == ",", longWeekdays.contains(words[0].dropLast()), words[3] == "gmt", parts.count == 3,
            parts[0].count == 2, parts[2].count == 2, let day = number(parts[0]), let month = month(parts[1]),
            let digits = number(parts[2]),
            let years = Int(exactly: (now.timeIntervalSince1970 / secondsOfYear).rounded(.towardZero))
        else { return nil }
        let present = years + 1970
        var year = present - present % 100 + digits
        if year > present + 50 { year -= 100 }
        if year < present - 50 { year += 100 }
        return date(year, month, day, time: words[2])
    }

    // `Sun Nov  6 08:49:37 1994`
    private static func asctime(_ words: [Substring], dayDigitCount: Int) -> Date? {
        guard weekdays.contains(words[0]), words[4].count == 4, words[2].count == dayDigitCount,
            let month = month(words[1]), let day = number(words[2]),
            let year = number(words[4])
        else { return nil }
        return date(year, month, day, time: words[3])
    }

    private static func date(_ year: Int, _ month: Int, _ day: Int, time: Substring) -> Date? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ $0.count == 2 }), let hour = number(parts[0]),
            let minute = number(parts[1]), let second = number(parts[2]), hour < 24, minute < 60, second <= 60,
            (1...daysInMonth(month, of: year)).contains(day)
        else { return nil }
        let seconds = ((daysSince1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }

    private static func number(_ digits: Substring) -> Int? {
        guard !digits.isEmpty, digits.count <= 4, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(digits)
    }

    private static func month(_ name: Substring) -> Int? {
        months.firstIndex(of: name).map { $0 + 1 }
    }

    static func daysInMonth(_ month: Int, of year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from the first of January 1970 to a day of the Gregorian calendar; the year is taken to begin in March, so
    /// that the leap day is its last.
    static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let leapDays = shifted / 4 - shifted / 100 + shifted / 400
        return shifted * 365 + leapDays + (monthFromMarch * 153 + 2) / 5 + day - 1 - 719_468
    }

    private static let secondsOfYear = 31_556_952.0
    private static let weekdays: [Substring] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let longWeekdays: [Substring] = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]
    /// The names of the months, in lower case.
    static let months: [Substring] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
}
