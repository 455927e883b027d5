// Between the transport's WebSocket and the request.

import FireweedTransport
import Foundation
import Synchronization

/// Tells the request what happens on one attempt's WebSocket, and keeps what the attempt's task shows of it.
///
/// It holds the request weakly: the attempt, which the request holds, holds it.
final class WebSocketLink: WebSocketListener {
    struct Facts: Sendable {
        var subprotocol: String?
        var closeCode: WebSocketCloseCode?
        var closeReason: Data?
    }

    weak let request: WebSocketRequest?
    private let known = Mutex(Facts())

    init(request: WebSocketRequest) {
        self.request = request
    }

    var facts: Facts { known.withLock { $0 } }

    func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?) {
        known.withLock { $0.subprotocol = subprotocol }
        request?.tellDelegate { $0.urlSession($1, webSocketTask: $2, didOpenWithProtocol: subprotocol) }
        request?.opened(channel, subprotocol: subprotocol)
    }

    func webSocketDidReceive(_ message: WebSocketMessage) -> Flow {
        guard let request, let attempt = request.lastAttempt else { return .undecided }
        return attempt.flow(afterOffering: { request.received(.message(message)) })
    }

    func webSocketDidClose(code: UInt16, reason: Data) {
        let closeCode = WebSocketCloseCode(rawValue: Int(code))
        known.withLock { known in
            known.closeCode = closeCode
            known.closeReason = reason
        }
        let reason = reason.isEmpty ? nil : reason
        request?.tellDelegate {
            $0.urlSession($1, webSocketTask: $2, didCloseWith: closeCode.urlSessionCode, reason: reason)
        }
        request?.closed(closeCode, reason: reason)
    }
}
