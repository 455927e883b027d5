// Values by the names of fields.

/// Looks up the names of fields without case (RFC 9110 §5.1), and without making strings.
package struct FieldNames<Value: Sendable>: Sendable {
    /// By the length of the name.
    private var rows: [[(name: String, value: Value)]] = []

    /// Of several values for one name, the first counts.
    package init(_ values: [(String, Value)]) {
        for (name, value) in values {
            let count = name.utf8.count
            while rows.count <= count { rows.append([]) }
            rows[count].append((name, value))
        }
    }

    package subscript(name: String) -> Value? {
        let count = name.utf8.count
        guard count < rows.count else { return nil }
        return rows[count].first { $0.name.isEqualIgnoringASCIICase(name) }?.value
    }
}
