// A response of a stub or a server.

public import Fireweed
public import Foundation

/// An answer to a request: a response, a failure, or nothing at all.
///
/// ```swift
/// Stub.get("/users/{id}").reply(.json(["name": "Ada"]).header("ETag", "\"1\"").delayed(by: .milliseconds(200)))
/// ```
///
/// A ``StubTransport`` and a ``MockServer`` take the same answers. `Content-Length` is added when the length is known,
/// and the answer has neither this field nor trailers.
public struct MockResponse: Sendable {
    /// One step of streamed content.
    public enum Piece: Sendable, ExpressibleByStringLiteral {
        /// Bytes, which are sent in one piece.
        case data(Data)
        /// A pause of this length.
        case pause(Duration)

        /// Text as UTF-8.
        public static func text(_ text: String) -> Piece { .data(Data(text.utf8)) }
        /// Text as UTF-8.
        public init(stringLiteral value: String) { self = .text(value) }
    }

    enum Content: Sendable {
        case data(Data)
        case file(URL)
        case pieces([Piece])
        case feed(ResponseFeed)
        case source(ContentSource)
    }

    enum Termination: Sendable {
        case complete
        case failure(any Error)
        case stall
    }

    /// The status code (RFC 9110 §15).
    public var status: Int
    /// The header fields, in order; a name may occur more than once.
    public var fields: [Field]
    var content: Content
    var ending = Termination.complete
    var delay = Duration.zero
    var interim: [ResponseHead] = []
    /// Whether there is a response; false for a failure or a stall instead of a response.
    var hasHead = true
    var fault: ServerFault?
    var webSocket: WebSocketScript?
    var trailers: [Field] = []

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - status: the status code; 200 by default.
    ///   - headers: the header fields.
    ///   - body: the content; none by default.
    public init(status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data()) {
        self.init(status: status, headers, .data(body))
    }

    /// Makes a response whose content is made while it is sent.
    package init(status: Int, fields: [Field], source: ContentSource) {
        self.status = status
        self.fields = fields
        content = .source(source)
    }

    init(status: Int, _ headers: HTTPHeaders = [:], _ content: Content, type: String? = nil) {
        self.status = status
        fields = headers.map { Field(name: $0.name, value: $0.value) }
        self.content = content
        if let type, headers["Content-Type"] == nil {
            fields.insert(Field(name: "Content-Type", value: type), at: 0)
        }
    }

    // MARK: Changes

    /// The same answer with another status code.
    public func status(_ status: Int) -> MockResponse {
        changed { $0.status = status }
    }

    /// The same answer with a further header field.
    ///
    /// A single-valued field, such as `Content-Type`, replaces an existing one; append to ``fields`` to imitate a
    /// broken server that sends two.
    ///
    /// - Parameters:
    ///   - name: the name; existing fields of this name stay if the field can be repeated, such as `Set-Cookie`.
    ///   - value: the value.
    /// - Returns: the response.
    public func header(_ name: String, _ value: String) -> MockResponse {
        changed { response in
            if Self.singleValuedNames.contains(name.lowercased()) {
                response.fields.removeAll { $0.name.isEqualIgnoringASCIICase(name) }
            }
            response.fields.append(Field(name: name, value: value))
        }
    }

    /// Response fields whose value is not a list (RFC 9110, 9111 and 6797), in lower case.
    private static let singleValuedNames: Set<String> = [
        "age", "content-disposition", "content-length", "content-location", "content-range", "content-type", "date",
        "etag", "expires", "last-modified", "location", "retry-after", "server", "strict-transport-security",
    ]

    /// The same answer with a header field, such as `.header(.contentType("text/csv"))`; replaces a single-valued
    /// field.
    public func header(_ header: HTTPHeader) -> MockResponse {
        self.header(header.name, header.value)
    }

    /// The same answer with a further trailer, a field after the content (RFC 9110 §6.5).
    ///
    /// Over HTTP/1.1, content with trailers is sent in chunks. Trailers are not sent with an answer that has no
    /// content, nor over HTTP/1.1 with a `Content-Length` that was added by hand.
    ///
    /// - Parameters:
    ///   - name: the name; another existing trailer of this name stays.
    ///   - value: the value.
    /// - Returns: the response.
    public func trailer(_ name: String, _ value: String) -> MockResponse {
        changed { $0.trailers.append(Field(name: name, value: value)) }
    }

    /// The same answer, after a delay.
    ///
    /// During the delay, the time-outs of a stubbed session run on the session's clock.
    public func delayed(by delay: Duration) -> MockResponse {
        changed { $0.delay += delay }
    }

    /// The same answer after an interim response (RFC 9110 §15.2), such as 103.
    ///
    /// - Parameters:
    ///   - status: the status code of the interim response, from 100 to 199.
    ///   - headers: its header fields; none by default.
    /// - Returns: the response.
    public func interim(_ status: Int, headers: HTTPHeaders = [:]) -> MockResponse {
        let fields = headers.map { Field(name: $0.name, value: $0.value) }
        return changed { $0.interim.append(ResponseHead(status: status, fields: fields)) }
    }

    /// The same head and content; the exchange then fails, and does not end normally.
    ///
    /// - Parameter error: the error of a stubbed session's request; a ``MockServer`` closes the connection instead, or
    ///   over HTTP/2 resets the stream.
    /// - Returns: the response with the failure at its end.
    public func failing(with error: any Error = URLError(.networkConnectionLost)) -> MockResponse {
        changed { $0.ending = .failure(error) }
    }

    /// The same head and content; then nothing more is sent, and the exchange does not end.
    public func stalling() -> MockResponse {
        changed { $0.ending = .stall }
    }

    func changed(_ change: (inout MockResponse) -> Void) -> MockResponse {
        var copy = self
        change(&copy)
        return copy
    }
}
