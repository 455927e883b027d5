// Parsing of the `Content-Range` field.

/// A `Content-Range` in bytes (RFC 9110 §14.4).
package struct ContentRange: Equatable {
    /// The positions of the first and the last byte; `nil` for `bytes */N`: the requested range cannot be satisfied.
    package var bounds: ClosedRange<Int64>?
    /// The length of the whole representation; `nil` for `*`.
    package var completeByteCount: Int64?

    init(bounds: ClosedRange<Int64>?, completeByteCount: Int64?) {
        self.bounds = bounds
        self.completeByteCount = completeByteCount
    }

    /// Reads a field value; `nil` when it is not a range of bytes, or when its numbers contradict each other.
    package init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[1] != "*" {
            guard let count = Self.number(parts[1]) else { return nil }
            completeByteCount = count
        }
        if parts[0] == "*" {
            guard completeByteCount != nil else { return nil }
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            last < completeByteCount ?? .max
        else { return nil }
        bounds = first...last
    }

    /// A number of digits only, without sign or space.
    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}
