// The fields of a request message, checked and serialised.

extension FieldBlock {
    /// Why these fields cannot be sent, in words that name the first such field; `nil` if they can.
    package var refusal: String? {
        do throws(TransferFailure) {
            _ = try CheckedFields(self)
            return nil
        } catch {
            guard case .exchange(_, let detail, _) = error else { return "the fields cannot be sent" }
            return detail
        }
    }
}

/// A block of fields in the form of HTTP/1.1, with the values of the fields that concern framing and connection.
///
/// A message's fields come from users and from what users received: none of them may end a line, contradict the
/// content, or control the connection, which only the transport does (RFC 9110 §7.6.1, RFC 9112 §6). A field that
/// cannot be sent is refused with an error that names the field.
struct CheckedFields {
    /// The lines of the fields that are always sent.
    private(set) var lines: [UInt8] = []
    /// The lines of `Proxy-Authorization`, which no origin may see (RFC 9110 §11.7.2).
    private(set) var proxyLines: [UInt8] = []
    /// The value of `Host`, where the message has one of its own.
    private(set) var host: [UInt8]?
    /// The value of `Content-Length`.
    private(set) var length: Int64?
    /// `Transfer-Encoding: chunked`.
    private(set) var isChunked = false
    /// `Connection: close`.
    private(set) var closesConnection = false
    /// There is a `Connection` field.
    private var hasConnectionOptions = false
    /// `Expect: 100-continue` (RFC 9110 §10.1.1).
    private(set) var expectsContinue = false
    /// `TE: trailers`, which the connection's options have to name (RFC 9110 §10.1.4).
    private(set) var acceptsTrailers = false
    /// `Accept`, or the decision to send none.
    private(set) var hasAccept = false
    /// `Accept-Encoding`, or the decision to send none.
    private(set) var hasAcceptEncoding = false
    /// False where `FieldWriting` omits `Host`.
    private(set) var sendsHost = true

    /// Checks the fields of a block; throws `badURL` with the name of the first field that cannot be sent.
    init(_ block: FieldBlock, writing: FieldWriting? = nil) throws(TransferFailure) {
        for name in writing?.omittedNames ?? [] {
            switch name.lowercased() {
            case "host": sendsHost = false
            case "accept": hasAccept = true
            case "accept-encoding": hasAcceptEncoding = true
            default: break
            }
        }
        let fields = writing?.lines(of: block.fields) ?? block.fields
        lines.reserveCapacity(fields.count * 64)
        try take(fields[...])
    }

    /// Checks the fields that follow those of a shared block, which were checked before.
    fileprivate init(_ shared: CheckedFields, and others: ArraySlice<Field>) throws(TransferFailure) {
        self = shared
        lines.reserveCapacity(lines.count + others.count * 64)
        try take(others)
    }

    /// Checks the fields of a trailer section: fields that frame or route a message are refused, since they come too
    /// late there (RFC 9110 §6.5.1).
    init(trailers block: FieldBlock) throws(TransferFailure) {
        for field in block.fields {
            try take(field)
            guard !isSpecial else { throw .refusedField(field, "it cannot be a trailer (RFC 9110 §6.5.1)") }
        }
    }

    /// True when a field came that the transport has its own rules for.
    private var isSpecial: Bool {
        host != nil || length != nil || isChunked || expectsContinue || acceptsTrailers || hasConnectionOptions
            || !proxyLines.isEmpty
    }

    private mutating func take(_ fields: ArraySlice<Field>) throws(TransferFailure) {
        // Each field is read in place: a copy costs as much as writing its line.
        try fields.withUnsafeBufferPointer { (fields) throws(TransferFailure) in
            for index in fields.indices { try take(fields[index]) }
        }
    }

    private mutating func take(_ field: borrowing Field) throws(TransferFailure) {
        if let special = Self.specials[field.name], try takeSpecial(special, copy field) { return }
        try lines.appendLine(of: field)
    }

    /// A field that the transport has its own rules for.
    private enum Special {
        case host, te, accept, expect, refused, connection, length, acceptEncoding, transferEncoding
        case proxyAuthorization
    }

    private static let specials = FieldNames<Special>([
        ("Host", .host), ("TE", .te), ("Accept", .accept), ("Expect", .expect), ("Upgrade", .refused),
        ("Trailer", .refused), ("Keep-Alive", .refused), ("HTTP2-Settings", .refused), ("Proxy-Connection", .refused),
        ("Connection", .connection), ("Content-Length", .length), ("Accept-Encoding", .acceptEncoding),
        ("Transfer-Encoding", .transferEncoding), ("Proxy-Authorization", .proxyAuthorization),
    ])

    /// Takes a field that the transport has its own rules for; false where its line is still to be written.
    private mutating func takeSpecial(_ special: Special, _ field: Field) throws(TransferFailure) -> Bool {
        switch special {
        case .host: try takeHost(field)
        case .te:
            guard field.value.lowercased() == "trailers" else {
                throw .refusedField(field, "only “trailers” is understood (RFC 9110 §10.1.4)")
            }
            acceptsTrailers = true
            return false
        case .accept:
            hasAccept = true
            return false
        case .expect:
            guard field.value.lowercased() == "100-continue" else {
                throw .refusedField(field, "only “100-continue” is understood (RFC 9110 §10.1.1)")
            }
            expectsContinue = true
        case .refused:
            throw .refusedField(field, "the transport decides about the connection (RFC 9110 §7.6.1)")
        case .connection: try takeConnection(field)
        case .length: try takeLength(field)
        case .acceptEncoding:
            hasAcceptEncoding = true
            return false
        case .transferEncoding:
            guard !isChunked, field.value.lowercased() == "chunked" else {
                throw .refusedField(field, "only “chunked” can be sent (RFC 9112 §7)")
            }
            isChunked = true
        case .proxyAuthorization: try proxyLines.appendLine(of: field)
        }
        return true
    }

    private mutating func takeHost(_ field: Field) throws(TransferFailure) {
        let value = field.octets ?? Array(field.value.utf8)
        guard host == nil, value.allSatisfy({ 0x21...0x7E ~= $0 && !"/?#@,\\".utf8.contains($0) }) else {
            throw .refusedField(field, "there is one, and it is a host with or without a port (RFC 9112 §3.2)")
        }
        host = value
    }

    /// Options name fields that recipients remove: a user's option could remove a field that a proxy in front of the
    /// origin adds.
    private mutating func takeConnection(_ field: Field) throws(TransferFailure) {
        hasConnectionOptions = true
        for option in field.value.split(separator: ",") {
            switch option.filter({ $0 != " " && $0 != "\t" }).lowercased() {
            case "close": closesConnection = true
            case "keep-alive", "te", "": break
            default: throw .refusedField(field, "the transport decides about the connection (RFC 9110 §7.6.1)")
            }
        }
    }

    private mutating func takeLength(_ field: Field) throws(TransferFailure) {
        let digits = field.value.utf8
        guard length == nil, (1...18).contains(digits.count), digits.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw .refusedField(field, "there is one, and it is a number (RFC 9110 §8.6)")
        }
        length = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
}

/// The checked fields of the last block, and of the block that many messages share.
struct CheckedBlocks {
    private let writing: FieldWriting?
    private var last: (block: FieldBlock, fields: CheckedFields)?
    private var shared: (block: FieldBlock, fields: CheckedFields)?

    init(writing: FieldWriting?) {
        self.writing = writing
    }

    /// Whether the fields are those of the last block.
    func hasLast(_ block: FieldBlock) -> Bool { last?.block === block }

    /// Checks the fields of a block; throws `badURL` with the name of the first field that cannot be sent.
    mutating func fields(of block: FieldBlock) throws(TransferFailure) -> CheckedFields {
        if let last, last.block === block { return last.fields }
        let fields: CheckedFields
        if let base = block.base, writing == nil {
            let shared = try checked(base)
            fields = try CheckedFields(shared, and: block.fields[base.fields.count...])
        } else {
            fields = try CheckedFields(block, writing: writing)
        }
        last = (block, fields)
        return fields
    }

    private mutating func checked(_ base: FieldBlock) throws(TransferFailure) -> CheckedFields {
        if let shared, shared.block === base { return shared.fields }
        let fields = try CheckedFields(base)
        shared = (base, fields)
        return fields
    }
}
