// The two sides of an open WebSocket.

public import Foundation

/// Sends on an open WebSocket, and closes it.
///
/// Every method may be called from any thread. Messages are sent in the order of the calls; pings are sent before
/// messages that wait.
public protocol WebSocketChannel: AnyObject, Sendable {
    /// Sends a message.
    ///
    /// - Parameters:
    ///   - message: text or bytes.
    ///   - completion: called once on the event loop: without a failure when the kernel has the message's bytes, else
    ///     with the failure.
    func send(_ message: WebSocketMessage, completion: @escaping @Sendable (TransferFailure?) -> Void)

    /// Sends a ping; `completion` is called on the loop when its pong came, or with the reason why none will.
    func ping(completion: @escaping @Sendable (TransferFailure?) -> Void)

    /// Begins the closing handshake (RFC 6455 §7.1.2) once everything before it is sent.
    ///
    /// The transfer ends when the peer has answered, or after ten seconds with `timedOut`.
    ///
    /// - Parameters:
    ///   - code: the close code; 0 sends no code.
    ///   - reason: UTF-8 text, which is cut to the 123 bytes that fit.
    func close(code: UInt16, reason: Data)
}

/// Is notified of what happens on a WebSocket, on the transport's thread and in order.
///
/// No method may wait. Everything comes after the head of the 101 response and before the transfer's end, which follows
/// in any case.
public protocol WebSocketListener: AnyObject, Sendable {
    /// The opening handshake is done.
    ///
    /// - Parameters:
    ///   - channel: sends messages and control frames.
    ///   - subprotocol: the subprotocol that the peer chose; `nil` when it chose none.
    func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?)
    /// A message came.
    ///
    /// - Returns: which bytes may move now; no further message comes until bytes may come in.
    func webSocketDidReceive(_ message: WebSocketMessage) -> Flow
    /// The closing handshake is done: both sides have sent a close frame.
    ///
    /// - Parameters:
    ///   - code: the peer's close code; 1005 when it sent none (RFC 6455 §7.1.5).
    ///   - reason: the peer's reason; empty when it sent none.
    func webSocketDidClose(code: UInt16, reason: Data)
}
