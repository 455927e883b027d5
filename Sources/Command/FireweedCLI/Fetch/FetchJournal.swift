// The list of items that earlier runs have finished; pure, except for reading a file.

import Foundation
import Glibc

/// The finished items in a file of records, or in a journal.
///
/// A record is appended as a whole and begins with its item's number and key. If a killed run has left half a record at
/// the end, that half is cut off. Each item takes eight bytes of memory.
struct FetchJournal {
    /// The key of each item, by its number; 0 for an item that is not finished.
    private var keys: [UInt64] = []
    private(set) var count = 0
    /// The offset at which the last whole line ends.
    private(set) var end: off_t = 0

    /// Numbers this far above `count` are ignored, to limit memory for a damaged file: items never run so far ahead.
    private static let maximumGap = 1_000_000

    func contains(_ item: FetchItem) -> Bool {
        keys.indices.contains(item.index) && keys[item.index] == max(1, item.key)
    }

    mutating func insert(index: Int, key: UInt64) {
        guard index > 0, index < count + Self.maximumGap else { return }
        if index >= keys.count { keys += Array(repeating: 0, count: max(index + 1 - keys.count, keys.count)) }
        if keys[index] == 0 { count += 1 }
        keys[index] = max(1, key)
    }

    /// Reads a file from its beginning; throws `OutputError` if the file cannot be read, or has content but no records.
    init(readingFrom descriptor: Int32, named name: String) throws {
        var buffer = [UInt8](repeating: 0, count: 256 * 1024)
        var line = RecordScan()
        var position: off_t = 0
        var lineCount = 0
        var hasRecords = false
        while true {
            let read = pread(descriptor, &buffer, buffer.count, position)
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else {
                throw OutputError(errorDescription: "\(name) cannot be read: \(String(cString: strerror(errno)))")
            }
            if read == 0 { break }
            var rest = buffer[..<read]
            while let lineEnd = rest.firstIndex(of: 0x0A) {
                line.take(rest[..<lineEnd])
                lineCount += 1
                if let entry = Self.entry(line.head) {
                    hasRecords = true
                    // A request that failed is made again.
                    if line.hasError {
                        remove(index: entry.index)
                    } else {
                        insert(index: entry.index, key: entry.key)
                    }
                }
                line = RecordScan()
                end = position + off_t(lineEnd + 1)
                rest = rest[(lineEnd + 1)...]
            }
            line.take(rest)
            position += off_t(read)
        }
        // A file without records is refused, so that nothing is cut off from a foreign file.
        guard hasRecords || lineCount == 0 && (line.head.isEmpty || line.head.starts(with: "{\"index\":".utf8)) else {
            throw OutputError(errorDescription: "\(name) has no records of fireweed fetch in it")
        }
    }

    /// Makes a journal without entries.
    init() {}

    private mutating func remove(index: Int) {
        guard keys.indices.contains(index), keys[index] != 0 else { return }
        keys[index] = 0
        count -= 1
    }

    /// Returns the beginning of a record: `{"index": 12, "key": "0123456789abcdef"`.
    static func head(index: Int, key: UInt64) -> String {
        let digits = String(key, radix: 16)
        return "{\"index\": \(index), \"key\": \"\(String(repeating: "0", count: 16 - digits.count))\(digits)\""
    }

    /// Returns the number and the key at the beginning of a line; `nil` for a line that is not a record.
    static func entry(_ bytes: [UInt8]) -> (index: Int, key: UInt64)? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasPrefix("{\"index\": ") else { return nil }
        let digits = text.dropFirst(10).prefix { $0.isASCII && $0.isNumber }
        let rest = text.dropFirst(10 + digits.count)
        guard let index = Int(digits), rest.hasPrefix(", \"key\": \"") else { return nil }
        guard let key = UInt64(rest.dropFirst(10).prefix(16), radix: 16) else { return nil }
        return (index, key)
    }
}

/// Reads a record piece by piece, up to the members that follow its error: lines may be as long as the content in them.
private struct RecordScan {
    /// The first bytes, which have the number and the key.
    private(set) var head: [UInt8] = []
    /// Whether the record itself has the member `error`; members of nested objects do not count.
    private(set) var hasError = false
    private var isOver = false
    private var depth = 0
    private var isText = false
    private var isEscaped = false
    /// Whether the next text at the record's own level is the name of a member.
    private var awaitsName = false
    /// The name that is being read; `nil` outside names.
    private var name: [UInt8]?

    private static let headLength = 80
    private static let error = Array("error".utf8)
    /// The member after `error`; a request that was not made has an error, and no attempts.
    private static let attempts = Array("attempts".utf8)

    mutating func take(_ bytes: ArraySlice<UInt8>) {
        head += bytes.prefix(Self.headLength - head.count)
        guard !isOver else { return }
        for byte in bytes {
            isText ? takeText(byte) : takeSign(byte)
            if isOver { return }
        }
    }

    private mutating func takeText(_ byte: UInt8) {
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isText = false
            hasError = name == Self.error
            isOver = hasError || name == Self.attempts
            name = nil
            return
        }
        name?.append(byte)
    }

    private mutating func takeSign(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""):
            (isText, name) = (true, awaitsName ? [] : nil)
            awaitsName = false
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        case UInt8(ascii: ","): awaitsName = depth == 1
        default: break
        }
    }
}
