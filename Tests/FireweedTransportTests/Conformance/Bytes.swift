// Contents in which each place looks different, so that bytes that are missing or come twice show.

import Foundation

enum Bytes {
    /// The bytes of a text.
    static func text(_ text: String) -> Data { Data(text.utf8) }

    /// So many bytes: numbers of 32 bits that count up from 0.
    static func counted(_ count: Int) -> Data {
        let words = (0..<UInt32((count + 3) / 4)).map(\.bigEndian)
        return words.withUnsafeBytes { Data($0.prefix(count)) }
    }
}
