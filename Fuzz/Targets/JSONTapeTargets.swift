// JSON as the tape and as Foundation read it.

import Foundation
import JSONTape

extension FuzzTarget {
    /// Strategies in the first byte, then a document, which several types are decoded of.
    static let jsonTape = FuzzTarget("json-tape", maximumByteCount: 1024) { bytes in
        var rest = bytes
        let decoder = JSONDecoder.withStrategies(rest.takeByte())
        let data = Data(rest)
        try compare(JSONText.self, decoder, data)
        try compare(JSONRecord.self, decoder, data)
        try compare([JSONRecord?].self, decoder, data)
        try compare([String: [String: Double]].self, decoder, data)
        try compare([Double].self, decoder, data)
        try compare([Float].self, decoder, data)
        try compare([UInt64].self, decoder, data)
        try compare([Int8].self, decoder, data)
        try compare([Decimal].self, decoder, data)
        try compare([String].self, decoder, data)
        try compare([Date].self, decoder, data)
        try compare([Data].self, decoder, data)
        try compare([URL].self, decoder, data)
    }

    private static func compare<Value: Decodable & Equatable>(
        _ type: Value.Type, _ decoder: JSONDecoder, _ data: Data
    ) throws {
        guard let value = try? JSONTape(decoder)?.decode(type, from: data) else { return }
        do {
            try expectEqual(value, try decoder.decode(type, from: data), "the tape gives Foundation's \(type)")
        } catch let failure as FuzzFailure {
            throw failure
        } catch {
            throw FuzzFailure(description: "Foundation refuses what the tape gives: \(value), \(error)")
        }
    }
}

extension JSONDecoder {
    /// A decoder with strategies that the tape knows; the bits of a byte choose them.
    fileprivate static func withStrategies(_ bits: UInt8) -> JSONDecoder {
        let decoder = JSONDecoder()
        switch bits & 3 {
        case 0: decoder.dateDecodingStrategy = .deferredToDate
        case 1: decoder.dateDecodingStrategy = .iso8601
        case 2: decoder.dateDecodingStrategy = .secondsSince1970
        default: decoder.dateDecodingStrategy = .millisecondsSince1970
        }
        decoder.keyDecodingStrategy = bits & 4 == 0 ? .useDefaultKeys : .convertFromSnakeCase
        decoder.dataDecodingStrategy = bits & 8 == 0 ? .base64 : .deferredToData
        return decoder
    }
}

/// A type with members of each kind.
private struct JSONRecord: Decodable, Equatable {
    enum Colour: String, Decodable { case red, green }
    enum Shape: Decodable, Equatable { case circle(radius: Double), square(Int), none }
    var id: Int?
    var someName: String?
    var some_name: String?
    var isOpen: Bool?
    var price: Decimal?
    var ratio: Float?
    var size: UInt64?
    var tags: Set<String>?
    var colour: Colour?
    var shape: Shape?
    var link: URL?
    var date: Date?
    var content: Data?
    var numbers: [String: Int]?
    var byNumber: [UInt8: String]?
    var é: Int?
    var next: [JSONRecord]?
}
