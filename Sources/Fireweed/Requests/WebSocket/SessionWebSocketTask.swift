// The task of a WebSocket.

import FireweedTransport
import Foundation
public import FoundationNetworking
import Synchronization

/// One try of a WebSocket request.
///
/// Send and receive messages with the `WebSocketRequest`. Foundation does not let a task's `send` and `receive` be
/// overridden: a call of them on this task ends the process, since Foundation expects its own session.
public typealias SessionWebSocketTask = URLSessionWebSocketTask

extension URLSessionWebSocketTask {
    /// The subprotocol that the server chose; `nil` when it chose none, before the handshake is done, and for
    /// Foundation's own tasks.
    public var negotiatedProtocol: String? { (self as? AttemptWebSocketTask)?.link?.facts.subprotocol }
}
