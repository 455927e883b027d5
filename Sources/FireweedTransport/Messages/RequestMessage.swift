// The request message of one exchange.

public import Foundation

/// A request message (RFC 9110 §6), and the settings of its transfer.
///
/// The message is for one exchange: the layer above has already handled redirects, cookies and caching.
public struct RequestMessage: Sendable {
    /// The version of HTTP to speak.
    public enum HTTPVersion: Sendable, Hashable {
        /// HTTP/2 if the peer accepts it in the TLS handshake (ALPN), otherwise HTTP/1.1.
        case automatic
        /// HTTP/1.1 only.
        case http1Only
        /// HTTP/2; in clear text with prior knowledge (RFC 9113 §3.3).
        case http2
    }

    /// Credentials for HTTP authentication, valid for this origin only (RFC 9110 §11).
    public struct Credentials: Sendable, Hashable {
        /// The user.
        public var user: String
        /// The password.
        public var password: String
        /// The allowed schemes; if only one is allowed and it needs no challenge (Basic, NTLM, Negotiate), the first
        /// message already uses it.
        public var schemes: AuthenticationSchemes

        /// Makes credentials.
        ///
        /// - Parameters:
        ///   - user: the user.
        ///   - password: the password.
        ///   - schemes: the allowed schemes; by default those with a password.
        public init(user: String, password: String, schemes: AuthenticationSchemes = .password) {
            self.user = user
            self.password = password
            self.schemes = schemes
        }
    }

    /// The target: an absolute `http` or `https` URL.
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
    /// The content, in a form that names files by their URLs.
    package var content: MessageContent
    /// The seconds without a byte in either direction after which the transfer fails with `timedOut`; zero or less for
    /// no limit.
    public var idleTimeout: TimeInterval
    /// The time at which the transfer fails with `timedOut`, in nanoseconds of the monotonic clock; `nil` for none.
    public var deadlineNanoseconds: UInt64?
    /// The time by which the whole request, with all attempts, must end, in nanoseconds of the monotonic clock; `nil`
    /// for none.
    ///
    /// It does not end a transfer: queues and guards use it to skip messages that are too late.
    public var requestDeadlineNanoseconds: UInt64?
    /// The importance of the message when not all messages can be sent; `.normal` by default.
    public var priority = TransferPriority.normal
    /// Whether the response may never end, as with a stream of events; false by default.
    ///
    /// Guards then treat the message as in flight only until its head has arrived.
    public var isStream = false
    /// The credentials for answers to challenges; `nil` for none.
    public var credentials: Credentials? {
        get { rare?.values.credentials }
        set { setRare(newValue) { $0.credentials = $1 } }
    }
    /// The offer of a WebSocket, to be opened instead of receiving content; `nil` for ordinary messages.
    public var webSocket: WebSocketOffer? {
        get { rare?.values.webSocket }
        set { setRare(newValue) { $0.webSocket = $1 } }
    }
    /// Whether `TransferConsumer.transferDidCompleteRead()` is called, for consumers that buffer content; false by
    /// default.
    public var wantsReadComplete = false
    /// The request to which the message belongs.
    ///
    /// `nil` for a message without a request, such as a background revalidation of a stored response. Also `nil` on an
    /// ``EngineTransport`` without a decorator, which does not use it.
    public var owner: MessageOwner? {
        get { rare?.values.owner }
        set { setRare(newValue) { $0.owner = $1 } }
    }

    /// The digest of the client certificate with which the cache looked the response up and will store it; `nil` if the
    /// cache does not depend on a client certificate.
    ///
    /// Messages with different digests do not share a connection: a connection from before the certificate's file was
    /// replaced still uses the old certificate.
    package var clientCertificate: Data? {
        get { rare?.values.clientCertificate }
        set { setRare(newValue) { $0.clientCertificate = $1 } }
    }

    /// The members that most messages lack, behind one reference: a message is copied often.
    private var rare: RareMembers?

    private final class RareMembers: Sendable {
        let values: RareValues

        init(_ values: RareValues) {
            self.values = values
        }
    }

    private struct RareValues {
        var credentials: Credentials?
        var webSocket: WebSocketOffer?
        var owner: MessageOwner?
        var clientCertificate: Data?
    }

    private mutating func setRare<Value>(_ value: Value?, _ set: (inout RareValues, Value?) -> Void) {
        guard value != nil || rare != nil else { return }
        var values = rare?.values ?? RareValues()
        set(&values, value)
        rare = RareMembers(values)
    }

    /// Makes a message.
    ///
    /// - Parameters:
    ///   - url: the target: an absolute `http` or `https` URL.
    ///   - method: the method.
    ///   - fields: the fields to send.
    ///   - body: the content to send.
    ///   - idleTimeout: the seconds without a byte in either direction after which the transfer fails; 60 by default.
    ///   - deadlineNanoseconds: the time of the transport's clock at which the transfer fails; `nil`, the default, for
    ///     none.
    ///   - credentials: the credentials for answers to challenges; `nil`, the default, for none.
    ///   - webSocket: the offer of a WebSocket; `nil`, the default, for none.
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
    /// Returns the origin form of a target (RFC 9112 §3.2.1): path and query as written, `/` for an empty path.
    package static func target(of components: URLComponents) -> String {
        let path = components.percentEncodedPath.isEmpty ? "/" : components.percentEncodedPath
        return components.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
    }

    /// Whether an absolute URL has a host (RFC 9110 §4.2.1); `http:x`, `http:/x` and `http:///x` have none.
    ///
    /// It reads the bytes directly, for speed, since every request needs this check.
    package static func hasAuthority(_ url: String) -> Bool {
        var url = url
        return url.withUTF8(hasAuthority)
    }

    private static func hasAuthority(_ url: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        while index < url.count, url[index] != 0x3A { index += 1 }
        guard index + 2 < url.count, url[index + 1] == 0x2F, url[index + 2] == 0x2F else { return false }
        index += 3
        // The host is after the userinfo and before the port, and ends at `/`, `?` or `#`.
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
    /// Only the type's name: user and password are secrets.
    public var description: String { "Credentials" }

    /// The description.
    public var debugDescription: String { description }

    /// No children, so that `dump` does not show the password.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
