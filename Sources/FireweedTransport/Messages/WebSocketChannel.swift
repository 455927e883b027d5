// The two sides of an open WebSocket.

public import Foundation

/// Steers an open WebSocket.
///
/// Every method may be called from any thread. Whatever is sent goes out in the order of the calls, pings excepted,
/// which go first.
public protocol WebSocketChannel: AnyObject, Sendable {
    /// Sends a message; `completion` is called on the loop once its bytes were handed to the kernel, or with the reason
    /// why not.
    func send(_ message: WebSocketMessage, completion: @escaping @Sendable (TransferFailure?) -> Void)

    /// Sends a ping; `completion` is called on the loop when its pong came, or with the reason why none will.
    func ping(completion: @escaping @Sendable (TransferFailure?) -> Void)

    /// Begins the closing handshake (RFC 6455 §7.1.2) once everything before it is sent.
    ///
    /// `code` 0 sends no code. A reason is cut to the 123 bytes that fit. The transfer ends when the peer has answered,
    /// or after ten seconds with `timedOut`.
    func close(code: UInt16, reason: Data)
}

/// Hears what happens on a WebSocket, on the transport's thread and in order.
///
/// No method may wait. Everything comes after the head of the 101 response and before the transfer's end, which follows
/// in any case.
public protocol WebSocketListener: AnyObject, Sendable {
    /// The handshake is done; `subprotocol` is the one that the peer chose.
    func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?)
    /// A message came.
    ///
    /// - Returns: which bytes may move now; no further message comes until bytes may come in.
    func webSocketDidReceive(_ message: WebSocketMessage) -> Flow
    /// Both sides have said goodbye; `code` is the peer's, 1005 when it gave none (RFC 6455 §7.1.5).
    func webSocketDidClose(code: UInt16, reason: Data)
}
