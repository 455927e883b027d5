// Conversion of names from snake case.

import Foundation

/// Converts names as `JSONDecoder.KeyDecodingStrategy.convertFromSnakeCase` does; all names are ASCII.
///
/// Underscores at the beginning and the end stay; a name of one word is not changed.
enum SnakeCase {
    static func converted(_ name: inout String) -> String {
        name.withUTF8 { name in
            String(unsafeUninitializedCapacity: name.count) { convert(name, into: $0) }
        }
    }

    /// Whether a name, after its conversion, is equal to `other`.
    static func isEqual(_ name: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        // A conversion never makes a name longer.
        guard name.count >= other.count else { return false }
        guard name.contains(underscore) else { return name.elementsEqual(other) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: name.count) { converted in
            converted.prefix(convert(name, into: converted)).elementsEqual(other)
        }
    }

    private static let underscore = UInt8(ascii: "_")

    /// Whether Foundation may begin a new word in the middle of a word: at a letter after a digit or a sign, as in
    /// `is_2fa_on`.
    static func isDoubtful(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.contains(underscore) else { return false }
        var last = underscore
        for byte in name {
            let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            let isLetterBefore = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(last | 0x20)
            if isLetter, !isLetterBefore, last != underscore { return true }
            last = byte
        }
        return false
    }

    private static func convert(
        _ name: UnsafeBufferPointer<UInt8>, into converted: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var count = 0
        func append(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) {
            for byte in bytes {
                converted[count] = byte
                count += 1
            }
        }
        guard let first = name.firstIndex(where: { $0 != underscore }),
            let last = name.lastIndex(where: { $0 != underscore }), name[first...last].contains(underscore)
        else {
            append(name[...])
            return count
        }
        append(name[..<first])
        var isFirstWord = true
        var isWordStart = false
        for byte in name[first...last] {
            guard byte != underscore else {
                (isFirstWord, isWordStart) = (false, true)
                continue
            }
            let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            converted[count] = isLetter ? (isWordStart && !isFirstWord ? byte & ~0x20 : byte | 0x20) : byte
            count += 1
            isWordStart = false
        }
        append(name[name.index(after: last)...])
        return count
    }
}
