// Fields that an instrument adds to a message.

#if DistributedTracing
import FireweedTransport
import Tracing

/// The fields of a message while an instrument adds its own.
struct FieldInjection: Sendable {
    private(set) var fields: [Field]
    private(set) var isChanged = false

    init(fields: [Field]) {
        self.fields = fields
    }

    /// Sets a field, which replaces all fields of its name; a value that no field can have is left out.
    mutating func set(_ name: String, to value: String) {
        guard !name.isEmpty, (name + value).utf8.allSatisfy({ $0 != 0x0D && $0 != 0x0A && $0 != 0 }) else { return }
        fields.removeAll { $0.name.isEqualIgnoringASCIICase(name) }
        fields.append(Field(name: name, value: value))
        isChanged = true
    }
}

/// Writes the context of a span into fields.
struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout FieldInjection) {
        carrier.set(key, to: value)
    }
}
#endif
