// The codes of close frames.

import Foundation
public import FoundationNetworking

/// Why a WebSocket was closed (RFC 6455 §7.4): any number that fits into a close frame.
///
/// On Linux `URLSessionWebSocketTask.CloseCode` has no values for 1012 to 1014 and for the codes of applications, 3000
/// to 4999; this type has a value for every number. Codes can be integer literals: `socket.close(sendingCode: 4001)`.
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible,
    ExpressibleByIntegerLiteral
{
    /// The number on the wire.
    public let rawValue: Int

    /// Makes a code of a number.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// No code.
    public static let invalid = WebSocketCloseCode(rawValue: 0)
    /// The connection has fulfilled its purpose.
    public static let normalClosure = WebSocketCloseCode(rawValue: 1000)
    /// The server shuts down, or the user leaves.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// The other side broke the protocol.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// The receiver does not accept messages of this type, for instance binary messages.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// The close frame held no code; never sent.
    public static let noStatusReceived = WebSocketCloseCode(rawValue: 1005)
    /// No close frame came; never sent.
    public static let abnormalClosure = WebSocketCloseCode(rawValue: 1006)
    /// A message's content does not fit its type, such as text that is not UTF-8.
    public static let invalidFramePayloadData = WebSocketCloseCode(rawValue: 1007)
    /// A message broke a rule.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// A message was too long.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// The server did not agree to an extension that the client requires.
    public static let mandatoryExtensionMissing = WebSocketCloseCode(rawValue: 1010)
    /// The server met something that it did not expect.
    public static let internalServerError = WebSocketCloseCode(rawValue: 1011)
    /// The server restarts; connect again after a random delay.
    public static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
    /// The server is overloaded; connect again later, or to another server.
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
    /// A gateway got an invalid response from the server behind it.
    public static let badGateway = WebSocketCloseCode(rawValue: 1014)
    /// The TLS handshake failed; never sent.
    public static let tlsHandshakeFailure = WebSocketCloseCode(rawValue: 1015)

    /// The number.
    public var description: String { String(rawValue) }

    /// The number to put into a close frame; 0, which sends no code, when the code may not be sent (RFC 6455 §7.4.1).
    var wireCode: UInt16 {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: UInt16(rawValue)
        default: 0
        }
    }

    /// Makes a code of a literal.
    public init(integerLiteral value: Int) {
        rawValue = value
    }

    /// The same code as Foundation's value; `.invalid` for a number without a value in Foundation.
    public var urlSessionCode: URLSessionWebSocketTask.CloseCode {
        URLSessionWebSocketTask.CloseCode(rawValue: rawValue) ?? .invalid
    }
}
