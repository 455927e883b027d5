// The check of the response to an opening handshake.

/// The subprotocol and the extensions that both sides agreed on.
package struct HandshakeAgreement: Equatable {
    package var subprotocol: String?
    package var compression: DeflateAgreement?
}

/// Why a 101 response does not open a WebSocket; `text` names the requirement that is not met.
package struct HandshakeFault: Error, Equatable {
    package let text: String
}

/// The checks that RFC 6455 §4.1 requires of a client.
package enum HandshakeAnswer {
    /// Checks a 101 response, and returns what both sides agreed on.
    package static func agreement(
        head: ResponseHead, key: WebSocketKey, subprotocols: [String], compression: WebSocketCompression?
    ) throws(HandshakeFault) -> HandshakeAgreement {
        guard head.status == 101 else { throw HandshakeFault(text: "status \(head.status) where 101 was expected") }
        guard head.value(of: "Upgrade")?.lowercased() == "websocket" else {
            throw HandshakeFault(text: "Upgrade does not say websocket")
        }
        let connection = tokens(of: head.value(of: "Connection") ?? "")
        guard connection.contains(where: { $0.isEqualIgnoringASCIICase("upgrade") }) else {
            throw HandshakeFault(text: "Connection does not say Upgrade")
        }
        let accepts = head.values(of: "Sec-WebSocket-Accept")
        guard accepts.count == 1, accepts[0] == key.accept else {
            throw HandshakeFault(text: "Sec-WebSocket-Accept does not answer our key")
        }
        return HandshakeAgreement(
            subprotocol: try subprotocol(head, offered: subprotocols),
            compression: try DeflateAgreement.answer(head.values(of: "Sec-WebSocket-Extensions"), to: compression))
    }

    private static func subprotocol(
        _ head: ResponseHead, offered: [String]
    ) throws(HandshakeFault) -> String? {
        let chosen = head.values(of: "Sec-WebSocket-Protocol")
        guard let first = chosen.first else { return nil }
        guard chosen.count == 1, offered.contains(first) else {
            throw HandshakeFault(text: "Sec-WebSocket-Protocol names a protocol that was not offered")
        }
        return first
    }

    private static func tokens(of list: String) -> [String] {
        list.split(separator: ",").map { part in
            String(part.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        }
    }
}
