// The task of a WebSocket.

import FireweedTransport
import Foundation
public import FoundationNetworking
import Synchronization

/// The task of one attempt of a WebSocket request.
///
/// Send and receive messages with the `WebSocketRequest`. The task's own `send` and `receive` cannot be overridden:
/// calling them on this task ends the process, since Foundation expects its own session.
public typealias SessionWebSocketTask = URLSessionWebSocketTask

extension URLSessionWebSocketTask {
    /// The subprotocol that the server chose; `nil` when the server chose none, before the handshake is done, and for
    /// Foundation's own tasks.
    public var negotiatedProtocol: String? { (self as? AttemptWebSocketTask)?.link?.facts.subprotocol }
}
