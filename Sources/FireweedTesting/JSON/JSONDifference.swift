// The differences between two JSON values, in readable lines.

/// Compares JSON values and names the places that differ.
struct JSONDifference {
    /// Returns one line for each difference; empty when `actual` is as expected.
    ///
    /// With `isPartial`, objects in `actual` may have further members. An expected string that contains `wildcard`
    /// matches every value.
    static func lines(expected: JSONValue, actual: JSONValue, isPartial: Bool, wildcard: String? = nil)
        -> [String]
    {
        JSONDifference(isPartial: isPartial, wildcard: wildcard).lines(expected, actual, "$")
    }

    private let isPartial: Bool
    private let wildcard: String?

    private func lines(_ expected: JSONValue, _ actual: JSONValue, _ path: String) -> [String] {
        switch (expected, actual) {
        case (.object(let expected), .object(let actual)):
            objects(expected, actual, path)
        case (.array(let expected), .array(let actual)):
            arrays(expected, actual, path)
        case (.string(let expected), _) where wildcard.map { expected.contains($0) } ?? false:
            []
        default:
            expected == actual ? [] : ["\(path): expected \(expected), got \(actual)"]
        }
    }

    private func objects(
        _ expected: [String: JSONValue], _ actual: [String: JSONValue], _ path: String
    ) -> [String] {
        var lines: [String] = []
        for (name, value) in expected.sorted(by: { $0.key < $1.key }) {
            if let found = actual[name] {
                lines += self.lines(value, found, "\(path).\(name)")
            } else {
                lines.append("\(path).\(name): missing, expected \(value)")
            }
        }
        guard !isPartial else { return lines }
        for (name, value) in actual.sorted(by: { $0.key < $1.key }) where expected[name] == nil {
            lines.append("\(path).\(name): unexpected, got \(value)")
        }
        return lines
    }

    private func arrays(_ expected: [JSONValue], _ actual: [JSONValue], _ path: String) -> [String] {
        var lines = zip(expected, actual).enumerated().flatMap { index, pair in
            self.lines(pair.0, pair.1, "\(path)[\(index)]")
        }
        for index in actual.count..<max(expected.count, actual.count) {
            lines.append("\(path)[\(index)]: missing, expected \(expected[index])")
        }
        for index in expected.count..<max(expected.count, actual.count) {
            lines.append("\(path)[\(index)]: unexpected, got \(actual[index])")
        }
        return lines
    }
}
