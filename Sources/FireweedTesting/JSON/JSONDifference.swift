// What differs between two JSON values, in lines that people read.

/// Compares JSON values and names the places that differ.
enum JSONDifference {
    /// The differences, a line each; none when `actual` is what is expected.
    ///
    /// - Parameter isPartial: whether objects in `actual` may have members that are not expected.
    static func lines(expected: JSONValue, actual: JSONValue, isPartial: Bool, path: String = "$")
        -> [String]
    {
        switch (expected, actual) {
        case (.object(let expected), .object(let actual)):
            objects(expected, actual, isPartial, path)
        case (.array(let expected), .array(let actual)):
            arrays(expected, actual, isPartial, path)
        default:
            expected == actual ? [] : ["\(path): expected \(expected), got \(actual)"]
        }
    }

    private static func objects(
        _ expected: [String: JSONValue], _ actual: [String: JSONValue], _ isPartial: Bool,
        _ path: String
    ) -> [String] {
        var lines: [String] = []
        for (name, value) in expected.sorted(by: { $0.key < $1.key }) {
            if let found = actual[name] {
                lines += Self.lines(
                    expected: value, actual: found, isPartial: isPartial, path: "\(path).\(name)")
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

    private static func arrays(
        _ expected: [JSONValue], _ actual: [JSONValue], _ isPartial: Bool, _ path: String
    ) -> [String] {
        var lines = zip(expected, actual).enumerated().flatMap { index, pair in
            Self.lines(expected: pair.0, actual: pair.1, isPartial: isPartial, path: "\(path)[\(index)]")
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
