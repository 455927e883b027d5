// Serialisers for the pieces of a stream.

public import Foundation

/// Makes a value from each piece of a stream.
public protocol DataStreamSerializer: Sendable {
    /// The type of the values.
    associatedtype SerializedObject: Sendable

    /// The value of a piece; throws when the piece cannot be read.
    func serialize(_ data: Data) throws -> SerializedObject
}

/// Returns pieces unchanged.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    /// Makes a serialiser.
    public init() {}
    /// The piece.
    public func serialize(_ data: Data) throws -> Data { data }
}

/// Returns pieces as text; bytes that are not UTF-8 become U+FFFD.
public struct StringStreamSerializer: DataStreamSerializer {
    /// Makes a serialiser.
    public init() {}
    /// The piece as text.
    public func serialize(_ data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
}

/// Decodes a value from each piece.
public struct DecodableStreamSerializer<T: Decodable & Sendable>: DataStreamSerializer {
    /// The decoder.
    public let decoder: any DataDecoder
    /// Changes a piece before it is decoded.
    public let dataPreprocessor: any DataPreprocessor

    /// Makes a serialiser.
    ///
    /// - Parameters:
    ///   - decoder: decodes one piece at a time; a `JSONDecoder` by default.
    ///   - dataPreprocessor: changes a piece before it is decoded; changes nothing by default.
    public init(
        decoder: any DataDecoder = JSONDecoder(), dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) {
        self.decoder = decoder
        self.dataPreprocessor = dataPreprocessor
    }

    /// The value; throws `.decodingFailed(error:)`.
    public func serialize(_ data: Data) throws -> T {
        let prepared = try dataPreprocessor.preprocess(data)
        do {
            return try decoder.value(T.self, from: prepared)
        } catch {
            throw AFError.responseSerializationFailed(reason: .decodingFailed(error: error))
        }
    }
}

extension DataStreamSerializer {
    func result(of data: Data) -> Result<SerializedObject, AFError> {
        do {
            return .success(try serialize(data))
        } catch {
            return .failure(error.asSerializationError)
        }
    }
}

extension DataStreamSerializer where Self == PassthroughStreamSerializer {
    /// Returns pieces unchanged.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// Gives pieces as text.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}

extension DataStreamSerializer {
    /// A serialiser that decodes a value from each piece.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - decoder: decodes one piece at a time; a `JSONDecoder` by default.
    ///   - dataPreprocessor: changes a piece before it is decoded; changes nothing by default.
    /// - Returns: the serialiser.
    @preconcurrency
    public static func decodable<T: Decodable & Sendable>(
        of type: T.Type, decoder: any DataDecoder = JSONDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) -> Self where Self == DecodableStreamSerializer<T> {
        DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: dataPreprocessor)
    }
}

/// Decodes the UTF-8 text of a stream; an incomplete character at the end of a piece is held back until it is complete.
package struct StreamText {
    private var held = Data()

    package init() {}

    package mutating func append(_ data: Data) -> String {
        let all = held.isEmpty ? data : held + data
        let count = Self.wholeByteCount(of: all)
        held = Data(all.dropFirst(count))
        return String(decoding: all.prefix(count), as: UTF8.self)
    }

    /// The replacement (U+FFFD) for an incomplete character at the end of the stream; `nil` when there is none.
    package mutating func finish() -> String? {
        defer { held = Data() }
        return held.isEmpty ? nil : String(decoding: held, as: UTF8.self)
    }

    /// The number of bytes before an incomplete character at the end (RFC 3629 §3); all bytes when there is none.
    static func wholeByteCount(of data: Data) -> Int {
        for (distance, byte) in data.suffix(3).reversed().enumerated() {
            let length =
                switch byte {
                case 0xC2...0xDF: 2
                case 0xE0...0xEF: 3
                case 0xF0...0xF4: 4
                default: 1
                }
            if byte & 0xC0 == 0x80 { continue }
            return length > distance + 1 ? data.count - distance - 1 : data.count
        }
        return data.count
    }
}
