// What makes values of the pieces of a stream.

public import Foundation

/// Makes a value of each piece of a stream.
public protocol DataStreamSerializer: Sendable {
    /// What is made.
    associatedtype SerializedObject: Sendable

    /// The value of a piece; throws when there is none.
    func serialize(_ data: Data) throws -> SerializedObject
}

/// Gives pieces as they are.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    /// Makes a serialiser.
    public init() {}
    /// The piece.
    public func serialize(_ data: Data) throws -> Data { data }
}

/// Gives pieces as text; bytes that are no UTF-8 become U+FFFD.
public struct StringStreamSerializer: DataStreamSerializer {
    /// Makes a serialiser.
    public init() {}
    /// The piece as text.
    public func serialize(_ data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
}

/// Decodes a value of each piece.
public struct DecodableStreamSerializer<T: Decodable & Sendable>: DataStreamSerializer {
    /// The decoder.
    public let decoder: any DataDecoder
    /// Changes a piece before it is decoded.
    public let dataPreprocessor: any DataPreprocessor

    /// Makes a serialiser.
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
            return try decoder.decode(T.self, from: prepared)
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
    /// Gives pieces as they are.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// Gives pieces as text.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}

extension DataStreamSerializer {
    /// Decodes a value of each piece.
    @preconcurrency
    public static func decodable<T: Decodable & Sendable>(
        of type: T.Type, decoder: any DataDecoder = JSONDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) -> Self where Self == DecodableStreamSerializer<T> {
        DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: dataPreprocessor)
    }
}

/// Text of a stream: a character whose bytes come in two pieces is held back until it is whole.
package struct StreamText {
    private var held = Data()

    package init() {}

    package mutating func append(_ data: Data) -> String {
        let all = held.isEmpty ? data : held + data
        let count = Self.wholeByteCount(of: all)
        held = Data(all.dropFirst(count))
        return String(decoding: all.prefix(count), as: UTF8.self)
    }

    /// What an unfinished character at the very end comes to; `nil` when there is none.
    package mutating func finish() -> String? {
        defer { held = Data() }
        return held.isEmpty ? nil : String(decoding: held, as: UTF8.self)
    }

    /// How many bytes there are before an unfinished character at the end (RFC 3629 §3).
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
