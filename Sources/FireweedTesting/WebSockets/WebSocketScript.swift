// The server's part of a WebSocket, as a test writes it.

import Fireweed

/// What a stubbed WebSocket does once it is open.
struct WebSocketScript: Sendable {
    let subprotocol: String?
    let play: @Sendable (MockWebSocket) async throws -> Void
}

extension MockResponse {
    /// Opens a WebSocket; see ``Stub/webSocket(_:_:subprotocol:script:)``.
    public static func webSocket(
        subprotocol: String? = nil, script: @escaping @Sendable (MockWebSocket) async throws -> Void
    ) -> MockResponse {
        var response = MockResponse(
            status: 101, headers: ["Upgrade": "websocket", "Connection": "Upgrade"])
        if let subprotocol { response = response.header("Sec-WebSocket-Protocol", subprotocol) }
        return response.changed {
            $0.webSocket = WebSocketScript(subprotocol: subprotocol, play: script)
        }
    }
}
