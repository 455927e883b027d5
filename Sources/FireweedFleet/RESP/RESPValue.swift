// A value in a reply of RESP.

package import Foundation

/// A value of the Redis serialisation protocol, version 2 or 3.
package indirect enum RESPValue: Sendable, Equatable {
    /// No value: `_` of RESP3, `$-1` and `*-1` of RESP2.
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    /// An integer of any size, as its digits.
    case bigNumber(String)
    /// A status, such as `OK`.
    case simple(String)
    case bulk([UInt8])
    case error(RESPError)
    case array([RESPValue])
    case set([RESPValue])
    case map([RESPPair])
    /// A message that is not a reply to a command.
    case push([RESPValue])

    /// The bytes of a bulk string or the UTF-8 of a status.
    package var bytes: [UInt8]? {
        switch self {
        case .bulk(let bytes): bytes
        case .simple(let text): Array(text.utf8)
        case .null, .boolean, .integer, .double, .bigNumber, .error, .array, .set, .map, .push: nil
        }
    }

    /// `bytes` as `Data`.
    package var data: Data? { bytes.map { Data($0) } }

    /// `bytes` as text; `nil` when they are not valid UTF-8.
    package var text: String? { bytes.flatMap { String(validating: $0, as: UTF8.self) } }

    /// An integer, or a string of decimal digits.
    package var integer: Int64? {
        if case .integer(let value) = self { return value }
        return text.flatMap { Int64($0) }
    }

    /// The elements of an array, a set or a push; for a map, keys and values alternately, as RESP2 sends a map.
    package var elements: [RESPValue]? {
        switch self {
        case .array(let values), .set(let values), .push(let values): values
        case .map(let pairs): pairs.flatMap { [$0.key, $0.value] }
        case .null, .boolean, .integer, .double, .bigNumber, .simple, .bulk, .error: nil
        }
    }

    /// Whether the value is `null`.
    package var isNull: Bool { self == .null }
}

/// A key of a map and its value.
package struct RESPPair: Sendable, Equatable {
    package let key: RESPValue
    package let value: RESPValue

    package init(key: RESPValue, value: RESPValue) {
        self.key = key
        self.value = value
    }
}

/// An error reply: a word in capitals, such as `WRONGTYPE`, and a sentence.
package struct RESPError: Sendable, Hashable {
    /// The first word; `ERR` where the server has no better word.
    package let code: String
    /// The rest of the text.
    package let message: String

    /// Splits the text of an error.
    package init(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        code = parts.first.map(String.init) ?? ""
        message = parts.count > 1 ? String(parts[1]) : ""
    }
}
