// Encoders of parameters that are dictionaries.

public import Foundation
public import FoundationNetworking

/// Parameters of a request by name.
public typealias Parameters = [String: any Any & Sendable]

/// Encodes parameters into a request.
public protocol ParameterEncoding: Sendable {
    /// Encodes parameters into a request.
    ///
    /// - Parameters:
    ///   - urlRequest: makes the request.
    ///   - parameters: names and values; `nil` where a request has none, which the library's encodings leave as it is.
    /// - Returns: the request with the parameters.
    /// - Throws: the errors of `urlRequest`, and `AFError.parameterEncodingFailed(reason:)`; another error
    ///   reaches the caller in `AFError.createURLRequestFailed(error:)`.
    func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest
}

/// Puts parameters into the query or, form-encoded, into the content.
public struct URLEncoding: ParameterEncoding {
    /// Where the parameters go.
    public enum Destination: Sendable {
        /// Into the query for GET, HEAD and DELETE, into the content otherwise.
        case methodDependent
        /// Into the query.
        case queryString
        /// Into the content.
        case httpBody

        func isQuery(for method: HTTPMethod) -> Bool {
            switch self {
            case .methodDependent: [.get, .head, .delete].contains(method)
            case .queryString: true
            case .httpBody: false
            }
        }
    }

    /// How the elements of an array are named.
    public enum ArrayEncoding: Sendable {
        /// `a[]=1`.
        case brackets
        /// `a=1`.
        case noBrackets
        /// `a[0]=1`.
        case indexInBrackets
        /// A name from a closure, which gets the key and the index.
        case custom(@Sendable (_ key: String, _ index: Int) -> String)

        func name(_ key: String, at index: Int) -> String {
            switch self {
            case .brackets: "\(key)[]"
            case .noBrackets: key
            case .indexInBrackets: "\(key)[\(index)]"
            case .custom(let encode): encode(key, index)
            }
        }
    }

    /// How a Boolean is written.
    public enum BoolEncoding: Sendable {
        /// `1` and `0`.
        case numeric
        /// `true` and `false`.
        case literal

        func text(_ value: Bool) -> String {
            switch self {
            case .numeric: value ? "1" : "0"
            case .literal: value ? "true" : "false"
            }
        }
    }

    /// Into the query or the content, depending on the method.
    public static let `default` = URLEncoding()
    /// Into the query.
    public static let queryString = URLEncoding(destination: .queryString)
    /// Into the content.
    public static let httpBody = URLEncoding(destination: .httpBody)

    /// Where the parameters go.
    public let destination: Destination
    /// How the elements of an array are named.
    public let arrayEncoding: ArrayEncoding
    /// How a Boolean is written.
    public let boolEncoding: BoolEncoding

    /// Makes an encoding.
    ///
    /// - Parameters:
    ///   - destination: where the parameters go; into the query for GET, HEAD and DELETE, else into the content, by
    ///     default.
    ///   - arrayEncoding: how the elements of an array are named; `a[]=1` by default.
    ///   - boolEncoding: how a Boolean is written; `1` or `0` by default.
    @preconcurrency
    public init(
        destination: Destination = .methodDependent, arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric
    ) {
        self.destination = destination
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
    }

    /// Returns the request with the parameters, sorted by name; a query without a URL throws
    /// `.parameterEncodingFailed(.missingURL)`.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
        let text = parameters.sorted { $0.key < $1.key }
            .flatMap { queryComponents(fromKey: $0.key, value: $0.value) }
            .map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
        guard destination.isQuery(for: request.method ?? .get) else {
            request.setFormContent(Data(text.utf8))
            return request
        }
        guard request.url != nil else { throw AFError.parameterEncodingFailed(reason: .missingURL) }
        if !parameters.isEmpty { request.appendQuery(text) }
        return request
    }

    /// Returns the escaped name-value pairs of one parameter.
    ///
    /// - Parameters:
    ///   - key: the name.
    ///   - value: the value; an optional is unwrapped, and `nil` is written as `<null>`, as in Alamofire.
    /// - Returns: one pair, or several for arrays and dictionaries, whose keys are sorted.
    public func queryComponents(fromKey key: String, value: Any) -> [(String, String)] {
        switch Self.unwrapped(value) {
        case let dictionary as [String: Any]:
            return dictionary.sorted { $0.key < $1.key }
                .flatMap { queryComponents(fromKey: "\(key)[\($0.key)]", value: $0.value) }
        case let array as [Any]:
            return array.enumerated()
                .flatMap { queryComponents(fromKey: arrayEncoding.name(key, at: $0.offset), value: $0.element) }
        case let bool as Bool where Self.isBool(value):
            return [(escape(key), escape(boolEncoding.text(bool)))]
        case let other:
            return [(escape(key), escape("\(other)"))]
        }
    }

    /// The text with all characters percent-encoded except `A–Z a–z 0–9 - . _ ~ / ?`.
    public func escape(_ string: String) -> String {
        QueryText.escaped(string)
    }

    /// Whether a value is a Boolean, or an `NSNumber` made from a Boolean; the number 1 is not.
    private static func isBool(_ value: Any) -> Bool {
        if type(of: value) == Bool.self { return true }
        guard let number = value as? NSNumber else { return value is Bool }
        return String(cString: number.objCType) == "c" && type(of: value) != Int8.self
    }

    /// The value inside nested optionals; for `nil`, `NSNull`, which is written as `<null>`, as in Alamofire.
    private static func unwrapped(_ value: Any) -> Any {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first.map { unwrapped($0.value) } ?? NSNull()
    }
}

/// Puts parameters into the content as JSON.
public struct JSONEncoding: ParameterEncoding {
    /// A value that JSON cannot represent.
    public enum Error: Swift.Error, LocalizedError {
        /// The object contains a value that `JSONSerialization` cannot write.
        case invalidJSONObject

        /// The description of the error.
        public var errorDescription: String? { localizedDescription }
        /// The description of the error.
        public var localizedDescription: String { "The object holds something that JSON has no form for." }
    }

    /// Compact JSON.
    public static let `default` = JSONEncoding()
    /// JSON with line breaks and indentation.
    public static let prettyPrinted = JSONEncoding(options: .prettyPrinted)

    /// The options for writing.
    public let options: JSONSerialization.WritingOptions

    /// Makes an encoding.
    public init(options: JSONSerialization.WritingOptions = []) {
        self.options = options
    }

    /// Returns the request with the parameters in its content; throws `.parameterEncodingFailed(.jsonEncodingFailed)`.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        try encode(urlRequest, withJSONObject: parameters)
    }

    /// Puts an object into the content as JSON.
    ///
    /// - Parameters:
    ///   - urlRequest: makes the request.
    ///   - jsonObject: an object that `JSONSerialization` can write; `nil` leaves the request as it is.
    /// - Returns: the request with the content.
    /// - Throws: the errors of `urlRequest`, and `AFError.parameterEncodingFailed(reason:
    ///   .jsonEncodingFailed(error:))`.
    public func encode(_ urlRequest: any URLRequestConvertible, withJSONObject jsonObject: Any? = nil) throws
        -> URLRequest
    {
        var request = try urlRequest.asURLRequest()
        guard let jsonObject else { return request }
        guard JSONSerialization.isValidJSONObject(jsonObject) else {
            throw AFError.parameterEncodingFailed(reason: .jsonEncodingFailed(error: Error.invalidJSONObject))
        }
        do {
            request.setContent(
                try JSONSerialization.data(withJSONObject: jsonObject, options: options), "application/json")
        } catch {
            throw AFError.parameterEncodingFailed(reason: .jsonEncodingFailed(error: error))
        }
        return request
    }
}
