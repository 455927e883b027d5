// The facts about a head that every response needs.

extension ResponseHead {
    /// Facts about the fields of a head.
    package struct Marks: OptionSet, Sendable {
        package let rawValue: UInt8

        /// There is a `Set-Cookie` field.
        package static let setsCookies = Marks(rawValue: 1)
        /// There is a cache control, an expiry or a validator, without which a response is not worth storing.
        package static let mayBeWorthStoring = Marks(rawValue: 2)
        /// `Content-Length` is not a number, or its values differ: a recipient that continues might take one response's
        /// content for the next response's head (RFC 9112 §6.3).
        package static let hasUnsoundLength = Marks(rawValue: 4)
        /// The content has a coding (RFC 9110 §8.4).
        static let hasContentCoding = Marks(rawValue: 8)
        /// There is a `Strict-Transport-Security` field (RFC 6797 §6.1).
        package static let hasStrictTransportSecurity = Marks(rawValue: 16)

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Records a field; adds lengths to `length`, which is checked at the end of the head.
        mutating func note(
            _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ length: inout AnnouncedLength
        ) {
            switch name.count {
            case 4 where name.isFieldName("etag"): insert(.mayBeWorthStoring)
            case 7 where name.isFieldName("expires"): insert(.mayBeWorthStoring)
            case 10 where name.isFieldName("set-cookie"): insert(.setsCookies)
            case 13 where name.isFieldName("cache-control") || name.isFieldName("last-modified"):
                insert(.mayBeWorthStoring)
            case 16 where name.isFieldName("content-encoding"): insert(.hasContentCoding)
            case 25 where name.isFieldName("strict-transport-security"): insert(.hasStrictTransportSecurity)
            case 14 where name.isFieldName("content-length"): length.note(value)
            default: break
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether a token equals `lowercase`, ignoring case; both must have the same length, which must not be zero.
    ///
    /// The comparison ignores one bit, which is the case of a letter. That bit also distinguishes `^` and `~`, but no
    /// name here contains these.
    @inline(__always)
    func isFieldName(_ lowercase: StaticString) -> Bool {
        // Nearly all other names already differ in the first letter.
        guard let base = baseAddress, base.byte(0) | 0x20 == lowercase.utf8Start[0] else { return false }
        return isRest(base, lowercase.utf8Start)
    }

    private func isRest(_ base: UnsafeRawPointer, _ expected: UnsafePointer<UInt8>) -> Bool {
        var index = 1
        while index < count, base.byte(index) | 0x20 == expected[index] { index &+= 1 }
        return index >= count
    }
}
