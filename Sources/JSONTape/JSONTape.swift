// The entry point of the decoder.

package import Foundation

/// Decodes JSON as `JSONDecoder` does, about three times as fast, or refuses to decode it.
///
/// The content is scanned first, into a tape of one word for each value and name; then `Decodable` types are made from
/// the tape. Doubtful content and content that fails are refused: ``decode(_:from:)`` throws a ``Refusal``, and
/// `JSONDecoder` has to decode. A type's `init(from:)` then runs a second time.
package struct JSONTape: Sendable {
    enum DateForm: Sendable {
        case ofDate, secondsSince1970, millisecondsSince1970, iso8601
    }

    let dates: DateForm
    let decodesBase64: Bool
    let convertsSnakeCase: Bool

    /// Takes over the strategies of a decoder; `nil` if this type does not support them, so that the `JSONDecoder` has
    /// to decode the content.
    ///
    /// The result is `nil` if the decoder is of a subclass, has `userInfo`, allows JSON5, assumes an object at the top,
    /// or has a strategy that is a closure, a formatter, or one for numbers that are not finite.
    package init?(_ decoder: JSONDecoder) {
        guard type(of: decoder) == JSONDecoder.self, !decoder.allowsJSON5, !decoder.assumesTopLevelDictionary,
            decoder.userInfo.isEmpty, case .throw = decoder.nonConformingFloatDecodingStrategy
        else { return nil }
        switch decoder.dateDecodingStrategy {
        case .deferredToDate: dates = .ofDate
        case .secondsSince1970: dates = .secondsSince1970
        case .millisecondsSince1970: dates = .millisecondsSince1970
        case .iso8601: dates = .iso8601
        default: return nil
        }
        switch decoder.dataDecodingStrategy {
        case .base64: decodesBase64 = true
        case .deferredToData: decodesBase64 = false
        default: return nil
        }
        switch decoder.keyDecodingStrategy {
        case .useDefaultKeys: convertsSnakeCase = false
        case .convertFromSnakeCase: convertsSnakeCase = true
        default: return nil
        }
    }

    /// Content that `JSONDecoder` has to decode.
    package struct Refusal: Error {}

    /// Returns the value that `JSONDecoder` would return; throws a ``Refusal`` if `JSONDecoder` has to decode.
    // Not an `Optional` value, whose metadata generic code looks up at each use.
    package func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try data.withUnsafeBytes { content in
            try content.withMemoryRebound(to: UInt8.self) { content in
                guard var document = Document(content, self) else { throw Refusal() }
                // A type may keep its decoder. If that decoder had to be refused after this call, it would be too late
                // for `JSONDecoder` to take over, so `JSONDecoder` decodes now.
                defer { if !isKnownUniquelyReferenced(&document) { document.keepContent() } }
                let value: Value
                do { value = try document.value(type, 0) } catch { throw Refusal() }
                guard isKnownUniquelyReferenced(&document), !document.isRefused else { throw Refusal() }
                return value
            }
        }
    }
}
