// The offer of a WebSocket in a request message.

public import Foundation

/// The offer of a WebSocket (RFC 6455), to be opened instead of receiving an ordinary response.
///
/// The offer is a part of a request message. The transport makes the opening handshake, and calls the listener when the
/// peer has agreed. The message's `Sec-WebSocket-Protocol` field lists the offered subprotocols.
public struct WebSocketOffer: Sendable {
    /// The compression to offer, or `nil` for none.
    public var compression: WebSocketCompression?
    /// The longest accepted message, in bytes after decompression; a longer message ends the connection with code 1009.
    ///
    /// A negative number means zero.
    public var maximumMessageByteCount: Int
    /// The seconds between automatic pings; `nil`, or a number that is not positive and finite, sends none.
    ///
    /// If the previous ping has no pong when the next ping is due, the next ping is delayed until the pong arrives.
    public var pingInterval: TimeInterval?
    /// Whether the connection ends with `timedOut` if an automatic ping has no pong when the next ping is due.
    public var requiresPongs: Bool
    /// Receives the events of the WebSocket.
    public var listener: any WebSocketListener

    /// Makes an offer.
    ///
    /// - Parameters:
    ///   - compression: the compression to offer; `nil`, the default, for none.
    ///   - maximumMessageByteCount: the longest accepted message, in bytes after decompression; 1 MiB by default.
    ///   - pingInterval: the seconds between automatic pings; `nil`, the default, sends none.
    ///   - requiresPongs: whether a missing pong ends the connection; false by default.
    ///   - listener: receives the events of the WebSocket.
    public init(
        compression: WebSocketCompression? = nil, maximumMessageByteCount: Int = 1 << 20,
        pingInterval: TimeInterval? = nil, requiresPongs: Bool = false, listener: any WebSocketListener
    ) {
        self.compression = compression
        self.maximumMessageByteCount = maximumMessageByteCount
        self.pingInterval = pingInterval
        self.requiresPongs = requiresPongs
        self.listener = listener
    }
}

/// An offer of permessage-deflate (RFC 7692) with its four parameters.
public struct WebSocketCompression: Sendable, Hashable {
    /// Whether our compression may refer to earlier messages; false offers `client_no_context_takeover`.
    public var allowsClientContextTakeover: Bool
    /// Whether the peer's compression may refer to earlier messages; false requires `server_no_context_takeover`.
    public var allowsServerContextTakeover: Bool
    /// Our largest window, in bits from 8 to 15; `nil` lets the peer choose.
    public var clientMaximumWindowBits: Int?
    /// The peer's largest window, in bits from 8 to 15; `nil` lets the peer choose.
    public var serverMaximumWindowBits: Int?

    /// Makes an offer; window bits outside 8 to 15 become the nearest value of that range.
    ///
    /// - Parameters:
    ///   - allowsClientContextTakeover: whether our compression may refer to earlier messages; true by default.
    ///   - allowsServerContextTakeover: whether the peer's compression may refer to earlier messages; true by default.
    ///   - clientMaximumWindowBits: our largest window in bits; `nil`, the default, lets the peer choose.
    ///   - serverMaximumWindowBits: the peer's largest window in bits; `nil`, the default, lets the peer choose.
    public init(
        allowsClientContextTakeover: Bool = true, allowsServerContextTakeover: Bool = true,
        clientMaximumWindowBits: Int? = nil, serverMaximumWindowBits: Int? = nil
    ) {
        self.allowsClientContextTakeover = allowsClientContextTakeover
        self.allowsServerContextTakeover = allowsServerContextTakeover
        self.clientMaximumWindowBits = clientMaximumWindowBits.map { min(max($0, 8), 15) }
        self.serverMaximumWindowBits = serverMaximumWindowBits.map { min(max($0, 8), 15) }
    }
}

/// A message of a WebSocket (RFC 6455 §5.6).
public enum WebSocketMessage: Sendable, Hashable {
    /// Text, which is UTF-8 on the wire.
    case text(String)
    /// Bytes.
    case binary(Data)

    /// The number of bytes of content.
    public var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let data): data.count
        }
    }
}
