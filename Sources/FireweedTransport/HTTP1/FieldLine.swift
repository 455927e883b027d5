// The lines of the heads that we send.

extension Field {
    /// Whether the field may be sent; a field that a peer has sent need not be.
    package var isSendable: Bool { name.isToken && withOctets { !$0.hasControl } }

    /// Calls `body` with the octets of the value.
    @inline(__always)
    fileprivate borrowing func withOctets<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        octets?.withUnsafeBufferPointer(body) ?? value.withBytes(body)
    }
}

extension [UInt8] {
    /// Appends a field line; throws `badURL` with the name of a field that cannot be sent, and appends nothing then.
    ///
    /// Every field line of a head is written here, over HTTP/1.1 and HTTP/2, in `CONNECT` and in the handshakes of
    /// WebSockets: its name is a token, and its value has no control character but tabs. So no text of users, proxies
    /// or servers can end a line and begin another one (RFC 9110 §5.1, §5.5).
    mutating func appendLine(of field: borrowing Field) throws(TransferFailure) {
        let start = count
        let isToken = field.name.withBytes { name in
            append(contentsOf: name)
            return name.isToken
        }
        append(0x3A)
        append(0x20)
        let hasControl = field.withOctets { value in
            append(contentsOf: value)
            return value.hasControl
        }
        append(0x0D)
        append(0x0A)
        guard !isToken || hasControl else { return }
        removeLast(count - start)
        throw isToken
            ? .refusedField(copy field, "its value has a control character (RFC 9110 §5.5)")
            : .refusedField(copy field, "its name is not a token (RFC 9110 §5.1)")
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
