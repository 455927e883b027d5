// One line of a list of requests; pure.

import CommandLanguage
import Fireweed
import Foundation

/// A line of input that describes a request, validly or not.
struct FetchItem: Sendable {
    /// The number of the item in the input, from 1; empty lines and comments have none.
    let index: Int
    /// A hash of the line: a resumed run makes the request again if the line has changed.
    let key: UInt64
    /// The line, shortened, for its record if the line is not a valid request.
    let text: String
    let request: Result<FetchRequest, UsageError>
    /// The item's id in a shared list; `nil` for an item of this run's own list.
    var entry: String?

    /// Reads a line.
    ///
    /// - Parameters:
    ///   - index: its number.
    ///   - line: the bytes without the line break.
    ///   - defaults: the command line's settings for every request.
    init(index: Int, line: FetchLine, defaults: FetchDefaults) {
        self.index = index
        let bytes: [UInt8]
        switch line {
        case .text(let line): bytes = line
        case .tooLong(let beginning): bytes = beginning
        }
        key = Self.hash(bytes)
        let whole = String(decoding: bytes, as: UTF8.self)
        text = whole.utf8.count > 200 && whole.count > 200 ? "\(whole.prefix(200))…" : whole
        guard case .text = line else {
            request = .failure(UsageError(message: "the line is longer than \(FetchLine.maximumByteCount) bytes"))
            return
        }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            request = .failure(UsageError(message: "the line is not UTF-8"))
            return
        }
        do {
            let isObject = whole.utf8.first == UInt8(ascii: "{")
            let made = try isObject ? FetchRequest(json: whole, defaults) : FetchRequest(url: whole, defaults)
            try RequestPlan.check(made.headers)
            request = .success(made)
        } catch let error as UsageError {
            request = .failure(error)
        } catch {
            request = .failure(UsageError(message: error.plainText))
        }
    }

    /// Returns the 64-bit FNV-1a hash, which is the same in every run, unlike a hash of `Hasher`.
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

/// The command line's settings for every request of a list.
struct FetchDefaults: Sendable {
    /// The scheme for URLs without a scheme; `nil` applies the rule of `URLShorthand`.
    var scheme: String?
    /// The URL schemes that are allowed; `nil` allows all.
    var allowedSchemes: Set<String>?
    var headers = HTTPHeaders()

    init(_ invocation: Invocation, headers: HTTPHeaders) {
        scheme = invocation.defaultScheme
        allowedSchemes = invocation.allowedSchemes
        self.headers = headers
    }
}

/// A request of a list.
struct FetchRequest: Sendable {
    let url: URL
    /// User and password of the URL.
    var userInfo: String?
    var method: HTTPMethod
    var headers: HTTPHeaders
    var content: Data?
    /// The user's id for the request, which its record repeats.
    var id: JSONNode?

    /// Scheme, host and port.
    let origin: String

    /// Makes a GET request for a URL; throws `UsageError`.
    init(url text: String, _ defaults: FetchDefaults) throws {
        let (_, parsed, userInfo) = try URLShorthand.read(text, default: defaults.scheme)
        guard let url = parsed else { throw UsageError(message: "\"\(text)\" is not a URL") }
        if let allowed = defaults.allowedSchemes, let scheme = url.scheme?.lowercased(), !allowed.contains(scheme) {
            throw UsageError(message: "\(scheme) may not be sent (--proto)")
        }
        self.url = url
        origin = "\(url.scheme ?? "")://\(url.host ?? ""):\(url.effectivePort)"
        self.userInfo = userInfo
        method = .get
        headers = defaults.headers
    }

    /// Makes a request from a JSON object with `url`, and perhaps `method`, `headers`, `body` and `id`; throws
    /// `UsageError`.
    init(json text: String, _ defaults: FetchDefaults) throws {
        let node: JSONNode
        do {
            node = try JSONReader.read(text)
        } catch let error as JSONReadingError {
            throw UsageError(message: "the line is not JSON: \(error.message) (byte \(error.offset + 1))")
        }
        guard case .object(let members) = node else { throw UsageError(message: "the line is not a JSON object") }
        let known = ["url", "method", "headers", "body", "id"]
        let names = members.map { JSONEscapes.unescaped($0.name) }
        if let name = names.first(where: { !known.contains($0) }) {
            throw UsageError(message: "there is no member \"\(name)\"; there are \(known.joined(separator: ", "))")
        }
        guard let address = try Self.text(node, "url") else { throw UsageError(message: "the member url is missing") }
        try self.init(url: address, defaults)
        if let fields = node.member("headers") { try add(fields) }
        if let body = node.member("body"), body != .null {
            var type = "application/json"
            if case .string(let string) = body {
                content = Data(JSONEscapes.unescaped(string).utf8)
                type = "text/plain; charset=utf-8"
            } else {
                content = Data(body.text.utf8)
            }
            if headers["Content-Type"] == nil { headers.add(.contentType(type)) }
            method = .post
        }
        if let name = try Self.text(node, "method") {
            let isToken = !name.isEmpty && name.utf8.allSatisfy { (0x41...0x5A).contains($0) || $0 == 0x2D }
            guard isToken else { throw UsageError(message: "\"\(name)\" is not a method in upper case") }
            method = HTTPMethod(rawValue: name)
        }
        id = node.member("id")
    }

    private static func text(_ node: JSONNode, _ name: String) throws -> String? {
        switch node.member(name) {
        case nil: return nil
        case .string(let string)?: return JSONEscapes.unescaped(string)
        case let other?: throw UsageError(message: "the member \(name) is \(other.typeName), and not a string")
        }
    }

    /// Adds fields from an object whose values are strings, numbers, or arrays of these.
    private mutating func add(_ fields: JSONNode) throws {
        guard case .object(let members) = fields else {
            throw UsageError(message: "the member headers is \(fields.typeName), and not an object")
        }
        for member in members {
            let values: [JSONNode]
            if case .array(let elements) = member.value { values = elements } else { values = [member.value] }
            let texts = try values.map { value in
                switch value {
                case .string(let string): return JSONEscapes.unescaped(string)
                case .literal(let number) where value.typeName == "a number": return number
                default: throw UsageError(message: "the field \(member.name) is \(value.typeName), and not a string")
                }
            }
            guard !texts.isEmpty else { continue }
            let name = JSONEscapes.unescaped(member.name)
            // Pairs of cookies are separated by semicolons (RFC 6265 §4.2.1).
            let separator = name.isEqualIgnoringASCIICase("Cookie") ? "; " : ", "
            headers.update(name: name, value: texts.joined(separator: separator))
        }
    }
}
