// A request that a stub or a server received.

public import Fireweed
public import Foundation

/// A request message that a ``StubTransport`` or a ``MockServer`` received.
///
/// The message is recorded as it would be on the wire, after adapters, cookies and cache. Each exchange is recorded: a
/// retry and a redirect each add a request.
public struct RecordedRequest: Sendable {
    /// The method.
    public let method: HTTPMethod
    /// The absolute URL as it was requested; only a stubbed session sees a fragment, which is never sent.
    public let urlText: String
    /// The header fields, in order; of several fields with the same name, `headers` has the last one.
    public let fields: [Field]
    /// The whole content; empty when there was none.
    public let body: Data
    /// The values of the placeholders in the pattern of the stub that matched, decoded.
    ///
    /// With `/users/{id}` they are `["id": "42"]`, for example. Empty before a stub has matched.
    public internal(set) var parameters: [String: String] = [:]
    /// Whether the request asks for a WebSocket.
    public let isWebSocket: Bool
    /// The bytes that a ``MockServer`` received: head and content, with its framing; empty in a stubbed session.
    ///
    /// An HTTP/2 request is shown in the form of HTTP/1.1, since its head is compressed on the wire.
    public let wireBytes: Data
    /// The trailers, fields after the content (RFC 9110 §6.5), in order; empty in a stubbed session.
    public let trailers: [Field]
    /// The connection on which a ``MockServer`` received the request; `nil` in a stubbed session.
    public let connection: RecordedConnection?
    /// The receiver of the content, when the server has chosen one; `body` is empty then.
    package var receiver: (any ContentReceiver)?
    /// The number of bytes of the content.
    package var contentByteCount: Int
    let target: TargetText

    /// The method of what is no request, such as the first bytes of TLS.
    package static let unreadableMethod = HTTPMethod(rawValue: "?")

    package init(
        method: String, url: String, fields: [Field], body: Data, isWebSocket: Bool = false, wireBytes: Data = Data(),
        trailers: [Field] = [], connection: RecordedConnection? = nil
    ) {
        self.method = HTTPMethod(rawValue: method)
        urlText = url
        self.fields = fields
        self.body = body
        contentByteCount = body.count
        self.isWebSocket = isWebSocket
        self.wireBytes = wireBytes
        self.trailers = trailers
        self.connection = connection
        target = TargetText(url)
    }

    /// The URL; `nil` when Foundation cannot parse it.
    public var url: URL? { URL(string: urlText) }
    /// The host in lower case, without a port.
    public var host: String? { url?.host?.lowercased() }
    /// The path as it was written, with its percent-encoding.
    public var path: String { String(target.path) }
    /// Path and query as they were written.
    package var pathAndQuery: String { "\(target.path)\(target.query.map { "?\($0)" } ?? "")" }
    /// The names and values of the query, decoded, in order.
    public var queryItems: [URLQueryItem] { target.queryItems }
    /// The header fields.
    public var headers: HTTPHeaders {
        HTTPHeaders(fields.map { HTTPHeader(name: $0.name, value: $0.value) })
    }

    /// Returns the first value of this name in the query; `nil` when there is none.
    public func query(_ name: String) -> String? {
        queryItems.first { $0.name == name }?.value
    }

    /// Returns the value of the first field of this name, regardless of case; `nil` when there is none.
    public func header(_ name: String) -> String? {
        fields.first { $0.name.isEqualIgnoringASCIICase(name) }?.value
    }

    /// The content as text; bytes that are not UTF-8 become U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The content as JSON.
    ///
    /// - Throws: `DecodingError` when the content is not JSON.
    public var json: JSONValue {
        get throws { try JSONValue(parsing: body) }
    }

    /// Decodes the content from JSON.
    ///
    /// - Parameters:
    ///   - type: the type of the value.
    ///   - decoder: decodes the content.
    /// - Returns: the value.
    /// - Throws: the decoder's error.
    public func decoded<Value: Decodable>(
        as type: Value.Type, with decoder: JSONDecoder = JSONDecoder()
    ) throws
        -> Value
    {
        try FireweedJSONDecoder(decoder).decode(type, from: body)
    }

    /// The pairs of a form's content (`application/x-www-form-urlencoded`), decoded, in their order.
    public var form: [URLQueryItem] { FormPairs.decoded(text[...], plusIsSpace: true) }

    /// The parts of a form's content (`multipart/form-data`, RFC 7578), in their order; empty for other content.
    public var parts: [RecordedPart] {
        RecordedPart.parts(of: body, contentType: header("Content-Type") ?? "")
    }

    /// The cookies of the `Cookie` field (RFC 6265 §5.4).
    public var cookies: [String: String] {
        let pairs = (header("Cookie") ?? "").split(separator: ";").compactMap {
            pair -> (String, String)? in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            return (parts[0].trimmingCharacters(in: .whitespaces), String(parts[1]))
        }
        return Dictionary(pairs) { first, _ in first }
    }
}

extension RecordedRequest: CustomStringConvertible {
    /// Method and URL.
    public var description: String { "\(method.rawValue) \(urlText)" }

    /// Returns the request in readable form: method and URL, fields, and the start of its content.
    func detail(_ redaction: Redaction) -> String {
        var lines = [description]
        // The fields are redacted, since this text is written to CI logs. A matcher for such a field still shows how
        // its value differs.
        lines += fields.map { "\($0.name): \(redaction.value($0.value, ofField: $0.name))" }
        if !body.isEmpty { lines += ["", ContentText.excerpt(body)] }
        return lines.joined(separator: "\n")
    }
}

/// Content as text for failure messages.
enum ContentText {
    /// The maximum number of bytes that are shown.
    private static let limit = 1000

    /// Returns the start of content as text, or the size of content that is not UTF-8.
    static func excerpt(_ body: Data) -> String {
        guard body.count > limit else { return String(data: body, encoding: .utf8) ?? "<\(body.count) bytes>" }
        // The limit may cut a UTF-8 character after one to three bytes, which are left out.
        for count in (limit - 3...limit).reversed() {
            guard let text = String(data: body.prefix(count), encoding: .utf8) else { continue }
            return "\(text)… <\(body.count) bytes in all>"
        }
        return "<\(body.count) bytes>"
    }
}
