// The decoder of one value.

import Foundation

extension Document {
    /// Decodes the value at a place; throws a refusal, or an error of the type.
    func value<Value: Decodable>(_ type: Value.Type, _ place: Int) throws -> Value {
        if isRefused {
            guard !isSpent else { throw refusal() }
            noteEffort()
        }
        // SAFETY: each cast is between one type and itself.
        if type == String.self { return unsafeBitCast(try string(place), to: Value.self) }
        if type == Int.self { return unsafeBitCast(try integer(Int.self, place), to: Value.self) }
        if type == Double.self { return unsafeBitCast(try floatingPoint(Double.self, place), to: Value.self) }
        if type == Bool.self { return unsafeBitCast(try bool(place), to: Value.self) }
        if type == Int64.self { return unsafeBitCast(try integer(Int64.self, place), to: Value.self) }
        if type == UInt64.self { return unsafeBitCast(try integer(UInt64.self, place), to: Value.self) }
        if type == UInt.self { return unsafeBitCast(try integer(UInt.self, place), to: Value.self) }
        if type == Int32.self { return unsafeBitCast(try integer(Int32.self, place), to: Value.self) }
        if type == UInt32.self { return unsafeBitCast(try integer(UInt32.self, place), to: Value.self) }
        if type == Int16.self { return unsafeBitCast(try integer(Int16.self, place), to: Value.self) }
        if type == UInt16.self { return unsafeBitCast(try integer(UInt16.self, place), to: Value.self) }
        if type == Int8.self { return unsafeBitCast(try integer(Int8.self, place), to: Value.self) }
        if type == UInt8.self { return unsafeBitCast(try integer(UInt8.self, place), to: Value.self) }
        if type == Float.self { return unsafeBitCast(try floatingPoint(Float.self, place), to: Value.self) }
        if type == Date.self, options.dates != .ofDate { return unsafeBitCast(try date(place), to: Value.self) }
        if type == URL.self { return unsafeBitCast(try url(place), to: Value.self) }
        if type == Data.self, options.decodesBase64 { return unsafeBitCast(try data(place), to: Value.self) }
        if type == Decimal.self { return unsafeBitCast(try decimal(place), to: Value.self) }
        if type == Int128.self || type == UInt128.self { throw refusal() }
        if isStringDictionary(type) { return try stringDictionary(type, place) }
        return try Value(from: ValueDecoder(self, place))
    }

    // Not inlined: the cast would make `value` look up the type `Value?` at each call.
    @inline(never)
    private func stringDictionary<Value: Decodable>(_ type: Value.Type, _ place: Int) throws -> Value {
        let dictionary = type as? any StringDictionary.Type
        guard let value = try dictionary?.decoded(ValueDecoder(self, place)) as? Value else { throw refusal() }
        return value
    }

    private func date(_ place: Int) throws -> Date {
        switch options.dates {
        case .secondsSince1970: return Date(timeIntervalSince1970: try floatingPoint(Double.self, place))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try floatingPoint(Double.self, place) / 1000)
        case .iso8601, .ofDate:
            guard let date = try? Date(try string(place), strategy: .iso8601) else { throw refusal() }
            return date
        }
    }

    private func url(_ place: Int) throws -> URL {
        guard let url = URL(string: try string(place)) else { throw refusal() }
        return url
    }

    private func data(_ place: Int) throws -> Data {
        guard let data = Data(base64Encoded: try string(place)) else { throw refusal() }
        return data
    }
}

/// A dictionary whose keys are the unchanged names of an object, whatever the strategy for keys.
protocol StringDictionary {
    static func decoded(_ decoder: ValueDecoder) throws -> any StringDictionary
}

extension Dictionary: StringDictionary where Key == String, Value: Decodable {
    static func decoded(_ decoder: ValueDecoder) throws -> any StringDictionary {
        let document = decoder.document
        guard document.word(decoder.place).kind >= Word.Kind.object else { throw document.refusal() }
        var (value, failure): (Self, (any Error)?) = ([:], nil)
        document.members(decoder.place) { name, place in
            guard failure == nil, let name = document.text(name) else { return }
            // If a name occurs twice, Foundation decodes both values and chooses one. The document is left to
            // Foundation, so that the result is the same.
            guard value[name] == nil else { return failure = document.refusal() }
            do { value[name] = try document.value(Value.self, place) } catch { failure = error }
        }
        if let failure { throw failure }
        return value
    }
}

/// A decoder of one value, and its single-value container.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let document: Document
    let place: Int

    init(_ document: Document, _ place: Int) {
        (self.document, self.place) = (document, place)
    }

    /// The names and indices that lead to the value.
    ///
    /// Foundation's path has keys of the callers' `CodingKey` types, and this path does not: reading the path refuses
    /// the document.
    var codingPath: [any CodingKey] { document.path(to: place) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try KeyedContainer<Key>(document, place))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try UnkeyedContainer(document, place) }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { document.isNull(place) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try document.value(type, place) }
}

/// A key that is a name, or an index in an array.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    init(intValue: Int) { (stringValue, self.intValue) = ("Index \(intValue)", intValue) }
}

extension Document {
    /// Returns the names and indices that lead to a value, and refuses the document.
    func path(to place: Int) -> [any CodingKey] {
        _ = refusal()
        guard !isSpent else { return [PathKey(stringValue: "")] }
        var (path, container): ([any CodingKey], Int) = ([], 0)
        while container < place, word(container).isContainer {
            let isObject = word(container).kind != Word.Kind.array
            var (member, index) = (container + 1, 0)
            if isObject { member += 1 }
            // Find the member that contains the place.
            while next(member) <= place, next(member) < word(container).place {
                member = next(member) + (isObject ? 1 : 0)
                index += 1
                noteEffort()
            }
            let name = isObject ? text(word(member - 1)) ?? "" : ""
            noteEffort(1 + name.utf8.count / 64)
            path.append(isObject ? PathKey(stringValue: name) : PathKey(intValue: index))
            container = member
        }
        return path
    }
}
