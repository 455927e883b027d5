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
        /// By a closure of name and index.
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
    /// It changes the whole name at once, keys of inner values and brackets included: `.capitalized` makes
    /// `User[firstName]` of `user[firstName]`, and a closure gets `user[firstName]`.
    public enum KeyEncoding {
        /// As it is.
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
        /// By a closure of the whole name.
        case custom((String) -> String)
    }

    /// How a key inside another is named.
    public struct KeyPathEncoding: Sendable {
        /// `a[b]`.
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// `a.b`.
        public static let dots = KeyPathEncoding { ".\($0)" }

        let encodeSubkey: @Sendable (String) -> String

        /// Makes an encoding of a closure that turns the inner key into what is appended to the outer one.
        @preconcurrency
        public init(encoding: @escaping @Sendable (_ subkey: String) -> String) {
            encodeSubkey = encoding
        }
    }

    /// What becomes of a `nil`.
    public struct NilEncoding: Sendable {
        /// Neither key nor value.
        public static let dropKey = NilEncoding { nil }
        /// `a=`.
        public static let dropValue = NilEncoding { "" }
        /// `a=null`.
        public static let null = NilEncoding { "null" }

        let encodeNil: @Sendable () -> String?

        /// Makes an encoding of a closure that gives the value, or `nil` to drop the key.
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

    /// What an encoder cannot encode.
    public enum Error: Swift.Error {
        /// The outermost value has no keys; the text is its kind.
        case invalidRootObject(String)
    }

    /// Whether pairs are sorted, as they are encoded and level by level, elements of arrays too; otherwise they stay in
    /// their order.
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
    /// How a key inside another is named.
    public let keyPathEncoding: KeyPathEncoding
    /// What becomes of a `nil`.
    public let nilEncoding: NilEncoding
    /// How a space is written.
    public let spaceEncoding: SpaceEncoding
    /// What stands unescaped.
    public var allowedCharacters: CharacterSet

    /// Makes an encoder; every default is the documented one.
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

    /// The value as text; throws `Error.invalidRootObject` for a value without keys, and what the value itself throws.
    public func encode(_ value: any Encodable) throws -> String {
        let node = try FormTree.encode(value, options: self)
        guard case .object = node else { throw Error.invalidRootObject(node.kind) }
        return FormText(options: self).text(of: node)
    }

    /// The value as UTF-8; throws as the other form does.
    public func encode(_ value: any Encodable) throws -> Data {
        let text: String = try encode(value)
        return Data(text.utf8)
    }
}
