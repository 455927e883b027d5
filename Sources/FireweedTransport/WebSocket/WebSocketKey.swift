// The key of an opening handshake, and the server's answer to it.

import Foundation

/// The nonce of an opening handshake (RFC 6455 §4.1).
package struct WebSocketKey: Equatable {
    /// The value of `Sec-WebSocket-Key`: 16 bytes in Base64.
    package let text: String

    /// Makes a new random key.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(bytes: (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    package init(bytes: [UInt8]) {
        text = Data(bytes).base64EncodedString()
    }

    init(text: String) {
        self.text = text
    }

    /// The value that the server's `Sec-WebSocket-Accept` must have (RFC 6455 §4.2.2).
    package var accept: String {
        let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Data(SHA1.digest(of: Array((text + suffix).utf8))).base64EncodedString()
    }
}
