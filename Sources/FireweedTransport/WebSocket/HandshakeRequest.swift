// The opening handshake's request, as bytes.

import Foundation

/// Writes the head of a handshake (RFC 6455 §4.1).
struct HandshakeRequest {
    let message: RequestMessage
    let key: WebSocketKey
    let compression: WebSocketCompression?
    /// The value of an `Authorization` field that answers a challenge, or `nil`.
    var authorization: String?

    /// Fields that are the handshake's own, that frame content, which it has none of, or that are for a proxy.
    private static let own = [
        "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Extensions",
        "Sec-WebSocket-Accept", "Content-Length", "Transfer-Encoding", "Host",
        "Proxy-Authorization",
    ]

    /// The head with its empty line; `nil` when the message's URL has no host.
    var bytes: [UInt8]? {
        guard let components = URLComponents(string: message.url), let host = Self.host(of: components) else {
            return nil
        }
        var lines = [
            "GET \(RequestMessage.target(of: components)) HTTP/1.1",
            "Host: \(message.fields.value(of: "Host") ?? host)",
            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: \(key.text)", "Sec-WebSocket-Version: 13",
        ]
        if let compression { lines.append("Sec-WebSocket-Extensions: \(DeflateAgreement.offer(compression))") }
        if let authorization { lines.append("Authorization: \(authorization)") }
        var bytes = Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
        for field in message.fields.fields where !Self.own.contains(where: field.name.isEqualIgnoringASCIICase) {
            if authorization != nil, field.name.isEqualIgnoringASCIICase("Authorization") { continue }
            bytes += Array("\(field.name): ".utf8) + (field.octets ?? Array(field.value.utf8)) + [0x0D, 0x0A]
        }
        return bytes + [0x0D, 0x0A]
    }

    /// The request target; `nil` when the message's URL is none.
    var target: String? { URLComponents(string: message.url).map(RequestMessage.target) }

    /// The subprotocols that the message offers, in order.
    var subprotocols: [String] {
        message.fields.fields.filter { $0.name.isEqualIgnoringASCIICase("Sec-WebSocket-Protocol") }
            .flatMap { $0.value.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Host and port; the port is left out where it is the scheme's own.
    private static func host(of components: URLComponents) -> String? {
        guard let host = components.encodedHost, !host.isEmpty else { return nil }
        let usual = components.scheme?.lowercased() == "https" ? 443 : 80
        guard let port = components.port, port != usual else { return host }
        return "\(host):\(port)"
    }
}
