// Fields that an instrument adds to a message.

#if DistributedTracing
import FireweedTransport
import Tracing

/// The fields of a message while an instrument adds its own.
struct FieldInjection: Sendable {
    private let original: FieldBlock
    private var added: [Field] = []

    init(to original: FieldBlock) {
        self.original = original
    }

    /// The original and the added fields; `nil` when no field was added.
    var fields: [Field]? {
        guard !added.isEmpty else { return nil }
        return original.fields.filter { field in !added.contains { $0.name.isEqualIgnoringASCIICase(field.name) } }
            + added
    }

    /// Sets a field, which replaces all fields of its name; ignores an empty name, and text with CR, LF or NUL.
    mutating func set(_ name: String, to value: String) {
        let field = Field(name: name, value: value)
        guard field.isSendable else { return }
        added.removeAll { $0.name.isEqualIgnoringASCIICase(name) }
        added.append(field)
    }
}

/// Writes the context of a span into fields.
struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout FieldInjection) {
        carrier.set(key, to: value)
    }
}
#endif
