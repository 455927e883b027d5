// The scan of a document.

/// Writes the values of a document to a tape, and refuses what is not JSON by RFC 8259.
///
/// It may refuse more than a decoder: names and numbers that no type reads are checked too. It refuses content in
/// UTF-16 and lone surrogates.
struct Scanner {
    // SAFETY: `scan` reads only before `end`, and checks before it writes a word that the place is below `capacity`.
    private let content: UnsafePointer<UInt8>
    private let end: Int
    private let words: UnsafeMutablePointer<UInt64>
    private let capacity: Int

    /// The deepest nesting of containers; Foundation's limit is 512.
    static let maximumDepth = 500

    /// Returns the most words that content of a length can need.
    ///
    /// Each value or name takes a byte, and another for the separator or the bracket after it. Only the last value, and
    /// containers that are still open at the end of the content, have no byte after them.
    static func wordCount(_ byteCount: Int) -> Int { min(byteCount, (byteCount + maximumDepth) / 2 + 1) }

    init(_ content: UnsafeBufferPointer<UInt8>, _ words: UnsafeMutablePointer<UInt64>) {
        // SAFETY: the caller has checked that there is content.
        self.content = content.baseAddress.unsafelyUnwrapped
        end = content.count
        self.words = words
        capacity = Self.wordCount(content.count)
    }

    private enum State {
        case value, name, behind
    }

    /// An array or an object whose end has not been reached.
    private struct Open {
        let word: Int
        let isObject: Bool
        var count = 0
        var isIrregular = false
    }

    /// Scans the content; returns the number of words, or `nil` for content that is refused.
    func scan() -> Int? {
        withUnsafeTemporaryAllocation(of: Open.self, capacity: Self.maximumDepth) { open in
            // SAFETY: the capacity is not zero, so that there is an address; `depth` stays below the capacity.
            scan(open.baseAddress.unsafelyUnwrapped)
        }
    }

    private func scan(_ open: UnsafeMutablePointer<Open>) -> Int? {
        var (place, word, depth) = (0, 0, 0)
        var state = State.value
        while true {
            place = behindSpace(place)
            guard place < end, word < capacity || state == .behind else { return nil }
            let byte = content[place]
            switch state {
            case .value:
                if depth > 0 {
                    // The end of an array without members.
                    let isFirst = open[depth - 1].count == 0
                    if byte == UInt8(ascii: "]"), isFirst, !open[depth - 1].isObject {
                        state = .behind
                        continue
                    }
                    open[depth - 1].count += 1
                }
                switch byte {
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    guard depth < Self.maximumDepth else { return nil }
                    let isObject = byte == UInt8(ascii: "{")
                    (open + depth).initialize(to: Open(word: word, isObject: isObject))
                    depth += 1
                    word += 1
                    place += 1
                    state = isObject ? .name : .value
                    continue
                case UInt8(ascii: "\""):
                    guard let string = string(place + 1) else { return nil }
                    words[word] = string.bits
                    place = string.place + string.count + 1
                case UInt8(ascii: "t"):
                    guard isLiteral(place, "true") else { return nil }
                    words[word] = Word(Word.Kind.yes, place: 0, count: 0).bits
                    place += 4
                case UInt8(ascii: "f"):
                    guard isLiteral(place, "false") else { return nil }
                    words[word] = Word(Word.Kind.no, place: 0, count: 0).bits
                    place += 5
                case UInt8(ascii: "n"):
                    guard isLiteral(place, "null") else { return nil }
                    words[word] = Word(Word.Kind.null, place: 0, count: 0).bits
                    place += 4
                default:
                    guard let number = number(place) else { return nil }
                    words[word] = number.bits
                    place = number.place + number.count
                }
                word += 1
                state = .behind
            case .name:
                if byte == UInt8(ascii: "}"), open[depth - 1].count == 0 {
                    state = .behind
                    continue
                }
                guard byte == UInt8(ascii: "\""), let name = string(place + 1) else { return nil }
                words[word] = name.bits
                word += 1
                if name.kind != Word.Kind.ascii { open[depth - 1].isIrregular = true }
                place = behindSpace(name.place + name.count + 1)
                guard place < end, content[place] == UInt8(ascii: ":") else { return nil }
                place += 1
                state = .value
            case .behind:
                guard depth > 0 else { return nil }
                let (isObject, count) = (open[depth - 1].isObject, open[depth - 1].count)
                if byte == UInt8(ascii: ","), count > 0 {
                    state = isObject ? .name : .value
                    // A trailing comma, as in `[1,]`, is not JSON.
                    let next = behindSpace(place + 1)
                    guard next < end, content[next] != UInt8(ascii: "]"), content[next] != UInt8(ascii: "}") else {
                        return nil
                    }
                    place = next
                    continue
                }
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return nil }
                guard count <= Word.maximumCount else { return nil }
                let kind =
                    isObject
                    ? open[depth - 1].isIrregular ? Word.Kind.irregularObject : Word.Kind.object : Word.Kind.array
                words[open[depth - 1].word] = Word(kind, place: word, count: count).bits
                depth -= 1
                place += 1
            }
            if depth == 0, state == .behind {
                return behindSpace(place) == end ? word : nil
            }
        }
    }

    private func behindSpace(_ start: Int) -> Int {
        var place = start
        while place < end {
            let byte = content[place]
            guard byte <= UInt8(ascii: " ") else { return place }
            guard byte == UInt8(ascii: " ") || byte == 10 || byte == 13 || byte == 9 else { return place }
            place += 1
        }
        return place
    }

    private func isLiteral(_ place: Int, _ literal: StaticString) -> Bool {
        guard end - place >= literal.utf8CodeUnitCount else { return false }
        for offset in 0..<literal.utf8CodeUnitCount where content[place + offset] != literal.utf8Start[offset] {
            return false
        }
        return true
    }

    // MARK: Strings

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let high: UInt64 = 0x8080_8080_8080_8080

    /// Marks the bytes that end a run of plain characters, by the highest bit of each.
    ///
    /// They are quotes, backslashes, control characters and bytes outside ASCII. Only the lowest mark is reliable: a
    /// mark above it may be wrong.
    private static func marks(_ bytes: UInt64) -> UInt64 {
        let quotes = bytes ^ (ones &* 0x22)
        let backslashes = bytes ^ (ones &* 0x5C)
        let zeros = (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
        let controls = (bytes &- (ones &* 0x20)) & ~bytes
        return (zeros | controls | bytes) & high
    }

    /// Scans the string that begins at `start`, after its opening quote; `nil` if it has no end, is too long or is not
    /// valid text.
    private func string(_ start: Int) -> Word? {
        var place = start
        var kind = Word.Kind.ascii
        while true {
            while place + 8 <= end {
                let bytes = UnsafeRawPointer(content + place).loadUnaligned(as: UInt64.self)
                let marks = Self.marks(UInt64(littleEndian: bytes))
                guard marks == 0 else {
                    place += marks.trailingZeroBitCount >> 3
                    break
                }
                place += 8
            }
            guard place < end else { return nil }
            let byte = content[place]
            switch byte {
            case UInt8(ascii: "\""):
                guard place - start <= Word.maximumCount else { return nil }
                return Word(kind, place: start, count: place - start)
            case UInt8(ascii: "\\"):
                guard let next = behindEscape(place + 1) else { return nil }
                (place, kind) = (next, Word.Kind.escaped)
            case 0..<0x20: return nil
            case 0x80...:
                guard let next = behindCharacter(place) else { return nil }
                place = next
                if kind == Word.Kind.ascii { kind = Word.Kind.text }
            default: place += 1
            }
        }
    }

    private func behindEscape(_ place: Int) -> Int? {
        guard place < end else { return nil }
        switch content[place] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return place + 1
        case UInt8(ascii: "u"):
            guard end - place > 4, let unit = Escapes.unit(content + place + 1) else { return nil }
            guard UTF16.isLeadSurrogate(unit) else { return UTF16.isTrailSurrogate(unit) ? nil : place + 5 }
            guard end - place > 10, content[place + 5] == UInt8(ascii: "\\"), content[place + 6] == UInt8(ascii: "u"),
                let trail = Escapes.unit(content + place + 7), UTF16.isTrailSurrogate(trail)
            else { return nil }
            return place + 11
        default: return nil
        }
    }

    /// Returns the place after a character of several bytes; `nil` if the bytes are not UTF-8 (RFC 3629 §4).
    private func behindCharacter(_ place: Int) -> Int? {
        let lead = content[place]
        let count: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: count = 2
        case 0xE0...0xEF:
            count = 3
            if lead == 0xE0 { second = 0xA0...0xBF }
            if lead == 0xED { second = 0x80...0x9F }
        case 0xF0...0xF4:
            count = 4
            if lead == 0xF0 { second = 0x90...0xBF }
            if lead == 0xF4 { second = 0x80...0x8F }
        default: return nil
        }
        guard end - place >= count, second.contains(content[place + 1]) else { return nil }
        for next in place + 2..<max(place + 2, place + count) where content[next] & 0xC0 != 0x80 { return nil }
        return place + count
    }

    // MARK: Numbers

    private func number(_ start: Int) -> Word? {
        var place = start
        if content[place] == UInt8(ascii: "-") { place += 1 }
        guard place < end else { return nil }
        if content[place] == UInt8(ascii: "0") {
            place += 1
            // Foundation refuses an exponent here, as in `0e1`.
            if place < end, content[place] | 0x20 == UInt8(ascii: "e") { return nil }
        } else {
            guard let next = behindDigits(place) else { return nil }
            place = next
        }
        var kind = Word.Kind.integer
        if place < end, content[place] == UInt8(ascii: ".") {
            guard let next = behindDigits(place + 1) else { return nil }
            (place, kind) = (next, Word.Kind.number)
        }
        if place < end, content[place] | 0x20 == UInt8(ascii: "e") {
            place += 1
            if place < end, content[place] == UInt8(ascii: "-") || content[place] == UInt8(ascii: "+") { place += 1 }
            guard let next = behindDigits(place) else { return nil }
            (place, kind) = (next, Word.Kind.number)
        }
        guard place - start <= Word.maximumCount else { return nil }
        return Word(kind, place: start, count: place - start)
    }

    /// Returns the place after one or more digits; `nil` without a digit.
    private func behindDigits(_ start: Int) -> Int? {
        var place = start
        while place < end, content[place] &- UInt8(ascii: "0") < 10 { place += 1 }
        return place > start ? place : nil
    }
}

/// Escape sequences of strings.
enum Escapes {
    /// Returns the code unit of four hexadecimal digits; `nil` if one of the bytes is not such a digit.
    static func unit(_ digits: UnsafePointer<UInt8>) -> UInt16? {
        var unit: UInt16 = 0
        for offset in 0..<4 {
            let digit: UInt8
            switch digits[offset] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = digits[offset] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = digits[offset] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = digits[offset] - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    /// Returns the text of a string whose escapes the scan has validated.
    static func text(_ content: UnsafeBufferPointer<UInt8>) -> String {
        // The text is never longer than the content: an escape of six bytes becomes three bytes at most.
        String(unsafeUninitializedCapacity: content.count) { text in
            var (place, count) = (0, 0)
            func append(_ byte: UInt8) {
                text[count] = byte
                count += 1
            }
            while place < content.count {
                let byte = content[place]
                place += 1
                guard byte == UInt8(ascii: "\\") else {
                    append(byte)
                    continue
                }
                let escape = content[place]
                place += 1
                switch escape {
                case UInt8(ascii: "b"): append(8)
                case UInt8(ascii: "f"): append(12)
                case UInt8(ascii: "n"): append(10)
                case UInt8(ascii: "r"): append(13)
                case UInt8(ascii: "t"): append(9)
                case UInt8(ascii: "u"):
                    let scalar = scalar(content, &place)
                    for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte) }
                default: append(escape)
                }
            }
            return count
        }
    }

    private static func scalar(_ content: UnsafeBufferPointer<UInt8>, _ place: inout Int) -> Unicode.Scalar {
        func next() -> UInt16 {
            defer { place += 4 }
            // SAFETY: the scan has seen four digits here.
            return unit(content.baseAddress.unsafelyUnwrapped + place) ?? 0
        }
        let lead = next()
        guard UTF16.isLeadSurrogate(lead) else { return Unicode.Scalar(lead) ?? "\u{FFFD}" }
        place += 2  // the second backslash and its `u`
        return UTF16.decode(UTF16.EncodedScalar([lead, next()]))
    }
}
