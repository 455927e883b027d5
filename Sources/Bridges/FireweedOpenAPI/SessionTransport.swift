// The transport for clients that swift-openapi-generator generates.

#if OpenAPI
public import Fireweed
import FireweedHTTPTypes
public import Foundation
import FoundationNetworking
public import HTTPTypes
public import OpenAPIRuntime

/// Sends the operations of a generated client over a session.
///
/// ```swift
/// let client = Client(serverURL: url, transport: SessionTransport())
/// let pets = try await client.listPets()
/// ```
///
/// Content is streamed in both directions, and a server may answer while it still receives. A slow reader slows the
/// network down: at most about a megabyte of a response waits for it. Content whose `iterationBehavior` is `.multiple`
/// is sent again after a redirect, a challenge and a retry; other content is sent once. The body of a response can be
/// iterated once. A body that is released before its end cancels the request.
///
/// No status is an error. Everything that a session does for its requests applies to operations too: interceptors,
/// retries until there is a response, redirects, trust, event monitors.
public struct SessionTransport: ClientTransport {
    /// The settings of a transport.
    public struct Configuration: Sendable {
        /// The longest time from an operation's beginning to the end of its response; `nil`, the default, for none.
        ///
        /// At the deadline, a body that is still being read fails with `AFError.sessionTaskFailed(error:)` around
        /// `URLError.timedOut`. The idle time-out of the session applies in any case.
        public var deadline: Duration?
        /// Adapts and retries each operation, after the session's interceptor; `nil` by default.
        public var interceptor: (any RequestInterceptor)?

        /// Makes the settings of a transport.
        public init(deadline: Duration? = nil, interceptor: (any RequestInterceptor)? = nil) {
            self.deadline = deadline
            self.interceptor = interceptor
        }
    }

    /// The session that sends the operations.
    public let session: Session
    /// The settings.
    public let configuration: Configuration

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - session: sends the operations. By default a new session, which keeps no cookies, stores no responses and
    ///     sends no `Accept-Language`, since a generated client is not a browser.
    ///   - configuration: the settings.
    public init(session: Session = SessionTransport.makeSession(), configuration: Configuration = Configuration()) {
        self.session = session
        self.configuration = configuration
    }

    /// Makes a session without cookies, cache and `Accept-Language`.
    ///
    /// - Returns: a new session; it ends with its last reference, which a transport and each unread body hold.
    public static func makeSession() -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.headers.remove(name: "Accept-Language")
        return Session(configuration: configuration)
    }

    /// Sends an operation, and returns the response once its head has arrived.
    ///
    /// The URL is the text of `baseURL`, without query and fragment, followed by the request's path: a base URL that
    /// ends in `/` gives a double slash, as with the other transports.
    ///
    /// - Parameters:
    ///   - request: method, path and fields. Fields of one name are sent joined.
    ///   - body: the content, which is read as fast as it is sent.
    ///   - baseURL: the server.
    ///   - operationID: the name of the operation; not used here, since the runtime puts it into its `ClientError`.
    /// - Returns: the response, with its fields in the order of the wire, and its content; `nil` instead of the
    ///   content if the response cannot have any.
    /// - Throws: the ``AFError`` of the request; `CancellationError` if the task was cancelled. The body of the
    ///   response throws the same errors.
    public func send(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try Task.checkCancellation()
        let message = try OperationMessage(request, body: body, baseURL: baseURL)
        let interceptor = configuration.interceptor
        let sent =
            if let body {
                session.streamRequest(
                    body, isRepeatable: body.iterationBehavior == .multiple, with: message, interceptor: interceptor)
            } else {
                session.streamRequest(message, interceptor: interceptor)
            }
        if let deadline = configuration.deadline { sent.deadline(deadline) }
        do {
            let (head, content) = try await sent.headAndContent()
            guard let response = HTTPResponse(head) else {
                throw AFError.responseValidationFailed(reason: .unacceptableStatusCode(code: head.status))
            }
            let bytes = ResponseBytes(content: content, session: session)
            return (response, bytes.body(of: head, for: request.method))
        } catch {
            throw error.ofCancelledTask
        }
    }
}

/// An operation as a request, with its complete URL.
private struct OperationMessage: PlainRequestConvertible {
    let url: URL
    let method: HTTPMethod
    let headers: HTTPHeaders

    init(_ request: HTTPRequest, body: HTTPBody?, baseURL: URL) throws {
        let path = request.path ?? ""
        let text = baseURL.absoluteString.prefix { $0 != "?" && $0 != "#" } + path
        // Any other text would continue the host or the last path segment of the base URL.
        guard path.isEmpty || path.hasPrefix("/") || path.hasPrefix("?"), let url = URL(string: String(text)) else {
            throw AFError.invalidURL(url: String(text))
        }
        self.url = url
        method = HTTPMethod(request.method)
        var headers = HTTPHeaders(request.headerFields)
        if case .known(let byteCount)? = body?.length, headers.value(for: "Content-Length") == nil {
            headers.add(name: "Content-Length", value: "\(byteCount)")
        }
        self.headers = headers
    }

    func parts() -> (url: URL, method: HTTPMethod, headers: HTTPHeaders) { (url, method, headers) }
    func asURLRequest() throws -> URLRequest { try madeURLRequest() }
}

/// The content of a response; keeps the session alive until the content is read.
private struct ResponseBytes: AsyncSequence, Sendable {
    let content: DataStreamRequest.Elements<Data>
    let session: Session

    func makeAsyncIterator() -> Iterator {
        Iterator(content: content.makeAsyncIterator(), session: session)
    }

    struct Iterator: AsyncIteratorProtocol {
        var content: DataStreamRequest.Elements<Data>.Iterator
        let session: Session

        mutating func next() async throws -> HTTPBody.ByteChunk? {
            do {
                return try await content.next().map { HTTPBody.ByteChunk($0) }
            } catch {
                throw error.ofCancelledTask
            }
        }
    }

    /// Makes the body of a response; `nil` if no content can follow the head (RFC 9110 §6.4.1).
    func body(of head: ResponseHead, for method: HTTPRequest.Method) -> HTTPBody? {
        guard method != .head, head.status != 204, head.status != 304 else { return nil }
        // `Content-Length` counts the coded bytes, but the reader gets decoded bytes.
        let length = head.contains("Content-Encoding") ? nil : head.contentLength
        return HTTPBody(self, length: length.map { .known($0) } ?? .unknown, iterationBehavior: .single)
    }
}

extension Error {
    /// `CancellationError` if the request was cancelled because its task was; else this error.
    fileprivate var ofCancelledTask: any Error {
        guard let error = self as? AFError, error.isExplicitlyCancelledError, Task.isCancelled else { return self }
        return CancellationError()
    }
}
#endif
