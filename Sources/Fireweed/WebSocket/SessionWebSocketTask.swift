// The task of a WebSocket.

import FireweedTransport
import Foundation
public import FoundationNetworking
import Synchronization

/// One try of a WebSocket request.
///
/// Messages are sent and received by the `WebSocketRequest`: Foundation does not let `send` and `receive` of a task be overridden, and
/// calling them on a session's task ends the process, as Foundation looks for its own session.
public typealias SessionWebSocketTask = URLSessionWebSocketTask

extension URLSessionWebSocketTask {
    /// The subprotocol that the server chose; `nil` when it chose none, before the handshake is done, and for Foundation's own tasks.
    public var negotiatedProtocol: String? { (self as? AttemptWebSocketTask)?.link?.facts.subprotocol }
}
