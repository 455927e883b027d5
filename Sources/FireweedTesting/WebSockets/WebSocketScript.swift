// The server's part of a WebSocket, as a test writes it.

import Fireweed

/// The actions of a stubbed WebSocket once it is open.
struct WebSocketScript: Sendable {
    let subprotocol: String?
    let play: @Sendable (MockWebSocket) async throws -> Void
}

extension MockResponse {
    /// A response that opens a WebSocket, and plays the server's part of the conversation.
    ///
    /// - Parameters:
    ///   - subprotocol: the subprotocol that is chosen; `nil`, the default, chooses none.
    ///   - script: runs in a task of its own for each WebSocket. The WebSocket closes with 1000 when the script
    ///     returns, and fails when it throws. The script is cancelled when the client is gone.
    /// - Returns: the response.
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
