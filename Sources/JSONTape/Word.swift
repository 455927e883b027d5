// A value or a name of a document, in 64 bits.

/// A word of the tape: a value or a name of a JSON document.
///
/// The word of a string or a number contains the place in the content and the length. The word of an array or an object
/// contains the number of members and the place on the tape after the last member. The members of an array follow its
/// word; those of an object follow in pairs, the name first.
struct Word {
    let bits: UInt64

    /// The kind of a value, in the highest four bits.
    enum Kind {
        static let null: UInt64 = 1
        static let no: UInt64 = 2
        static let yes: UInt64 = 3
        /// A number of only digits, with or without a minus sign.
        static let integer: UInt64 = 4
        static let number: UInt64 = 5
        /// A string of ASCII characters without escapes.
        static let ascii: UInt64 = 6
        static let text: UInt64 = 7
        static let escaped: UInt64 = 8
        static let array: UInt64 = 9
        /// An object whose names are ASCII without escapes.
        static let object: UInt64 = 10
        static let irregularObject: UInt64 = 11
    }

    /// The greatest length of a string or a number, and the greatest number of members.
    static let maximumCount = 1 << 28 - 1

    init(bits: UInt64) { self.bits = bits }

    /// Makes a word; `place` is less than 2³², and `count` is at most ``maximumCount``.
    init(_ kind: UInt64, place: Int, count: Int) {
        bits = kind << 60 | UInt64(truncatingIfNeeded: count) << 32 | UInt64(truncatingIfNeeded: place)
    }

    var kind: UInt64 { bits >> 60 }
    var place: Int { Int(bits & 0xFFFF_FFFF) }
    var count: Int { Int(bits >> 32 & 0xFFF_FFFF) }
    var isContainer: Bool { kind >= Kind.array }
}
