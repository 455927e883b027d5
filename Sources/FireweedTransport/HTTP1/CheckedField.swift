// The lines of the heads that we send.

/// A field that may go out: its name is a token, and its value has no control character but tabs.
///
/// Every field line of a head is made of such a field, over HTTP/1.1 and HTTP/2, in `CONNECT` and in the handshakes of
/// WebSockets. So no text of users, proxies or servers can end a line and begin another one (RFC 9110 §5.1, §5.5).
struct CheckedField {
    let field: Field

    /// Checks a field; throws `badURL` with its name.
    init(_ field: Field) throws(TransferFailure) {
        guard field.name.isToken else {
            throw .refusedField(field, "its name is not a token (RFC 9110 §5.1)")
        }
        let hasControl = { (bytes: UnsafeBufferPointer<UInt8>) in
            // All bytes are looked at, several at a time.
            bytes.reduce(0) { $0 | ($1 < 0x20 && $1 != 0x09 || $1 == 0x7F ? 1 : 0) } != 0
        }
        guard !(field.octets?.withUnsafeBufferPointer(hasControl) ?? field.value.withBytes(hasControl)) else {
            throw .refusedField(field, "its value has a control character (RFC 9110 §5.5)")
        }
        self.field = field
    }
}

extension Field {
    /// Whether the field may go out; what a peer has sent may not be.
    package var isSendable: Bool { (try? CheckedField(self)) != nil }
}

extension [UInt8] {
    /// Appends a field line.
    mutating func append(_ checked: CheckedField) {
        checked.field.name.withBytes { append(contentsOf: $0) }
        append(0x3A)
        append(0x20)
        if let octets = checked.field.octets {
            append(contentsOf: octets)
        } else {
            checked.field.value.withBytes { append(contentsOf: $0) }
        }
        append(0x0D)
        append(0x0A)
    }

    /// Appends a request line (RFC 9112 §3); the target is a part of a `RequestTarget`, which has checked its bytes.
    ///
    /// Throws `badURL` where the method is not a token, and appends nothing then.
    mutating func appendRequestLine(_ method: String, _ target: String) throws(TransferFailure) {
        try RequestMessage.check(method: method)
        append(contentsOf: method.utf8)
        append(0x20)
        append(contentsOf: target.utf8)
        append(" HTTP/1.1\r\n")
    }
}

extension RequestMessage {
    /// Throws `badURL` where a method is not a token.
    static func check(method: String) throws(TransferFailure) {
        guard method.isToken else {
            throw .badMessage("the method is not a token (RFC 9110 §9.1)")
        }
    }
}

extension TransferFailure {
    /// A field of a request message cannot be sent.
    static func refusedField(_ field: Field, _ reason: String) -> TransferFailure {
        let name = String(
            String.UnicodeScalarView(field.name.unicodeScalars.map { 0x20...0x7E ~= $0.value ? $0 : "." }))
        return .badMessage("the request's field “\(name)” cannot be sent: \(reason)")
    }
}
