// The sending and the receiving side of an open WebSocket.

public import Foundation

/// Sends on an open WebSocket, and closes it.
///
/// Every method may be called from any thread. Messages are sent in the order of the calls; pings are sent before
/// waiting messages.
public protocol WebSocketChannel: AnyObject, Sendable {
    /// Sends a message.
    ///
    /// - Parameters:
    ///   - message: text or bytes.
    ///   - completion: called once on the event loop: without a failure when the kernel has accepted the message's
    ///     bytes, otherwise with the failure.
    func send(_ message: WebSocketMessage, completion: @escaping @Sendable (TransferFailure?) -> Void)

    /// Sends a ping; `completion` is called on the loop with the pong, or with the reason why no pong will come.
    func ping(completion: @escaping @Sendable (TransferFailure?) -> Void)

    /// Starts the closing handshake (RFC 6455 §7.1.2) after all earlier messages are sent.
    ///
    /// The transfer ends after the peer's answer, or with `timedOut` after ten seconds without a byte.
    ///
    /// - Parameters:
    ///   - code: the close code; 0 sends no code.
    ///   - reason: UTF-8 text, which is cut to the 123 bytes that fit.
    func close(code: UInt16, reason: Data)
}

/// Receives the events of a WebSocket, in order, on the transport's thread.
///
/// No method may block. All events come after the head of the 101 response and before the end of the transfer, which
/// always follows.
public protocol WebSocketListener: AnyObject, Sendable {
    /// The opening handshake is done.
    ///
    /// - Parameters:
    ///   - channel: sends messages and control frames.
    ///   - subprotocol: the subprotocol that the peer chose; `nil` if it chose none.
    func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?)
    /// A message arrived.
    ///
    /// - Returns: the new flow; no further message comes while it forbids receiving.
    func webSocketDidReceive(_ message: WebSocketMessage) -> Flow
    /// The closing handshake is done: both sides have sent a close frame.
    ///
    /// - Parameters:
    ///   - code: the peer's close code; 1005 if it sent none (RFC 6455 §7.1.5).
    ///   - reason: the peer's reason; empty if it sent none.
    func webSocketDidClose(code: UInt16, reason: Data)
}
