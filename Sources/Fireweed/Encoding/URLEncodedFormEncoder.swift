// `Encodable` values as form-encoded text.

public import Foundation

/// Encodes values as `application/x-www-form-urlencoded` text.
public final class URLEncodedFormEncoder {
    /// How the elements of an array are named.
    public enum ArrayEncoding {
        /// `a[]=1`.
        case brackets
        /// `a=1`.
        case noBrackets
        /// `a[0]=1`.
        case indexInBrackets
        /// A name from a closure, which gets the key and the index.
        case custom((_ key: String, _ index: Int) -> String)
    }

    /// How a Boolean is written.
    public enum BoolEncoding {
        /// `1` and `0`.
        case numeric
        /// `true` and `false`.
        case literal
    }

    /// How `Data` is written.
    public enum DataEncoding {
        /// As `Data` encodes itself: an array of numbers.
        case deferredToData
        /// In Base64.
        case base64
        /// By a closure.
        case custom((Data) throws -> String)
    }

    /// How a `Date` is written.
    public enum DateEncoding {
        /// As `Date` encodes itself: seconds since 2001.
        case deferredToDate
        /// Seconds since 1970.
        case secondsSince1970
        /// Milliseconds since 1970.
        case millisecondsSince1970
        /// ISO 8601 in UTC, to the second.
        case iso8601
        /// By a formatter.
        case formatted(DateFormatter)
        /// By a closure.
        case custom((Date) throws -> String)
    }

    /// How the name of a pair is written.
    ///
    /// The encoding changes the whole name, with the keys of inner values and the brackets: `.capitalized` turns
    /// `user[firstName]` into `User[firstName]`, and a closure gets `user[firstName]`.
    public enum KeyEncoding {
        /// The unchanged name.
        case useDefaultKeys
        /// `one_two_three`.
        case convertToSnakeCase
        /// `one-two-three`.
        case convertToKebabCase
        /// `OneTwoThree`.
        case capitalized
        /// `ONETWOTHREE`.
        case uppercased
        /// `onetwothree`.
        case lowercased
        /// A name from a closure, which gets the whole name.
        case custom((String) -> String)
    }

    /// How the key of a nested value is named.
    public struct KeyPathEncoding: Sendable {
        /// `a[b]`.
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// `a.b`.
        public static let dots = KeyPathEncoding { ".\($0)" }

        let encodeSubkey: @Sendable (String) -> String

        /// Makes an encoding from a closure that turns the inner key into the text that is appended to the outer key.
        @preconcurrency
        public init(encoding: @escaping @Sendable (_ subkey: String) -> String) {
            encodeSubkey = encoding
        }
    }

    /// How a `nil` is written.
    public struct NilEncoding: Sendable {
        /// Neither key nor value.
        public static let dropKey = NilEncoding { nil }
        /// `a=`.
        public static let dropValue = NilEncoding { "" }
        /// `a=null`.
        public static let null = NilEncoding { "null" }

        let encodeNil: @Sendable () -> String?

        /// Makes an encoding from a closure that returns the value, or `nil` to drop the key.
        @preconcurrency
        public init(encoding: @escaping @Sendable () -> String?) {
            encodeNil = encoding
        }
    }

    /// How a space is written.
    public enum SpaceEncoding {
        /// `%20`.
        case percentEscaped
        /// `+`.
        case plusReplaced
    }

    /// A value that an encoder cannot encode.
    public enum Error: Swift.Error, LocalizedError {
        /// The outermost value has no keys; the text names its kind.
        case invalidRootObject(String)

        /// A sentence about what is wrong.
        public var errorDescription: String? {
            switch self {
            case .invalidRootObject(let kind): "The outermost value is of the kind “\(kind)”, and a form needs names."
            }
        }
    }

    /// Whether the encoded pairs of each level, and the elements of arrays, are sorted; else they keep their order.
    public let alphabetizeKeyValuePairs: Bool
    /// How the elements of an array are named.
    public let arrayEncoding: ArrayEncoding
    /// How a Boolean is written.
    public let boolEncoding: BoolEncoding
    /// How `Data` is written.
    public let dataEncoding: DataEncoding
    /// How a `Date` is written.
    public let dateEncoding: DateEncoding
    /// How the name of a pair is written.
    public let keyEncoding: KeyEncoding
    /// How the key of a nested value is named.
    public let keyPathEncoding: KeyPathEncoding
    /// How a `nil` is written.
    public let nilEncoding: NilEncoding
    /// How a space is written.
    public let spaceEncoding: SpaceEncoding
    /// The characters that are not escaped.
    public var allowedCharacters: CharacterSet

    /// Makes an encoder.
    ///
    /// - Parameters:
    ///   - alphabetizeKeyValuePairs: whether pairs are sorted; true by default.
    ///   - arrayEncoding: how the elements of an array are named; `a[]=1` by default.
    ///   - boolEncoding: how a Boolean is written; `1` or `0` by default.
    ///   - dataEncoding: how `Data` is written; in Base64 by default.
    ///   - dateEncoding: how a `Date` is written; as seconds since 2001 by default.
    ///   - keyEncoding: how the name of a pair is written; as it is, by default.
    ///   - keyPathEncoding: how the key of a nested value is named; `a[b]` by default.
    ///   - nilEncoding: what is written for `nil`; neither key nor value by default.
    ///   - spaceEncoding: how a space is written; `%20` by default.
    ///   - allowedCharacters: the characters that are not escaped; unreserved characters, `/` and `?` by default.
    public init(
        alphabetizeKeyValuePairs: Bool = true, arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric, dataEncoding: DataEncoding = .base64,
        dateEncoding: DateEncoding = .deferredToDate, keyEncoding: KeyEncoding = .useDefaultKeys,
        keyPathEncoding: KeyPathEncoding = .brackets, nilEncoding: NilEncoding = .dropKey,
        spaceEncoding: SpaceEncoding = .percentEscaped, allowedCharacters: CharacterSet = .afURLQueryAllowed
    ) {
        self.alphabetizeKeyValuePairs = alphabetizeKeyValuePairs
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
        self.dataEncoding = dataEncoding
        self.dateEncoding = dateEncoding
        self.keyEncoding = keyEncoding
        self.keyPathEncoding = keyPathEncoding
        self.nilEncoding = nilEncoding
        self.spaceEncoding = spaceEncoding
        self.allowedCharacters = allowedCharacters
    }

    /// Returns the value as form-encoded text.
    ///
    /// Throws `Error.invalidRootObject` for a value without keys, `EncodingError.invalidValue` for a value that is
    /// nested more than 500 levels deep or encodes containers of two kinds for one key, and rethrows the value's
    /// errors.
    public func encode(_ value: any Encodable) throws -> String {
        let node = try FormTree.encode(value, options: self)
        guard case .object = node else { throw Error.invalidRootObject(node.kind) }
        return FormText(options: self).text(of: node)
    }

    /// Returns the form-encoded text as UTF-8; throws the same errors as the method that returns a string.
    public func encode(_ value: any Encodable) throws -> Data {
        let text: String = try encode(value)
        return Data(text.utf8)
    }
}
