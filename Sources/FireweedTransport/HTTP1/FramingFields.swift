// The fields of a head that concern its content and its connection.

/// The values of one head's fields that frame its content or control its connection (RFC 9112 §6, §7 and §9).
struct FramingFields {
    /// The value of `Transfer-Encoding`.
    enum TransferCoding: Equatable {
        case none
        /// The only coding is `chunked`.
        case chunked
        /// Any other value: a coding that the request did not accept, or a malformed list.
        case unsound(String)
    }

    /// The lengths of `Content-Length`, which `ResponseHead.Marks.note` collects.
    var length = AnnouncedLength()
    private(set) var transferCoding = TransferCoding.none
    /// `Connection: close` (RFC 9112 §9.6).
    private(set) var hasClose = false
    /// `Connection: keep-alive`, without which HTTP/1.0 closes the connection (RFC 9112 §9.3).
    private(set) var hasKeepAlive = false
    /// The seconds of `Keep-Alive: timeout=…` (RFC 2068 §19.7.1.1); `nil` without a valid one.
    private(set) var keepAliveSeconds: Int?

    /// Whether the field frames the content or controls the connection; recipients treat folded lines differently, so
    /// such a field must not be folded.
    static func areFramed(by name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 10: name.isFieldName("connection") || name.isFieldName("keep-alive")
        case 14: name.isFieldName("content-length")
        case 17: name.isFieldName("transfer-encoding")
        default: false
        }
    }

    /// Records the field if it is one of these.
    mutating func note(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        switch name.count {
        case 10 where name.isFieldName("connection"): noteConnection(value)
        case 10 where name.isFieldName("keep-alive"): noteKeepAlive(value)
        case 17 where name.isFieldName("transfer-encoding"): noteTransferCodings(value)
        default: break
        }
    }

    private mutating func noteConnection(_ value: UnsafeRawBufferPointer) {
        value.forEachListMember { member in
            switch member.count {
            case 5 where member.isFieldName("close"): hasClose = true
            case 10 where member.isFieldName("keep-alive"): hasKeepAlive = true
            default: break
            }
        }
    }

    private mutating func noteKeepAlive(_ value: UnsafeRawBufferPointer) {
        value.forEachListMember { member in
            let name: StaticString = "timeout="
            guard member.count > 8, member.count <= 17 else { return }
            guard UnsafeRawBufferPointer(rebasing: member[..<8]).isFieldName(name) else { return }
            let digits = member[8...]
            guard digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return }
            keepAliveSeconds = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
    }

    /// Accepts only `chunked`: other transfer codings need a `TE` field in the request (RFC 9112 §7.4).
    private mutating func noteTransferCodings(_ value: UnsafeRawBufferPointer) {
        var isEmpty = true
        value.forEachListMember { member in
            isEmpty = false
            if case .unsound = transferCoding { return }
            if transferCoding == .chunked {
                transferCoding = .unsound("the response has a transfer coding after “chunked” (RFC 9112 §7.1)")
            } else if member.count == 7, member.isFieldName("chunked") {
                transferCoding = .chunked
            } else {
                let name = FieldBytes.excerpt(member, from: 0, to: member.count)
                transferCoding = .unsound("the response has the transfer coding “\(name)”, which is not understood")
            }
        }
        if isEmpty { transferCoding = .unsound("the response has a Transfer-Encoding field without a coding") }
    }
}

extension UnsafeRawBufferPointer {
    /// Calls `body` with each non-empty member of a comma-separated list (RFC 9110 §5.6.1), without surrounding white
    /// space.
    func forEachListMember(_ body: (UnsafeRawBufferPointer) -> Void) {
        var start = 0
        while start < count {
            var end = start
            while end < count, self[end] != 0x2C { end += 1 }
            var (first, last) = (start, end)
            while first < last, self[first].isFieldSpace { first += 1 }
            while last > first, self[last - 1].isFieldSpace { last -= 1 }
            if first < last { body(UnsafeRawBufferPointer(rebasing: self[first..<last])) }
            start = end + 1
        }
    }
}
