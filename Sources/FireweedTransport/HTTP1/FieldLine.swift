// Field lines and request lines of the heads that we send.

extension Field {
    /// Whether we may send the field; false if its name is not a token or its value has a control character.
    ///
    /// A received field may fail this test.
    package var isSendable: Bool { name.isToken && withOctets { !$0.hasControl } }

    /// Calls `body` with the octets of the value.
    @inline(__always)
    fileprivate borrowing func withOctets<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        octets?.withUnsafeBufferPointer(body) ?? value.withBytes(body)
    }
}

extension [UInt8] {
    /// Appends a field line; throws `badURL` with the name of a field that cannot be sent, and then appends nothing.
    ///
    /// Every field line that we send goes through this method: those of HTTP/1.1, HTTP/2, `CONNECT` and WebSocket
    /// handshakes. The name must be a token, and the value may have no control character except tabs. This prevents
    /// text from users, proxies or servers from ending a line and injecting another (RFC 9110 §5.1, §5.5).
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

    /// Appends a request line (RFC 9112 §3); `target` comes from a `RequestTarget`, which has checked its bytes.
    ///
    /// Throws `badURL` if the method is not a token, and then appends nothing.
    mutating func appendRequestLine(_ method: String, _ target: String) throws(TransferFailure) {
        try RequestMessage.check(method: method)
        append(contentsOf: method.utf8)
        append(0x20)
        append(contentsOf: target.utf8)
        append(" HTTP/1.1\r\n")
    }
}

extension RequestMessage {
    /// Throws `badURL` if the method is not a token.
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
