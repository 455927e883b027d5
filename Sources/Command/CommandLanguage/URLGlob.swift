// URLs with ranges and alternatives; pure.

/// A pattern for several URLs: `{a,b}` and `{1..9}`, `[1-9]`, `[001-100]`, `[a-z]` and `[0-100:10]`.
///
/// Other brackets and braces are literal, as in `[::1]` and `filter[name]`.
package struct URLGlob: Sendable, Equatable {
    /// A literal part, or a part with several values.
    package enum Part: Sendable, Equatable {
        case text(String)
        case choices([String])
        /// Numbers, padded with zeros to at least `width` digits.
        case numbers(first: Int, step: Int, count: Int, width: Int)
        case letters(first: UInt8, step: Int, count: Int)

        package var count: Int {
            switch self {
            case .text: 1
            case .choices(let texts): texts.count
            case .numbers(_, _, let count, _), .letters(_, _, let count): count
            }
        }

        package subscript(index: Int) -> String {
            switch self {
            case .text(let text): return text
            case .choices(let texts): return texts[index]
            case .numbers(let first, let step, _, let width):
                let digits = String(first + index * step)
                return String(repeating: "0", count: max(0, width - digits.count)) + digits
            case .letters(let first, let step, _):
                return String(Unicode.Scalar(UInt8(Int(first) + index * step)))
            }
        }
    }

    package let parts: [Part]
    /// The number of URLs.
    package let count: Int

    /// The largest number of URLs of one pattern.
    package static let maximumCount = 10_000_000

    /// A literal URL.
    package init(literal word: String) {
        parts = [.text(word)]
        count = 1
    }

    /// Parses a pattern; throws `UsageError` for a pattern with too many URLs, and for one that is not closed.
    ///
    /// With `asCURL`, braces hold only alternatives, as in curl, and have to be closed, as brackets have to. A single
    /// alternative is allowed: `{1..3}` stands for `1..3`.
    package init(_ word: String, asCURL: Bool = false) throws {
        var parts: [Part] = []
        var text = ""
        var rest = word[...]
        let (lastBrace, lastBracket) = asCURL ? (word.lastIndex(of: "}"), word.lastIndex(of: "]")) : (nil, nil)
        while let character = rest.popFirst() {
            let end: Character? = character == "{" ? "}" : character == "[" ? "]" : nil
            if asCURL, let end, (end == "}" ? lastBrace : lastBracket).map({ $0 < rest.startIndex }) ?? true {
                throw UsageError(message: "\"\(word)\" has \(character) without \(end); -g takes them as they are")
            }
            // A pattern cannot contain its own opening bracket. The search stops at the next one, which keeps parsing
            // linear.
            guard let end, let close = rest.firstIndex(where: { $0 == end || $0 == character }), rest[close] == end,
                let part = Self.part(rest[..<close], in: character, asCURL)
            else {
                if asCURL, character == "[", let close = rest.firstIndex(of: "]"), Self.isReversed(rest[..<close]) {
                    throw UsageError(
                        message: "\"\(word)\" has a range that ends before it begins; -g takes it as it is")
                }
                text.append(character)
                continue
            }
            if !text.isEmpty { parts.append(.text(text)) }
            text = ""
            parts.append(part)
            rest = rest[rest.index(after: close)...]
        }
        if !text.isEmpty { parts.append(.text(text)) }
        self.parts = parts
        var count = 1
        for part in parts {
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: part.count)
            guard !isTooLarge, product <= Self.maximumCount else {
                throw UsageError(message: "\"\(word)\" stands for more than \(Self.maximumCount) URLs")
            }
            count = product
        }
        self.count = count
    }

    /// Returns the URL with this number, from 0, and the texts of its variable parts.
    ///
    /// The last part varies fastest.
    package func url(at index: Int) -> (text: String, values: [String]) {
        var rest = index
        var texts: [String] = []
        var values: [String] = []
        for part in parts.reversed() {
            let text = part[rest % part.count]
            rest /= part.count
            texts.append(text)
            if case .text = part { continue }
            values.append(text)
        }
        return (texts.reversed().reduce("", +), values.reversed())
    }

    private static func part(_ text: Substring, in opening: Character, _ asCURL: Bool) -> Part? {
        if opening == "[" { return range(text, separator: "-", stepSeparator: ":") }
        if !asCURL, let range = range(text, separator: "..", stepSeparator: "..") { return range }
        guard text.contains(",") || asCURL && !text.isEmpty, !text.contains(where: { "{}".contains($0) }) else {
            return nil
        }
        return .choices(text.split(separator: ",", omittingEmptySubsequences: false).map(String.init))
    }

    /// Parses `1-9`, `a-z` and `0-100:10`, or `1..9`, `a..z` and `0..100..10`; `nil` for any other text.
    private static func range(_ text: Substring, separator: String, stepSeparator: String) -> Part? {
        guard let middle = text.firstRange(of: separator) else { return nil }
        let first = text[..<middle.lowerBound]
        var last = text[middle.upperBound...]
        var step = 1
        if let end = last.firstRange(of: stepSeparator) {
            guard let given = number(last[end.upperBound...]), given > 0 else { return nil }
            step = given
            last = last[..<end.lowerBound]
        }
        if let start = number(first), let stop = number(last), start <= stop {
            let width = first.hasPrefix("0") ? first.count : 0
            return .numbers(first: start, step: step, count: (stop - start) / step + 1, width: width)
        }
        guard let start = letter(first), let stop = letter(last), start <= stop, start < 0x61 ? stop <= 0x5A : true
        else {
            return nil
        }
        return .letters(first: start, step: step, count: (Int(stop) - Int(start)) / step + 1)
    }

    /// Whether a text would be a range of numbers or letters with its ends the other way round.
    private static func isReversed(_ text: Substring) -> Bool {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        return ends.count == 2 && range("\(ends[1])-\(ends[0])", separator: "-", stepSeparator: ":") != nil
    }

    private static func number(_ text: Substring) -> Int? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    private static func letter(_ text: Substring) -> UInt8? {
        guard text.utf8.count == 1, let byte = text.utf8.first else { return nil }
        return (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) ? byte : nil
    }
}
