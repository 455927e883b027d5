// A table from field names to values.

/// Looks values up by field name, ignoring case (RFC 9110 §5.1), and without making strings.
package struct FieldNames<Value: Sendable>: Sendable {
    @usableFromInline package let table: FieldNameTable
    @usableFromInline package let values: [Value]

    /// Makes a table; if a name has several values, the first is used.
    package init(_ values: [(String, Value)]) {
        table = FieldNameTable(values.map(\.0))
        self.values = values.map(\.1)
    }

    @inlinable
    package subscript(name: String) -> Value? {
        @inline(__always) get {
            guard let index = table.index(of: name) else { return nil }
            return values[index]
        }
    }
}

/// A list of names with a hash table over their indices.
@usableFromInline
package struct FieldNameTable: Sendable {
    private let names: [String]
    /// The index of a name, or -1 for an empty slot; names with the same hash are in successive slots.
    private var slots: [Int]

    init(_ names: [String]) {
        self.names = names
        var size = 8
        while size < 4 * names.count { size *= 2 }
        slots = Array(repeating: -1, count: size)
        for (index, name) in names.enumerated() where self.index(of: name) == nil {
            var slot = Self.hash(name) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = index
        }
    }

    @usableFromInline
    package func index(of name: String) -> Int? {
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] >= 0 {
            if names[slots[slot]].isEqualIgnoringASCIICase(name) { return slots[slot] }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Hashes the length and three bytes, which usually suffice to distinguish the names in a list.
    private static func hash(_ name: String) -> Int {
        name.withBytes { bytes in
            guard let first = bytes.first, let last = bytes.last else { return 0 }
            let middle = bytes[bytes.count / 2]
            return bytes.count &* 31 ^ Int(first | 0x20) &* 7 ^ Int(last | 0x20) &* 5 ^ Int(middle | 0x20) &* 3
        }
    }
}
