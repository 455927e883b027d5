// An ordered set of header fields.

import FireweedTransport
import Foundation
public import FoundationNetworking

/// Header fields in the order in which they were added; each name, compared without case, occurs once.
public struct HTTPHeaders: Equatable, Hashable, Sendable {
    private var headers: [HTTPHeader] = []
    /// The position of each name; `nil` while there are few fields.
    ///
    /// A search through all names for each added field takes seconds for 10,000 fields.
    private var positions: [FieldName: Int]?

    /// The number of fields from which on `positions` is kept.
    private static let indexedCount = 32

    /// Makes an empty set.
    public init() {}

    /// Makes a set of fields; of two fields with one name the later value counts, at the first position.
    public init(_ headers: [HTTPHeader]) {
        for header in headers { update(header) }
    }

    /// Makes a set of names and values, sorted by name, since a dictionary has no order.
    public init(_ dictionary: [String: String]) {
        self.init(dictionary.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) })
    }

    /// Adds a field, or replaces the field of this name at its position.
    public mutating func add(name: String, value: String) {
        update(HTTPHeader(name: name, value: value))
    }

    /// Adds a field, or replaces the field of this name at its position.
    public mutating func add(_ header: HTTPHeader) {
        update(header)
    }

    /// Adds a field, or replaces the field of this name at its position.
    public mutating func update(name: String, value: String) {
        update(HTTPHeader(name: name, value: value))
    }

    /// Adds a field, or replaces the field of this name at its position.
    public mutating func update(_ header: HTTPHeader) {
        if let index = index(of: header.name) {
            headers[index] = header
        } else {
            headers.append(header)
            if positions != nil { positions?[FieldName(header.name)] = headers.count - 1 } else { indexNames() }
        }
    }

    /// Removes the field of this name, if there is one.
    public mutating func remove(name: String) {
        guard let index = index(of: name) else { return }
        headers.remove(at: index)
        indexNames()
    }

    /// Sorts the fields by name, without case.
    public mutating func sort() {
        headers.sort { $0.name.lowercased() < $1.name.lowercased() }
        indexNames()
    }

    /// The fields sorted by name, without case.
    public func sorted() -> HTTPHeaders {
        var sorted = self
        sorted.sort()
        return sorted
    }

    /// The value of the field of this name, compared without case.
    public func value(for name: String) -> String? {
        index(of: name).map { headers[$0].value }
    }

    /// The value of the field of this name; setting `nil` removes it.
    public subscript(_ name: String) -> String? {
        get { value(for: name) }
        set {
            if let newValue { update(name: name, value: newValue) } else { remove(name: name) }
        }
    }

    /// Names and values, without an order.
    public var dictionary: [String: String] {
        Dictionary(headers.map { ($0.name, $0.value) }) { _, later in later }
    }

    private func index(of name: String) -> Int? {
        if let positions { return positions[FieldName(name)] }
        return headers.firstIndex { $0.name.isEqualIgnoringASCIICase(name) }
    }

    /// Rebuilds `positions`, if there are enough fields.
    private mutating func indexNames() {
        guard headers.count >= Self.indexedCount else { return positions = nil }
        positions = Dictionary(headers.indices.map { (FieldName(headers[$0].name), $0) }) { first, _ in first }
    }

    /// Two sets are equal when they have the same fields in the same order.
    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.headers == right.headers
    }

    /// Hashes the fields in their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(headers)
    }
}

/// A name in the form in which names are compared: without the case of ASCII letters (RFC 9110 §5.1).
private struct FieldName: Hashable, Sendable {
    private let bytes: [UInt8]

    init(_ name: String) {
        bytes = name.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    /// Makes a set of names and values in the order of the literal; later duplicates win.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    /// Makes a set of fields in the order of the literal; later duplicates win.
    public init(arrayLiteral elements: HTTPHeader...) {
        self.init(elements)
    }
}

extension HTTPHeaders: Collection {
    /// The first position.
    public var startIndex: Int { headers.startIndex }
    /// The position after the last field.
    public var endIndex: Int { headers.endIndex }
    /// The field at a position.
    public subscript(position: Int) -> HTTPHeader { headers[position] }
    /// The position after `index`.
    public func index(after index: Int) -> Int { headers.index(after: index) }
    /// An iterator over the fields in their order.
    public func makeIterator() -> IndexingIterator<[HTTPHeader]> { headers.makeIterator() }
}

extension HTTPHeaders: CustomStringConvertible {
    /// A line for each field.
    public var description: String { headers.map(\.description).joined(separator: "\n") }
}

extension HTTPHeaders {
    /// The fields that every request of a default session carries: encodings, languages if the user has any, and user
    /// agent.
    public static let `default` = HTTPHeaders(
        [.defaultAcceptEncoding, .languageOfUser, .defaultUserAgent].compactMap(\.self))
}

extension URLRequest {
    /// The header fields of the request.
    public var headers: HTTPHeaders {
        get { HTTPHeaders(allHTTPHeaderFields ?? [:]) }
        set {
            // All fields are set at once: for single fields, Foundation changes the case of names (`Soapaction`), and
            // takes quadratic time.
            allHTTPHeaderFields = newValue.isEmpty ? nil : newValue.dictionary
        }
    }
}

extension HTTPURLResponse {
    /// The header fields of the response.
    public var headers: HTTPHeaders {
        HTTPHeaders(
            allHeaderFields.compactMap { name, value in
                guard let name = name as? String, let value = value as? String else { return nil }
                return HTTPHeader(name: name, value: value)
            })
    }
}

extension URLSessionConfiguration {
    /// The header fields that every request of the session carries, unless the request has its own.
    ///
    /// Numbers among the values of `httpAdditionalHeaders` become text (`true` becomes `1`). Names and values that are
    /// neither text nor numbers are left out.
    public var headers: HTTPHeaders {
        get {
            HTTPHeaders(
                (httpAdditionalHeaders ?? [:]).compactMap { name, value in
                    guard let name = name as? String else { return nil }
                    let text = value as? String ?? (value as? NSNumber)?.stringValue
                    return text.map { HTTPHeader(name: name, value: $0) }
                })
        }
        set { httpAdditionalHeaders = newValue.dictionary }
    }
}
