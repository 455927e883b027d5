// JSON as a value that can be written as a Swift literal.

import Fireweed
public import Foundation

/// A JSON text (RFC 8259) as a value, which Swift literals can express.
///
/// ```swift
/// let user: JSONValue = ["id": 42, "name": "Ada", "tags": ["admin", nil]]
/// ```
///
/// Two numbers with the same value are equal: `1` equals `1.0`. The order of an object's members has no meaning.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without a fraction that fits into 64 bits.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object. Of members with the same name, parsing keeps the first one, and a Swift literal the last one.
    case object([String: JSONValue])

    /// Reads a JSON text.
    ///
    /// - Throws: `DecodingError` when `data` is not JSON.
    public init(parsing data: Data) throws {
        self = try FireweedJSONDecoder().decode(JSONValue.self, from: data)
    }

    /// Makes the JSON value of an `Encodable` value.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - encoder: encodes the value.
    /// - Throws: the encoder's error.
    public init(encoding value: some Encodable, with encoder: JSONEncoder = JSONEncoder()) throws {
        if let value = value as? JSONValue {
            self = value
        } else {
            self = try JSONValue(parsing: encoder.encode(value))
        }
    }

    /// The member of an object; `nil` for other values, and when there is no member of this name.
    public subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The element of an array; `nil` for other values, and beyond the array's end.
    public subscript(index: Int) -> JSONValue? {
        if case .array(let elements) = self, elements.indices.contains(index) {
            elements[index]
        } else {
            nil
        }
    }

    /// The string, or `nil` for other values.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The number, or `nil` for other values.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// The number without a fraction, or `nil` for other values.
    public var integer: Int64? {
        switch self {
        case .integer(let number): number
        case .number(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// The JSON text, with the members of objects in the order of their names.
    public var data: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding fails only for infinity and NaN, which JSON does not have: only a wrong test can have written them.
        return (try? encoder.encode(self)) ?? Data("null".utf8)
    }
}

extension JSONValue: Hashable {
    /// Whether both are the same JSON: numbers are compared by value, objects regardless of order.
    public static func == (one: JSONValue, other: JSONValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.integer(let one), .integer(let other)): one == other
        case (.string(let one), .string(let other)): one == other
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        case (.integer, .number), (.number, .integer), (.number, .number): one.double == other.double
        default: false
        }
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer, .number: hasher.combine(double)
        case .string(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value)
        }
    }
}

extension JSONValue: Codable {
    /// The maximum number of nesting levels: each level uses stack, and a Dispatch thread has only 512 KiB.
    private static let depthLimit = 64

    /// Decodes any JSON of up to 64 levels.
    ///
    /// - Throws: `DecodingError` for deeper JSON too.
    public init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count <= Self.depthLimit else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath, debugDescription: "more than \(Self.depthLimit) levels"))
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The JSON text.
    public var description: String { String(decoding: data, as: UTF8.self) }
}
