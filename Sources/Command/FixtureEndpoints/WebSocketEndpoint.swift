// The endpoint of a WebSocket.

/// The endpoint `/websocket`, whose server switches protocols (RFC 6455 §4.2.2) and sends messages back.
package enum WebSocketEndpoint {
    /// Returns the response: 101 for a handshake, 426 for every other request (RFC 9110 §15.5.22).
    static func response(to request: ReceivedRequest) -> FixtureResponse {
        isHandshake(request)
            ? FixtureResponse(status: 101)
            : .text("a WebSocket is here\n", status: 426, fields: [("Upgrade", "websocket")])
    }

    /// Whether a request is the opening handshake of a WebSocket at the endpoint.
    package static func isHandshake(_ request: ReceivedRequest) -> Bool {
        request.path == "/websocket" && request.method == "GET"
            && request.field("Upgrade")?.lowercased() == "websocket" && request.field("Sec-WebSocket-Key") != nil
    }
}
