// Decoding containers for objects and arrays.

import Foundation

/// An index of an object's names, if there are many, or names with escapes or outside ASCII; the first of equal names
/// counts.
private final class NameIndex {
    var places: [String: Int] = [:]
    /// The names, each once, in the order of the document.
    var names: [String] = []

    init(_ document: Document, _ object: Int) throws {
        let converts = document.options.convertsSnakeCase
        places.reserveCapacity(document.word(object).count)
        var isPlain = true
        document.members(object) { word, place in
            guard var name = document.text(word) else { return }
            if converts {
                isPlain =
                    isPlain
                    && name.withUTF8 { name in
                        name.allSatisfy { $0 < 0x80 } && !SnakeCase.isDoubtful(name)
                    }
                name = SnakeCase.converted(&name)
            }
            guard places[name] == nil else { return }
            places[name] = place
            names.append(name)
        }
        guard isPlain else { throw document.refusal() }
    }
}

/// The container of an object.
struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let document: Document
    private let object: Int
    private let index: NameIndex?

    /// The most names that are searched one after the other; a larger object gets a `NameIndex`.
    private static var longestSearch: Int { 24 }

    init(_ document: Document, _ place: Int) throws {
        (self.document, object) = (document, place)
        let word = document.word(place)
        switch word.kind {
        case Word.Kind.object where word.count <= Self.longestSearch: index = nil
        case Word.Kind.object, Word.Kind.irregularObject: index = try NameIndex(document, place)
        default: throw document.refusal()
        }
    }

    private func place(_ key: Key) -> Int? { place(named: key.stringValue) }

    private func place(named name: String) -> Int? {
        var name = name
        if let index { return index.places[name] }
        if let place = name.withUTF8({ document.find($0, in: object) }) { return place }
        // By Unicode's rules, a name outside ASCII may be equal to an ASCII name, such as U+212A and K: Foundation
        // decides.
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        _ = document.refusal()
        return nil
    }

    private func present(_ key: Key) throws -> Int {
        guard let place = place(key) else { throw document.refusal() }
        return place
    }

    var codingPath: [any CodingKey] { document.path(to: object) }

    var allKeys: [Key] {
        if let index { return index.names.compactMap { Key(stringValue: $0) } }
        var names: [String] = []
        document.members(object) { word, _ in
            guard var name = document.text(word) else { return }
            if document.options.convertsSnakeCase {
                if name.withUTF8({ SnakeCase.isDoubtful($0) }) { _ = document.refusal() }
                name = SnakeCase.converted(&name)
            }
            if !names.contains(name) { names.append(name) }
        }
        return names.compactMap { Key(stringValue: $0) }
    }

    func contains(_ key: Key) -> Bool { place(key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { document.isNull(try present(key)) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try document.value(type, present(key))
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let place = place(key), !document.isNull(place) else { return nil }
        return try document.value(type, place)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        KeyedDecodingContainer(try KeyedContainer<Nested>(document, present(key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try UnkeyedContainer(document, present(key))
    }

    func superDecoder() throws -> any Decoder {
        guard let place = place(named: "super") else { throw document.refusal() }
        return ValueDecoder(document, place)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { ValueDecoder(document, try present(key)) }
}

/// The container of an array.
struct UnkeyedContainer: UnkeyedDecodingContainer {
    private let document: Document
    private let array: Int
    private var place: Int
    private let end: Int
    private(set) var currentIndex = 0

    init(_ document: Document, _ array: Int) throws {
        let word = document.word(array)
        guard word.kind == Word.Kind.array else { throw document.refusal() }
        (self.document, self.array, place, end) = (document, array, array + 1, word.place)
    }

    var codingPath: [any CodingKey] { document.path(to: array) }
    var count: Int? { document.word(array).count }
    var isAtEnd: Bool { place >= end }

    private func present() throws -> Int {
        guard !isAtEnd else { throw document.refusal() }
        return place
    }

    private mutating func advance() {
        place = document.next(place)
        currentIndex += 1
    }

    mutating func decodeNil() throws -> Bool {
        guard document.isNull(try present()) else { return false }
        advance()
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try taking { try $0.value(type, $1) }
    }

    /// Reads the current member, and advances to the next one.
    ///
    /// After a failure the member stays the current one, as with Foundation. After a refusal the container advances:
    /// Foundation might decode this member, and a loop until `isAtEnd` that ignores errors would never end here.
    private mutating func taking<Value>(_ read: (Document, Int) throws -> Value) throws -> Value {
        let member = try present()
        do {
            let value = try read(document, member)
            advance()
            return value
        } catch {
            if document.isRefused { advance() }
            throw error
        }
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try taking { KeyedDecodingContainer(try KeyedContainer<Key>($0, $1)) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try taking { try UnkeyedContainer($0, $1) }
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = ValueDecoder(document, try present())
        advance()
        return decoder
    }
}
