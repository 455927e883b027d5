// Header fields as they stand on the wire (RFC 9110 §5).

/// One field line: a name and a value (RFC 9110 §5.1).
public struct Field: Sendable, Hashable {
    /// The name as it is written; compared without case.
    public var name: String
    /// The value, without the white space around it.
    public var value: String
    /// The value's octets where they are not UTF-8; `value` then shows each of them as a character of ISO-8859-1.
    package var octets: [UInt8]?

    /// Makes a field of a name and a value, neither of which is checked here.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// The fields of a request message, made once and shared by every message that sends the same ones.
public final class FieldBlock: Sendable {
    /// The fields in the order in which they are sent.
    public let fields: [Field]

    /// The shared block whose fields this block begins with, if it was made from one.
    package let base: FieldBlock?

    /// Makes a block of fields that were checked to hold no CR, LF or NUL.
    public init(_ fields: [Field]) {
        (self.fields, base) = (fields, nil)
    }

    /// Makes a block of the fields of a shared block, and others after them.
    package init(_ shared: FieldBlock, adding others: [Field]) {
        (fields, base) = (shared.fields + others, shared.base ?? shared)
    }

    /// True when a field of this name is there.
    public func contains(_ name: String) -> Bool {
        fields.contains { $0.name.isEqualIgnoringASCIICase(name) }
    }

    /// The value of the first field of this name.
    public func value(of name: String) -> String? {
        fields.first { $0.name.isEqualIgnoringASCIICase(name) }?.value
    }
}
