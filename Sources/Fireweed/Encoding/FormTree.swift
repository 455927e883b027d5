// An `Encoder` that makes form nodes.

import Foundation

/// Encodes an `Encodable` value as a tree of form nodes.
enum FormTree {
    static func encode(_ value: any Encodable, options: URLEncodedFormEncoder) throws -> FormNode {
        let storage = FormStorage(FormFaults())
        try FormValueEncoder(storage: storage, path: [], options: options).encode(value)
        if let fault = storage.faults.first { throw EncodingError.invalidValue(value, fault) }
        return storage.node
    }
}

/// Encodes one value into one storage.
private struct FormValueEncoder: Encoder {
    let storage: FormStorage
    let path: [any CodingKey]
    let options: URLEncodedFormEncoder

    var codingPath: [any CodingKey] { path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        note(storage.becomeObject())
        return KeyedEncodingContainer(FormKeyedContainer<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        note(storage.becomeArray())
        return FormUnkeyedContainer(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        FormSingleContainer(encoder: self)
    }

    func child(_ storage: FormStorage, _ key: any CodingKey) -> FormValueEncoder {
        // The path stops growing below the deepest level, since the fault for the depth reports no path.
        let inner = path.count > FormFaults.deepestLevel ? path : path + [key]
        return FormValueEncoder(storage: storage, path: inner, options: options)
    }

    /// Records a fault, which is thrown at the end: methods that make containers cannot throw.
    fileprivate func note(_ fault: FormFaults.Fault?) {
        if let fault { storage.faults.note(fault, at: path) }
    }

    /// Adds an element to this array, and returns the encoder of the element.
    func element() -> FormValueEncoder {
        let index = storage.elementCount
        return child(storage.element(), FormKey("\(index)"))
    }

    /// Encodes any value; dates, data and Booleans as the options say, decimals and URLs as text.
    func encode(_ value: any Encodable) throws {
        // The depth is checked before the value encodes its members: without a limit, that could overflow the stack.
        if path.count > FormFaults.deepestLevel {
            throw EncodingError.invalidValue(value, FormFaults.context(of: .depth, at: path))
        }
        switch value {
        case let date as Date: try encode(date)
        case let data as Data: try encode(data)
        case let decimal as Decimal: set(.text(decimal.description))
        case let url as URL: set(.text(url.absoluteString))
        case let bool as Bool: encode(bool)
        case let text as String: set(.text(text))
        default: try value.encode(to: self)
        }
    }

    func set(_ node: FormNode) { note(storage.set(node)) }

    func encode(_ value: Bool) {
        switch options.boolEncoding {
        case .numeric: set(.text(value ? "1" : "0"))
        case .literal: set(.text(value ? "true" : "false"))
        }
    }

    private func encode(_ date: Date) throws {
        switch options.dateEncoding {
        case .deferredToDate: try date.encode(to: self)
        case .secondsSince1970: set(.text("\(date.timeIntervalSince1970)"))
        case .millisecondsSince1970: set(.text("\(date.timeIntervalSince1970 * 1000)"))
        case .iso8601: set(.text(date.formatted(.iso8601)))
        case .formatted(let formatter): set(.text(formatter.string(from: date)))
        case .custom(let encode): set(.text(try encode(date)))
        }
    }

    private func encode(_ data: Data) throws {
        switch options.dataEncoding {
        case .deferredToData: try data.encode(to: self)
        case .base64: set(.text(data.base64EncodedString()))
        case .custom(let encode): set(.text(try encode(data)))
        }
    }
}

private struct FormSingleContainer: SingleValueEncodingContainer {
    let encoder: FormValueEncoder
    var codingPath: [any CodingKey] { encoder.path }

    mutating func encodeNil() { encoder.set(.null) }
    mutating func encode(_ value: Bool) { encoder.encode(value) }
    mutating func encode(_ value: String) { encoder.set(.text(value)) }
    mutating func encode(_ value: Double) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: Float) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: Int) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: Int8) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: Int16) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: Int32) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: Int64) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: UInt) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: UInt8) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: UInt16) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: UInt32) { encoder.set(.text("\(value)")) }
    mutating func encode(_ value: UInt64) { encoder.set(.text("\(value)")) }
    mutating func encode<T: Encodable>(_ value: T) throws { try encoder.encode(value) }
}

private struct FormKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: FormValueEncoder
    var codingPath: [any CodingKey] { encoder.path }

    mutating func encodeNil(forKey key: Key) { place(key).set(.null) }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try place(key).encode(value)
    }

    // The default implementations omit a nil; here the options decide whether a nil is written.
    mutating func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: String?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try present(value, key) }
    mutating func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try present(value, key) }

    private mutating func present<T: Encodable>(_ value: T?, _ key: Key) throws {
        if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        opened(key).container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        opened(key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { FormSuperEncoder(subclass: encoder) }

    mutating func superEncoder(forKey key: Key) -> any Encoder { opened(key) }

    private func place(_ key: Key) -> FormValueEncoder {
        encoder.child(encoder.storage.member(key.stringValue), key)
    }

    private func opened(_ key: Key) -> FormValueEncoder {
        encoder.child(encoder.storage.openMember(key.stringValue), key)
    }
}

private struct FormUnkeyedContainer: UnkeyedEncodingContainer {
    let encoder: FormValueEncoder
    var codingPath: [any CodingKey] { encoder.path }
    var count: Int { encoder.storage.elementCount }

    mutating func encodeNil() { place().set(.null) }

    mutating func encode<T: Encodable>(_ value: T) throws { try place().encode(value) }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        place().container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { place().unkeyedContainer() }

    mutating func superEncoder() -> any Encoder { FormSuperEncoder(subclass: encoder) }

    private func place() -> FormValueEncoder { encoder.element() }
}

/// Encodes a superclass into the container of its subclass, as Alamofire does: forms have no key for a superclass.
///
/// Members are added to the members of an object, elements to the elements of an array. When the two classes have
/// different containers, Alamofire drops the subclass's values; here the superclass becomes one element of the array,
/// or the member `super` of the object.
private final class FormSuperEncoder: Encoder {
    let subclass: FormValueEncoder
    /// The superclass's own storage, made once: a superclass may ask for several containers.
    private lazy var place = makePlace()

    init(subclass: FormValueEncoder) { self.subclass = subclass }

    var codingPath: [any CodingKey] { subclass.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        (subclass.storage.isArray ? place : subclass).container(keyedBy: type)
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        (subclass.storage.isArray ? subclass : place).unkeyedContainer()
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { place.singleValueContainer() }

    /// Makes a new element of the array, or the member `super` of the object.
    private func makePlace() -> FormValueEncoder {
        if subclass.storage.isArray { return subclass.element() }
        return subclass.child(subclass.storage.openMember("super"), FormKey("super"))
    }
}

/// A key made from a string or an index.
private struct FormKey: CodingKey {
    let stringValue: String
    var intValue: Int? { Int(stringValue) }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { stringValue = "\(intValue)" }
}
