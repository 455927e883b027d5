// The URLs of WebSockets.

package import Foundation

/// The URLs of WebSockets on the wire (RFC 6455 §3).
package enum WebSocketURL {
    /// The schemes that a WebSocket request accepts; the opening handshake is HTTP, so `http` and `https` are accepted
    /// too.
    static let schemes = ["ws", "wss", "http", "https"]

    /// The URL of the handshake: `http` for `ws`, `https` for `wss`, without fragment and userinfo.
    ///
    /// Cookies, origins and proxies depend on this URL, as RFC 6455 §4.1 requires.
    package static func onTheWire(_ url: URL) -> URL {
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
