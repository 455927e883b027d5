// What is asked of every head.

extension ResponseHead {
    /// Facts about the fields of a head.
    package struct Marks: OptionSet, Sendable {
        package let rawValue: UInt8

        /// There is a `Set-Cookie` field.
        package static let setsCookies = Marks(rawValue: 1)
        /// There is a field that could make the response worth storing: of its freshness, or a validator.
        package static let mayBeWorthStoring = Marks(rawValue: 2)
        /// A length is announced that is no number, or several that differ: whoever reads on then may take one response's content for
        /// the next one's head (RFC 9112 §6.3).
        package static let hasUnsoundLength = Marks(rawValue: 4)
        /// The content has a coding (RFC 9110 §8.4).
        static let hasContentCoding = Marks(rawValue: 8)
        /// The content has a length or a transfer coding: it does not end with the connection (RFC 9112 §6.3).
        static let isFramed = Marks(rawValue: 16)

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        init(of section: [UInt8]) {
            var marks: Marks = []
            // The pointer stays good: it leads into the section, which is held meanwhile.
            var length: UnsafeRawBufferPointer?
            ResponseHead.forEachLine(of: section) { name, value in
                switch name.count {
                case 4 where ResponseHead.isName(name, "ETag"): marks.insert(.mayBeWorthStoring)
                case 7 where ResponseHead.isName(name, "Expires"): marks.insert(.mayBeWorthStoring)
                case 10 where ResponseHead.isName(name, "Set-Cookie"): marks.insert(.setsCookies)
                case 13 where ResponseHead.isName(name, "Cache-Control") || ResponseHead.isName(name, "Last-Modified"):
                    marks.insert(.mayBeWorthStoring)
                case 16 where ResponseHead.isName(name, "Content-Encoding"): marks.insert(.hasContentCoding)
                case 17 where ResponseHead.isName(name, "Transfer-Encoding"): marks.insert(.isFramed)
                case 14 where ResponseHead.isName(name, "Content-Length"):
                    marks.insert(.isFramed)
                    if !Self.isSound(value, like: &length) { marks.insert(.hasUnsoundLength) }
                default: break
                }
                return true
            }
            self = marks
        }

        /// True when every length in the list is a number, and the same as those before it.
        private static func isSound(_ list: UnsafeRawBufferPointer, like known: inout UnsafeRawBufferPointer?) -> Bool {
            var rest = list[...]
            while true {
                let end = rest.firstIndex(of: 0x2C) ?? rest.endIndex
                let digits = ResponseHead.trimmed(rest[..<end])
                let isNumber = !digits.isEmpty && digits.count <= 18 && digits.allSatisfy { 0x30...0x39 ~= $0 }
                guard isNumber, known?.elementsEqual(digits) ?? true else { return false }
                known = digits
                if end == rest.endIndex { return true }
                rest = rest[(end + 1)...]
            }
        }
    }
}
