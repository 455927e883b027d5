// The task of a WebSocket.

import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// One try of a WebSocket request, with what `URLSessionWebSocketTask` shows of itself.
public final class SessionWebSocketTask: SessionTask, @unchecked Sendable {
    // SAFETY: it adds no stored property.

    /// A message: Foundation's own type.
    public typealias Message = URLSessionWebSocketTask.Message

    /// Why a WebSocket was closed (RFC 6455 §7.4).
    ///
    /// It has the members of `URLSessionWebSocketTask.CloseCode`, which on Linux has no values for the codes of applications, 3000 to
    /// 4999; this type has one for every number.
    public struct CloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The number on the wire.
        public let rawValue: Int

        /// Makes a code of a number.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// No code at all.
        public static let invalid = CloseCode(rawValue: 0)
        /// The purpose is fulfilled.
        public static let normalClosure = CloseCode(rawValue: 1000)
        /// A server goes down, or a user leaves.
        public static let goingAway = CloseCode(rawValue: 1001)
        /// The other side broke the protocol.
        public static let protocolError = CloseCode(rawValue: 1002)
        /// A kind of message came that cannot be taken.
        public static let unsupportedData = CloseCode(rawValue: 1003)
        /// The close frame held no code; never sent.
        public static let noStatusReceived = CloseCode(rawValue: 1005)
        /// No close frame came; never sent.
        public static let abnormalClosure = CloseCode(rawValue: 1006)
        /// A message's content does not fit its type, as text that is no UTF-8.
        public static let invalidFramePayloadData = CloseCode(rawValue: 1007)
        /// A message broke a rule.
        public static let policyViolation = CloseCode(rawValue: 1008)
        /// A message was too long.
        public static let messageTooBig = CloseCode(rawValue: 1009)
        /// The server did not agree to an extension.
        public static let mandatoryExtensionMissing = CloseCode(rawValue: 1010)
        /// The server met something that it did not expect.
        public static let internalServerError = CloseCode(rawValue: 1011)
        /// The TLS handshake failed; never sent.
        public static let tlsHandshakeFailure = CloseCode(rawValue: 1015)

        /// The number.
        public var description: String { String(rawValue) }

        /// The number to put into a close frame; 0, for none, when the code may not be sent (RFC 6455 §7.4.1).
        var wireCode: UInt16 {
            switch rawValue {
            case 1000...1003, 1007...1014, 3000...4999: UInt16(rawValue)
            default: 0
            }
        }
    }

    private var link: WebSocketLink? {
        attempt.state.withLock { $0.hop.webSocket?.listener as? WebSocketLink }
    }

    /// The code of the peer's close frame; `.invalid` while none has come.
    public var closeCode: CloseCode { link?.facts.closeCode ?? .invalid }
    /// The reason in the peer's close frame; `nil` while none has come.
    public var closeReason: Data? { link?.facts.closeReason }
    /// The subprotocol that the server chose; `nil` when it chose none, and before the handshake is done.
    public var negotiatedProtocol: String? { link?.facts.subprotocol }
}
