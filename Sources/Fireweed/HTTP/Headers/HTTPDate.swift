// The three forms of a date in a field (RFC 9110 §5.6.7).

package import Foundation

/// Parses dates in fields, independent of the process's locale.
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
        let parse = { (bytes: UnsafeBufferPointer<UInt8>) -> Date? in
            var reader = DateReader(bytes)
            guard let name = reader.name() else { return nil }
            guard reader.take(",") else { return asctime(weekday: name, &reader) }
            return weekdays.contains(name) ? imfFixdate(&reader) : rfc850(weekday: name, &reader, now: now)
        }
        return text.utf8.withContiguousStorageIfAvailable(parse) ?? Array(text.utf8).withUnsafeBufferPointer(parse)
    }

    // Reads a date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func imfFixdate(_ reader: inout DateReader) -> Date? {
        guard reader.take(" "), let day = reader.number(2), reader.take(" "), let month = reader.month(),
            reader.take(" "), let year = reader.number(4), reader.take(" "), let time = reader.time(),
            reader.take(" "), reader.name() == "gmt", reader.isAtEnd
        else { return nil }
        return date(year, month, day, time)
    }

    // Reads a date such as `Sunday, 06-Nov-94 08:49:37 GMT`. The two digits are the last digits of a year within 50
    // years of the present.
    private static func rfc850(weekday: String, _ reader: inout DateReader, now: Date) -> Date? {
        guard longWeekdays.contains(weekday), reader.take(" "), let day = reader.number(2), reader.take("-"),
            let month = reader.month(), reader.take("-"), let digits = reader.number(2), reader.take(" "),
            let time = reader.time(), reader.take(" "), reader.name() == "gmt", reader.isAtEnd,
            let years = Int(exactly: (now.timeIntervalSince1970 / secondsOfYear).rounded(.towardZero))
        else { return nil }
        let present = years + 1970
        var year = present - present % 100 + digits
        if year > present + 50 { year -= 100 }
        if year < present - 50 { year += 100 }
        return date(year, month, day, time)
    }

    // Reads a date such as `Sun Nov  6 08:49:37 1994`.
    private static func asctime(weekday: String, _ reader: inout DateReader) -> Date? {
        guard weekdays.contains(weekday), reader.take(" "), let month = reader.month(), reader.take(" "),
            let day = reader.take(" ") ? reader.number(1) : reader.number(2), reader.take(" "),
            let time = reader.time(), reader.take(" "), let year = reader.number(4), reader.isAtEnd
        else { return nil }
        return date(year, month, day, time)
    }

    private static func date(_ year: Int, _ month: Int, _ day: Int, _ secondOfDay: Int) -> Date? {
        guard (1...daysInMonth(month, of: year)).contains(day) else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(daysSince1970(year, month, day) * 86_400 + secondOfDay))
    }

    static func daysInMonth(_ month: Int, of year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from the first of January 1970 to a day of the Gregorian calendar; the calculation begins each year in
    /// March, so that the leap day is the last day of its year.
    static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let leapDays = shifted / 4 - shifted / 100 + shifted / 400
        return shifted * 365 + leapDays + (monthFromMarch * 153 + 2) / 5 + day - 1 - 719_468
    }

    private static let secondsOfYear = 31_556_952.0
    private static let weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let longWeekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    /// The names of the months, in lower case.
    static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
}

/// Reads the parts of a date from its bytes.
private struct DateReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Takes a character if it is the next one.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let next, UInt32(next) == character.value else { return false }
        position += 1
        return true
    }

    /// Takes letters, and returns them in lower case; `nil` for none, and for more than 9, the length of the longest
    /// name.
    mutating func name() -> String? {
        let start = position
        while let next, (0x61...0x7A).contains(next | 0x20) { position += 1 }
        guard (1...9).contains(position - start) else { return nil }
        return String(unsafeUninitializedCapacity: position - start) { buffer in
            for index in 0..<position - start { buffer[index] = bytes[start + index] | 0x20 }
            return position - start
        }
    }

    /// Takes the name of a month; returns its number, from 1.
    mutating func month() -> Int? {
        name().flatMap { HTTPDate.months.firstIndex(of: $0) }.map { $0 + 1 }
    }

    /// Takes exactly `digitCount` digits.
    mutating func number(_ digitCount: Int) -> Int? {
        var number = 0
        for _ in 0..<digitCount {
            guard let next, (0x30...0x39).contains(next) else { return nil }
            number = number * 10 + Int(next - 0x30)
            position += 1
        }
        return number
    }

    /// Takes a time of day; returns it as seconds since midnight.
    mutating func time() -> Int? {
        guard let hour = number(2), take(":"), let minute = number(2), take(":"), let second = number(2), hour < 24,
            minute < 60, second <= 60
        else { return nil }
        return (hour * 60 + minute) * 60 + second
    }
}
