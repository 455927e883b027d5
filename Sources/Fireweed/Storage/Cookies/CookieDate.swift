// Dates of cookies, which are parsed more leniently than dates of other fields.

package import Foundation

/// Parses the value of `Expires` (RFC 6265 §5.1.1): its parts in any order, with any delimiters.
package enum CookieDate {
    /// The date; `nil` when a part is missing, the date does not exist, or the year is before 1601.
    package static func parse(_ text: String) -> Date? {
        var parts = Parts()
        for token in text.utf8.prefix(1024).split(whereSeparator: isDelimiter) { parts.take(token) }
        return parts.date
    }

    /// Whether a byte is a delimiter: a tab, or a printable character except letters, digits and colon.
    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private typealias Token = Substring.UTF8View

    /// The parts so far; the first token that fits a part becomes that part.
    private struct Parts {
        private var time: (hour: Int, minute: Int, second: Int)?
        private var day: Int?
        private var month: Int?
        private var year: Int?

        mutating func take(_ token: Token) {
            if time == nil, let found = Self.time(token) {
                time = found
            } else if day == nil, let found = Self.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.month(token) {
                month = found
            } else if year == nil, let found = Self.number(token, digits: 2...4) {
                year = found
            }
        }

        var date: Date? {
            guard let time, let day, let month, var year else { return nil }
            if (70...99).contains(year) { year += 1900 }
            if (0...69).contains(year) { year += 2000 }
            guard year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59,
                (1...HTTPDate.daysInMonth(month, of: year)).contains(day)
            else { return nil }
            let hours = HTTPDate.daysSince1970(year, month, day) * 24 + time.hour
            return Date(timeIntervalSince1970: TimeInterval((hours * 60 + time.minute) * 60 + time.second))
        }

        private static func time(_ token: Token) -> (Int, Int, Int)? {
            let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
            guard fields.count >= 3, let hour = whole(fields[0]), let minute = whole(fields[1]),
                let second = fields.count == 3 ? number(fields[2], digits: 1...2) : whole(fields[2])
            else { return nil }
            return (hour, minute, second)
        }

        /// A field of one or two digits and nothing else.
        private static func whole(_ field: Token) -> Int? {
            field.count <= 2 ? number(field, digits: 1...2).flatMap { field.allSatisfy(isDigit) ? $0 : nil } : nil
        }

        /// The number at the beginning of a token; `nil` when the count of its digits is not in `digits`.
        private static func number(_ token: Token, digits: ClosedRange<Int>) -> Int? {
            let leading = token.prefix(while: isDigit)
            guard digits.contains(leading.count) else { return nil }
            return leading.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }

        private static func month(_ token: Token) -> Int? {
            guard token.count >= 3 else { return nil }
            let name = String(decoding: token.prefix(3), as: UTF8.self).lowercased()
            return HTTPDate.months.firstIndex { $0.lowercased() == name }.map { $0 + 1 }
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    }
}
