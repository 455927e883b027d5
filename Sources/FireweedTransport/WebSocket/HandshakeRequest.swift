// The request of an opening handshake.

import Foundation

/// Writes the head of an opening handshake (RFC 6455 §4.1).
struct HandshakeRequest {
    let message: RequestMessage
    let key: WebSocketKey
    let compression: WebSocketCompression?
    /// The value of the `Authorization` field that answers a challenge; `nil` without a challenge.
    var authorization: String?

    /// The message's fields that are not copied: fields of the handshake, framing fields, and fields for a proxy.
    private static let own = [
        "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Extensions",
        "Sec-WebSocket-Accept", "Content-Length", "Transfer-Encoding", "Host",
        "Proxy-Authorization",
    ]

    /// The head, including its empty line.
    ///
    /// Throws `badURL` if the message's URL is not valid, or if a field cannot be sent.
    var bytes: [UInt8] {
        get throws(TransferFailure) {
            let target = try RequestTarget(message.url)
            var fields = [
                ("Host", message.fields.value(of: "Host") ?? target.authority), ("Upgrade", "websocket"),
                ("Connection", "Upgrade"), ("Sec-WebSocket-Key", key.text), ("Sec-WebSocket-Version", "13"),
            ].map { Field(name: $0.0, value: $0.1) }
            if let compression {
                fields.append(Field(name: "Sec-WebSocket-Extensions", value: DeflateAgreement.offer(compression)))
            }
            if let authorization { fields.append(Field(name: "Authorization", value: authorization)) }
            fields += message.fields.fields.filter { field in
                let isAnswered = authorization != nil && field.name.isEqualIgnoringASCIICase("Authorization")
                return !isAnswered && !Self.own.contains(where: field.name.isEqualIgnoringASCIICase)
            }
            var bytes: [UInt8] = []
            try bytes.appendRequestLine("GET", target.originForm)
            for field in fields { try bytes.appendLine(of: field) }
            bytes.append("\r\n")
            return bytes
        }
    }

    /// The request target; `nil` if the message's URL is not valid.
    var target: String? { try? RequestTarget(message.url).originForm }

    /// The subprotocols that the message offers, in order.
    var subprotocols: [String] {
        message.fields.fields.filter { $0.name.isEqualIgnoringASCIICase("Sec-WebSocket-Protocol") }
            .flatMap { $0.value.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
