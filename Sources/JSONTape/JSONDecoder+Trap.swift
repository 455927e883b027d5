// Decoding by Foundation, kept from a trap of it.

package import Foundation

extension JSONDecoder {
    /// Decodes a value as `decode(_:from:)` does, and throws the same errors.
    ///
    /// Foundation (Swift 6.3 on Linux) ends the process for content whose last character opens the 513th array: its
    /// error would name a position behind the content. With a space there, the error is thrown.
    package func decodeWithoutTrap<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try decode(type, from: data.endingInNoBracket)
    }
}

extension Data {
    /// A bracket at the end and a space behind it, in UTF-32, UTF-16 and UTF-8, of either order of bytes.
    private static let brackets: [(bracket: [UInt8], space: [UInt8])] = [
        ([0, 0, 0, 0x5B], [0, 0, 0, 0x20]), ([0x5B, 0, 0, 0], [0x20, 0, 0, 0]), ([0, 0x5B], [0, 0x20]),
        ([0x5B, 0], [0x20, 0]), ([0x5B], [0x20]),
    ]

    /// The content, with a space behind a bracket that opens an array at the end; such content is no JSON anyway.
    fileprivate var endingInNoBracket: Data {
        guard let last, last == 0x5B || last == 0 else { return self }
        guard let (_, space) = Self.brackets.first(where: { suffix($0.bracket.count).elementsEqual($0.bracket) }) else {
            return self
        }
        return self + space
    }
}
