// The URLs of WebSockets.

import Foundation

/// What `ws` and `wss` mean on the wire (RFC 6455 §3).
enum WebSocketURL {
    /// The schemes that a WebSocket request takes; the opening handshake is HTTP, so its own two are taken as well.
    static let schemes = ["ws", "wss", "http", "https"]

    /// The URL of the handshake: `http` for `ws`, `https` for `wss`, and no fragment.
    ///
    /// Cookies, origins and proxies are decided by it, as RFC 6455 §4.1 asks for.
    static func onTheWire(_ url: URL) -> URL {
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url }
        switch components.scheme?.lowercased() {
        case "ws": components.scheme = "http"
        case "wss": components.scheme = "https"
        case let scheme: components.scheme = scheme
        }
        components.fragment = nil
        components.user = nil
        components.password = nil
        return components.url ?? url
    }
}
