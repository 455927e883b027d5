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
        var head: [UInt8] = []
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
                head += rest[..<lineEnd].prefix(Self.headLength - head.count)
                lineCount += 1
                if let entry = Self.entry(Array(head.prefix(80))) {
                    hasRecords = true
                    // A request that failed is made again.
                    if Self.hasError(head) {
                        remove(index: entry.index)
                    } else {
                        insert(index: entry.index, key: entry.key)
                    }
                }
                head = []
                end = position + off_t(lineEnd + 1)
                rest = rest[(lineEnd + 1)...]
            }
            head += rest.prefix(Self.headLength - head.count)
            position += off_t(read)
        }
        // A file without records is refused, so that nothing is cut off from a foreign file.
        guard hasRecords || lineCount == 0 && (head.isEmpty || head.starts(with: "{\"index\":".utf8)) else {
            throw OutputError(errorDescription: "\(name) has no records of fireweed fetch in it")
        }
    }

    /// Makes a journal without entries.
    init() {}

    private static let headLength = 16 * 1024

    private static let errorMember = Array(", \"error\": \"".utf8)

    /// Whether a record itself has the member `error`; members of nested objects do not count.
    private static func hasError(_ head: [UInt8]) -> Bool {
        var (depth, isText, isEscaped) = (0, false, false)
        for index in head.indices {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if head[index] == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if head[index] == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch head[index] {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case errorMember[0] where depth == 1 && head[index...].starts(with: errorMember): return true
            default: break
            }
        }
        return false
    }

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
