// The WebSocket part of a request message.

public import Foundation

/// Asks for a WebSocket (RFC 6455) instead of an ordinary response.
///
/// A request message carries the offer; the transport makes the opening handshake, and calls the listener once the peer
/// has agreed. The subprotocols on offer are the message's `Sec-WebSocket-Protocol` field.
public struct WebSocketOffer: Sendable {
    /// The compression to offer, or `nil` for none.
    public var compression: WebSocketCompression?
    /// Longest message to accept, in bytes after decompression; a longer one ends the connection with code 1009.
    ///
    /// A negative number counts as zero.
    public var maximumMessageByteCount: Int
    /// Seconds between automatic pings; none for `nil`, and for a number that is not positive and finite.
    ///
    /// A ping that has no answer when the next one is due delays the next one until the pong comes.
    public var pingInterval: TimeInterval?
    /// Whether an automatic ping that has no answer when the next one is due ends the connection with `timedOut`.
    public var requiresPongs: Bool
    /// Is notified of what happens on the WebSocket.
    public var listener: any WebSocketListener

    /// Makes an offer.
    ///
    /// - Parameters:
    ///   - compression: the compression to offer; `nil`, the default, for none.
    ///   - maximumMessageByteCount: the longest message to accept, in bytes; 1 MiB by default.
    ///   - pingInterval: seconds between automatic pings; `nil`, the default, sends none.
    ///   - requiresPongs: whether a missing pong ends the connection; false by default.
    ///   - listener: is notified of what happens on the WebSocket.
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
    /// Whether we may refer back to earlier messages when we compress; false asks for `client_no_context_takeover`.
    public var allowsClientContextTakeover: Bool
    /// Whether the peer may refer back to earlier messages; false demands `server_no_context_takeover`.
    public var allowsServerContextTakeover: Bool
    /// Our largest window, in bits from 8 to 15; `nil` lets the peer choose.
    public var clientMaximumWindowBits: Int?
    /// The peer's largest window, in bits from 8 to 15; `nil` leaves it to the peer.
    public var serverMaximumWindowBits: Int?

    /// Makes an offer; window bits outside 8 to 15 become the nearest of them.
    ///
    /// - Parameters:
    ///   - allowsClientContextTakeover: whether we may refer back to earlier messages; true by default.
    ///   - allowsServerContextTakeover: whether the peer may refer back to earlier messages; true by default.
    ///   - clientMaximumWindowBits: our largest window in bits; `nil`, the default, lets the peer choose.
    ///   - serverMaximumWindowBits: the peer's largest window in bits; `nil`, the default, leaves it to the peer.
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

    /// How many bytes of content it has.
    public var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let data): data.count
        }
    }
}
