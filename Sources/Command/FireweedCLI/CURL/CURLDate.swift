// Dates as people write them for curl's `-z`; pure.

import Foundation

/// Reads a date with words and numbers in any order, as curl_getdate(3), and the forms of ISO 8601.
///
/// Any word or number that is not understood makes the text no date: another date would be a wrong condition.
struct CURLDate {
    private var year: Int?
    private var month: Int?
    private var day: Int?
    /// Seconds since midnight.
    private var time: Int?
    /// Seconds that the place's clocks are ahead of UTC.
    private var offset: Int?

    /// Returns the date in a text, in UTC unless the text names a time zone; `nil` for any other text.
    static func date(of text: String) -> Date? {
        var date = CURLDate()
        guard date.readISO(text) || date.readWords(text) else { return nil }
        return date.value
    }

    private var value: Date? {
        guard let year, let month, let day, (1...9999).contains(year), (1...12).contains(month), day >= 1 else {
            return nil
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = DateComponents(year: year, month: month, day: day)
        // Without a check the 31st of November would be the first of December.
        guard let midnight = calendar.date(from: parts), calendar.component(.day, from: midnight) == day else {
            return nil
        }
        return midnight.addingTimeInterval(Double((time ?? 0) - (offset ?? 0)))
    }

    // MARK: ISO 8601

    /// Reads `2020-11-03`, perhaps with a time and a zone: `2020-11-03T10:00:00.5+01:00`, `2020-11-03 10:00 CET`.
    private mutating func readISO(_ text: String) -> Bool {
        let pattern = #/(\d{4})-(\d\d)-(\d\d)(?:[Tt ]+(\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?(?: *(\S+))?)?/#
        guard let match = text.wholeMatch(of: pattern) else { return false }
        (year, month, day) = (Int(match.1), Int(match.2), Int(match.3))
        guard let clock = match.4 else { return true }
        guard readTime(clock) else { return false }
        guard let zone = match.5 else { return true }
        if let seconds = Self.zones[zone.lowercased()] { offset = seconds } else { offset = Self.offset(zone) }
        return offset != nil
    }

    /// Returns the seconds of `+01:00`, `+0100` and `+01`.
    private static func offset(_ text: Substring) -> Int? {
        guard let match = text.wholeMatch(of: /([+-])(\d\d)(?::?(\d\d))?/), let hours = Int(match.2),
            let minutes = Int(match.3 ?? "0"), hours <= 14, minutes < 60
        else { return nil }
        return (match.1 == "-" ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    // MARK: Words and numbers

    private mutating func readWords(_ text: String) -> Bool {
        var rest = text[...]
        var previous: Character?
        while let first = rest.first {
            let isWord = first.isASCII && first.isLetter
            let word = rest.prefix { $0.isASCII && (isWord ? $0.isLetter : $0.isNumber || $0 == ":") }
            if word.isEmpty {
                guard " ,-+()./\t".contains(first) else { return false }
                rest.removeFirst()
            } else {
                guard isWord ? readWord(word.lowercased()) : readNumber(word, after: previous) else { return false }
                rest = rest[word.endIndex...]
            }
            previous = first
        }
        return true
    }

    private mutating func readWord(_ word: String) -> Bool {
        if Self.isName(word, in: Self.weekdays) != nil { return true }
        if month == nil, let index = Self.isName(word, in: Self.months) {
            month = index + 1
            return true
        }
        guard offset == nil, let seconds = Self.zones[word] else { return false }
        offset = seconds
        return true
    }

    /// Returns the index of a name that is written in full, or by its first three letters.
    private static func isName(_ word: String, in names: [String]) -> Int? {
        names.firstIndex { $0 == word || $0.prefix(3) == word }
    }

    private mutating func readNumber(_ word: Substring, after sign: Character?) -> Bool {
        if word.contains(":") { return time == nil && readTime(word) }
        guard let number = Int(word) else { return false }
        // Behind a time: before it, `-0500` could be a year.
        if word.count == 4, number <= 1400, time != nil, offset == nil, sign == "+" || sign == "-" {
            offset = Self.offset((sign == "-" ? "-" : "+") + word)
            return offset != nil
        }
        if word.count == 8, year == nil, month == nil, day == nil {
            (year, month, day) = (number / 10_000, number / 100 % 100, number % 100)
        } else if day == nil, (1...31).contains(number), word.count <= 2 {
            day = number
        } else if year == nil, word.count == 4 || word.count == 2 {
            year = word.count == 4 ? number : number > 70 ? 1900 + number : 2000 + number
        } else {
            return false
        }
        return true
    }

    /// Reads `10:00` and `10:00:00`.
    private mutating func readTime(_ text: Substring) -> Bool {
        let numbers = text.split(separator: ":", omittingEmptySubsequences: false).map { $0.count <= 2 ? Int($0) : nil }
        guard (2...3).contains(numbers.count), let hour = numbers[0], let minute = numbers[1],
            let second = numbers.count > 2 ? numbers[2] : 0, hour < 24, minute < 60, second <= 60
        else { return false }
        time = hour * 3600 + minute * 60 + second
        return true
    }

    // MARK: Names

    private static let months = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    ]
    private static let weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

    /// The time zones that curl knows, with the seconds that their clocks are ahead of UTC.
    private static let zones: [String: Int] = {
        // As in curl, the letters are those of RFC 822, whose signs are the wrong way round.
        let hours: [(Int, String)] = [
            (0, "gmt utc wet z"), (1, "bst cet met mewt fwt n"), (2, "cest mest mesz eet fst o"), (3, "p"), (4, "q"),
            (5, "r"), (6, "s"), (7, "wast t"), (8, "cct wadt u"), (9, "jst v"), (10, "east gst w"), (11, "eadt x"),
            (12, "nzst nzt idle y"), (13, "nzdt"), (-1, "wat a"), (-2, "b"), (-3, "adt c"), (-4, "ast edt d"),
            (-5, "est cdt e"), (-6, "cst mdt f"), (-7, "mst pdt g"), (-8, "pst ydt h"), (-9, "yst hdt i"),
            (-10, "hst cat ahst k"), (-11, "nt l"), (-12, "idlw m"),
        ]
        let pairs = hours.flatMap { hour, names in names.split(separator: " ").map { (String($0), hour * 3600) } }
        return Dictionary(uniqueKeysWithValues: pairs)
    }()
}
