// An argument of a command.

package import Foundation

/// One argument of a command: bytes of any kind.
///
/// String and integer literals are arguments.
package struct RESPArgument: Sendable, Hashable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
    package let bytes: [UInt8]

    package init(_ text: String) { bytes = Array(text.utf8) }
    package init(_ number: some BinaryInteger) { bytes = Array(String(number).utf8) }
    package init(_ bytes: [UInt8]) { self.bytes = bytes }
    package init(_ data: Data) { bytes = Array(data) }
    package init(stringLiteral text: String) { self.init(text) }
    package init(integerLiteral number: Int64) { self.init(number) }

    /// Encodes a command: an array of bulk strings, the same in RESP2 and RESP3.
    package static func encode(_ arguments: [RESPArgument]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(arguments.reduce(16) { $0 + $1.bytes.count + 16 })
        func header(_ mark: UInt8, _ count: Int) {
            bytes.append(mark)
            bytes.append(contentsOf: String(count).utf8)
            bytes.append(contentsOf: [0x0D, 0x0A])
        }
        header(UInt8(ascii: "*"), arguments.count)
        for argument in arguments {
            header(UInt8(ascii: "$"), argument.bytes.count)
            bytes.append(contentsOf: argument.bytes)
            bytes.append(contentsOf: [0x0D, 0x0A])
        }
        return bytes
    }
}
