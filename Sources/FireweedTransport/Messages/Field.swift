// Header fields (RFC 9110 §5).

/// One field line: a name and a value (RFC 9110 §5.1).
public struct Field: Sendable, Hashable {
    /// The name as written; names are compared ignoring case.
    public var name: String
    /// The value, without white space around it.
    public var value: String
    /// The value's octets if they are not UTF-8; `value` then shows each octet as an ISO-8859-1 character.
    package var octets: [UInt8]?

    /// Makes a field from a name and a value; neither is checked here.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// The fields of a request message, shared by all messages that send the same fields.
public final class FieldBlock: Sendable {
    /// The fields in the order in which they are sent.
    public let fields: [Field]

    /// The shared block that this block extends; `nil` if it extends none.
    package let base: FieldBlock?

    /// Makes a block of fields; the caller has checked that they contain no CR, LF or NUL.
    public init(_ fields: [Field]) {
        (self.fields, base) = (fields, nil)
    }

    /// Makes a block that extends a shared block with other fields at its end.
    package init(_ shared: FieldBlock, adding others: [Field]) {
        (fields, base) = (shared.fields + others, shared.base ?? shared)
    }

    /// Whether there is a field of this name.
    public func contains(_ name: String) -> Bool {
        fields.contains { $0.name.isEqualIgnoringASCIICase(name) }
    }

    /// Returns the value of the first field of this name; `nil` if there is none.
    public func value(of name: String) -> String? {
        fields.first { $0.name.isEqualIgnoringASCIICase(name) }?.value
    }
}
