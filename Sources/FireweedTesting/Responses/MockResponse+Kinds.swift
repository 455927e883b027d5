// The answers that tests need most.

public import Fireweed
public import Foundation

extension MockResponse {
    /// An empty response with status 200.
    public static var ok: MockResponse { MockResponse() }

    /// A response without content.
    ///
    /// - Parameters:
    ///   - status: the status code.
    ///   - headers: the header fields; none by default.
    /// - Returns: the response.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> MockResponse {
        MockResponse(status: status, headers: headers)
    }

    /// A response with bytes as its content.
    ///
    /// - Parameters:
    ///   - data: the content.
    ///   - contentType: the media type; `application/octet-stream` by default.
    ///   - status: the status code; 200 by default.
    ///   - headers: further fields; a `Content-Type` among them replaces `contentType`.
    /// - Returns: the response.
    public static func data(
        _ data: Data, contentType: String = "application/octet-stream", status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> MockResponse {
        MockResponse(status: status, headers, .data(data), type: contentType)
    }

    /// A response with text as its content, in UTF-8.
    ///
    /// - Parameters:
    ///   - text: the content.
    ///   - contentType: the media type; `text/plain; charset=utf-8` by default.
    ///   - status: the status code; 200 by default.
    ///   - headers: further fields; a `Content-Type` among them replaces `contentType`.
    /// - Returns: the response.
    public static func text(
        _ text: String, contentType: String = "text/plain; charset=utf-8", status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> MockResponse {
        MockResponse(status: status, headers, .data(Data(text.utf8)), type: contentType)
    }

    /// A response with JSON, written as a Swift literal.
    ///
    /// - Parameters:
    ///   - value: the content.
    ///   - status: the status code; 200 by default.
    ///   - headers: further fields; a `Content-Type` among them replaces `application/json`.
    /// - Returns: the response.
    public static func json(_ value: JSONValue, status: Int = 200, headers: HTTPHeaders = [:])
        -> MockResponse
    {
        MockResponse(status: status, headers, .data(value.data), type: "application/json")
    }

    /// A response with the JSON of an `Encodable` value.
    ///
    /// - Parameters:
    ///   - value: the value, which is encoded at once.
    ///   - status: the status code; 200 by default.
    ///   - headers: further fields; a `Content-Type` among them replaces `application/json`.
    ///   - encoder: encodes the value.
    /// - Returns: the response. For a value that cannot be encoded, a failure: the request fails with the encoder's
    ///   error.
    public static func json(
        _ value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:],
        encoder: JSONEncoder = JSONEncoder()
    ) -> MockResponse {
        do {
            return MockResponse(
                status: status, headers, .data(try encoder.encode(value)), type: "application/json")
        } catch {
            return .failure(error)
        }
    }

    /// A response with the content of a file.
    ///
    /// The file is read when the request arrives; a file that cannot be read fails the request.
    ///
    /// - Parameters:
    ///   - url: the file.
    ///   - contentType: the media type; `nil`, the default, derives it from the extension of the file's name.
    ///   - status: the status code; 200 by default.
    ///   - headers: further fields; a `Content-Type` among them replaces `contentType`.
    /// - Returns: the response.
    public static func file(
        _ url: URL, contentType: String? = nil, status: Int = 200, headers: HTTPHeaders = [:]
    ) -> MockResponse {
        let type = contentType ?? MediaTypes.type(ofExtension: url.pathExtension)
        return MockResponse(status: status, headers, .file(url), type: type)
    }

    /// A redirect (RFC 9110 §15.4).
    ///
    /// - Parameters:
    ///   - location: the target, absolute or relative to the request's URL.
    ///   - status: 302 by default.
    /// - Returns: a response without content.
    public static func redirect(to location: String, status: Int = 302) -> MockResponse {
        MockResponse(status: status, headers: ["Location": location])
    }

    /// A response whose content is sent piece by piece: `.stream("one", .pause(.seconds(1)), "two")`.
    ///
    /// - Parameters:
    ///   - pieces: bytes and pauses, in their order.
    ///   - contentType: the media type; `application/octet-stream` by default.
    ///   - status: the status code; 200 by default.
    ///   - headers: further fields; a `Content-Type` among them replaces `contentType`.
    /// - Returns: the response.
    public static func stream(
        _ pieces: Piece..., contentType: String = "application/octet-stream", status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> MockResponse {
        MockResponse(status: status, headers, .pieces(pieces), type: contentType)
    }

    /// A response whose content the test sends while the request runs.
    ///
    /// - Parameters:
    ///   - feed: the feed by which the test sends and ends the content.
    ///   - contentType: the media type; `application/octet-stream` by default.
    ///   - status: the status code; 200 by default.
    ///   - headers: further fields; a `Content-Type` among them replaces `contentType`.
    /// - Returns: the response.
    public static func stream(
        from feed: ResponseFeed, contentType: String = "application/octet-stream", status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> MockResponse {
        MockResponse(status: status, headers, .feed(feed), type: contentType)
    }

    /// A response with server-sent events (WHATWG HTML §9.2), each sent in a separate piece.
    ///
    /// - Parameters:
    ///   - events: the events, in their order.
    ///   - headers: further fields; a `Content-Type` among them replaces `text/event-stream`.
    /// - Returns: the response, with status 200.
    public static func serverSentEvents(_ events: ServerSentEvent..., headers: HTTPHeaders = [:])
        -> MockResponse
    {
        let pieces = events.map { Piece.text($0.eventStreamText) }
        return MockResponse(status: 200, headers, .pieces(pieces), type: "text/event-stream")
    }

    // MARK: No response

    /// A network failure instead of a response, such as `.failure(.notConnectedToInternet)`.
    ///
    /// A request of a stubbed session fails with `AFError.sessionTaskFailed(error:)` around the error; a ``MockServer``
    /// closes the connection, or over HTTP/2 resets the stream.
    public static func failure(_ code: URLError.Code) -> MockResponse {
        failure(URLError(code))
    }

    /// An error instead of a response, with the same effects as a `URLError.Code`.
    public static func failure(_ error: any Error) -> MockResponse {
        MockResponse(status: 200).changed {
            $0.hasHead = false
            $0.ending = .failure(error)
        }
    }

    /// No response at all: the request ends when it is cancelled or times out.
    public static var neverAnswers: MockResponse {
        MockResponse(status: 200).changed {
            $0.hasHead = false
            $0.ending = .stall
        }
    }
}

extension ServerSentEvent {
    /// The event's text on the wire.
    var eventStreamText: String {
        var lines: [String] = []
        if event != "message" { lines.append("event: \(event)") }
        if let id { lines.append("id: \(id)") }
        if let retry {
            lines.append(
                "retry: \(retry.components.seconds * 1000 + retry.components.attoseconds / 1_000_000_000_000_000)"
            )
        }
        lines += data.components(separatedBy: "\n").map { "data: \($0)" }
        return lines.joined(separator: "\n") + "\n\n"
    }
}
