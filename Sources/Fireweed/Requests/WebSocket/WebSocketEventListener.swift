// The listener between the transport's WebSocket and the request.

import FireweedTransport
import Foundation
import Synchronization

/// Notifies the request of the events of one attempt's WebSocket, and stores the values that the attempt's task
/// returns.
///
/// The reference to the request is weak: the request holds the attempt, and the attempt holds this object.
final class WebSocketEventListener: WebSocketListener {
    struct CloseDetails: Sendable {
        var subprotocol: String?
        var closeCode: WebSocketCloseCode?
        var closeReason: Data?
    }

    private weak let owner: Request?
    private let receiver: WebSocketReceiver
    private let known = Mutex(CloseDetails())

    init(request: Request, receiver: WebSocketReceiver) {
        owner = request
        self.receiver = receiver
    }

    /// The request, for the attempt's task.
    var request: WebSocketRequest? { owner as? WebSocketRequest }

    var facts: CloseDetails { known.withLock { $0 } }

    func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?) {
        known.withLock { $0.subprotocol = subprotocol }
        guard let request = owner else { return }
        request.notifyDelegate { $0.urlSession($1, webSocketTask: $2, didOpenWithProtocol: subprotocol) }
        receiver.opened(channel, subprotocol: subprotocol, of: request)
    }

    func webSocketDidReceive(_ message: WebSocketMessage) -> Flow {
        guard let attempt = owner?.lastAttempt else { return .undecided }
        return attempt.flow(afterOffering: { receiver.receive(.message(message)) })
    }

    func webSocketDidClose(code: UInt16, reason: Data) {
        let closeCode = WebSocketCloseCode(rawValue: Int(code))
        known.withLock { known in
            known.closeCode = closeCode
            known.closeReason = reason
        }
        guard let request = owner else { return }
        let reason = reason.isEmpty ? nil : reason
        request.notifyDelegate {
            $0.urlSession($1, webSocketTask: $2, didCloseWith: closeCode.urlSessionCode, reason: reason)
        }
        receiver.closed(closeCode, reason: reason)
    }
}
