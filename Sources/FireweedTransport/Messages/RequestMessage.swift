// The request message of one exchange.

public import Foundation

/// A request message (RFC 9110 §6) and what its transfer has to respect.
///
/// The message is for one exchange: redirects, cookies and caching have already been decided by the layer above.
public struct RequestMessage: Sendable {
    /// The version of HTTP to speak.
    public enum HTTPVersion: Sendable, Hashable {
        /// HTTP/2 where the peer agrees to it in the TLS handshake (ALPN), else HTTP/1.1.
        case automatic
        /// HTTP/1.1 only.
        case http1Only
        /// HTTP/2; in clear text by prior knowledge (RFC 9113 §3.3).
        case http2
    }

    /// Credentials for HTTP authentication, for this origin alone (RFC 9110 §11).
    public struct Credentials: Sendable, Hashable {
        /// The user.
        public var user: String
        /// The password.
        public var password: String
        /// The schemes that may be used; if only one is allowed and it needs no challenge (Basic, NTLM, Negotiate), it
        /// is used with the first message.
        public var schemes: AuthenticationSchemes

        /// Makes credentials.
        ///
        /// - Parameters:
        ///   - user: the user.
        ///   - password: the password.
        ///   - schemes: the schemes that may be used; by default those with a password.
        public init(user: String, password: String, schemes: AuthenticationSchemes = .password) {
            self.user = user
            self.password = password
            self.schemes = schemes
        }
    }

    /// The target, absolute, `http` or `https`.
    public var url: String
    /// The method: any token (RFC 9110 §9.1).
    public var method: String
    /// The fields to send.
    public var fields: FieldBlock
    /// The content to send.
    public var body: BodySource {
        get { content.body }
        set { content = MessageContent(newValue) }
    }
    /// The content of `body`, where files are named by their URLs.
    package var content: MessageContent
    /// Seconds without a byte in either direction after which the transfer fails with `timedOut`; zero or less for
    /// none.
    public var idleTimeout: TimeInterval
    /// The moment of the monotonic clock, in nanoseconds, at which the transfer fails with `timedOut`; `nil` for none.
    public var deadlineNanoseconds: UInt64?
    /// The moment of the monotonic clock at which the request as a whole, with all of its attempts, has to be over;
    /// `nil` for none.
    ///
    /// It ends no transfer: queues and guards use it to skip messages that are too late.
    public var requestDeadlineNanoseconds: UInt64?
    /// How much the message matters when not all can be sent; `.normal` by default.
    public var priority = TransferPriority.normal
    /// Whether the response may never end, as a stream of events does; false by default.
    ///
    /// Guards count the message as under way until its head has come.
    public var isStream = false
    /// The credentials to answer a challenge with; `nil` for none.
    public var credentials: Credentials?
    /// Asks for a WebSocket instead of a response's content; `nil`, as nearly always, for none.
    public var webSocket: WebSocketOffer?
    /// Whether `TransferConsumer.transferDidCompleteRead()` is called, for consumers that gather content; false by
    /// default.
    public var wantsReadComplete = false
    /// The request that the message belongs to; `nil` for a message of no request, as for the revalidation of a stored
    /// response in the background, and on an ``EngineTransport`` without a decorator, which does not use it.
    public var owner: MessageOwner? {
        get { ownerBox?.owner }
        set { ownerBox = newValue.map(OwnerBox.init) }
    }

    /// In a box: messages without an owner, which are most, are copied for one word of it.
    private var ownerBox: OwnerBox?

    private final class OwnerBox: Sendable {
        let owner: MessageOwner

        init(_ owner: MessageOwner) {
            self.owner = owner
        }
    }

    /// The digest of the client certificate under which the cache looked up the response and will store it; `nil` if
    /// the cache does not depend on a client certificate.
    ///
    /// Messages with different digests share no connection: a connection that was made before the certificate's file
    /// was replaced still uses the old certificate.
    package var clientCertificate: Data?

    /// Makes a message; the defaults add nothing to it.
    ///
    /// - Parameters:
    ///   - url: the target, absolute, `http` or `https`.
    ///   - method: the method.
    ///   - fields: the fields to send.
    ///   - body: the content to send.
    ///   - idleTimeout: seconds without a byte in either direction after which the transfer fails; 60 by default.
    ///   - deadlineNanoseconds: the moment of the transport's clock at which the transfer fails; `nil`, the default,
    ///     for none.
    ///   - credentials: the credentials to answer a challenge with; `nil`, the default, for none.
    ///   - webSocket: asks for a WebSocket; `nil`, the default, does not.
    public init(
        url: String, method: String = "GET", fields: FieldBlock = FieldBlock([]), body: BodySource = .none,
        idleTimeout: TimeInterval = 60, deadlineNanoseconds: UInt64? = nil, credentials: Credentials? = nil,
        webSocket: WebSocketOffer? = nil
    ) {
        self.url = url
        self.method = method
        self.fields = fields
        content = MessageContent(body)
        self.idleTimeout = idleTimeout
        self.deadlineNanoseconds = deadlineNanoseconds
        self.credentials = credentials
        self.webSocket = webSocket
    }
}

extension RequestMessage {
    /// The origin form of a target (RFC 9112 §3.2.1): path and query as they are written.
    package static func target(of components: URLComponents) -> String {
        let path = components.percentEncodedPath.isEmpty ? "/" : components.percentEncodedPath
        return components.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
    }

    /// Whether an absolute URL names a host (RFC 9110 §4.2.1); `http:x`, `http:/x` and `http:///x` do not.
    ///
    /// Reads byte by byte, since it is called for every request.
    package static func hasAuthority(_ url: String) -> Bool {
        var url = url
        return url.withUTF8(hasAuthority)
    }

    private static func hasAuthority(_ url: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        while index < url.count, url[index] != 0x3A { index += 1 }
        guard index + 2 < url.count, url[index + 1] == 0x2F, url[index + 2] == 0x2F else { return false }
        index += 3
        // The host: after the userinfo, before the port, up to `/`, `?` or `#`.
        var isEmpty = true
        var isInPort = false
        while index < url.count {
            switch url[index] {
            case 0x2F, 0x3F, 0x23: return !isEmpty
            case 0x40: (isEmpty, isInPort) = (true, false)
            case 0x3A: isInPort = true
            default: if !isInPort { isEmpty = false }
            }
            index += 1
        }
        return !isEmpty
    }
}

extension RequestMessage.Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of value alone: user and password are secrets.
    public var description: String { "Credentials" }

    /// The description.
    public var debugDescription: String { description }

    /// No children, so that `dump` does not show the password.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
