// Expectations of a response; pure.

import CommandLanguage
import Foundation

/// One fact of `--expect`: a subject, a comparison and a value.
struct Expectation: Equatable, Sendable {
    /// The property of the response that is checked.
    enum Subject: Equatable, Sendable {
        case status
        case header(String)
        case json(ValuePath)
        case body
        /// Seconds from start to end.
        case time
    }

    /// The operator that compares the subject with the value.
    enum Comparison: String, CaseIterable, Sendable {
        case equal = "=="
        case unequal = "!="
        case atMost = "<="
        case atLeast = ">="
        case contains = "~="
        case below = "<"
        case above = ">"

        /// Whether the comparison is by order, such as `<`.
        var isOrdering: Bool {
            switch self {
            case .atMost, .atLeast, .below, .above: true
            case .equal, .unequal, .contains: false
            }
        }
    }

    let subject: Subject
    let comparison: Comparison
    let value: String
    let text: String

    /// True when the check needs the content in memory.
    var needsContent: Bool {
        switch subject {
        case .json, .body: true
        case .status, .header, .time: false
        }
    }

    /// True when the check needs the fields as they were received.
    var needsFields: Bool {
        if case .header = subject { true } else { false }
    }

    /// Reads `status==200`, `header.content-type~=json`, `json.items[0].id==7`, `body~=text` or `time<1.5`.
    ///
    /// A time may have the unit `s` or `ms`. `nil` for other text, and when a time, or the value of an ordering of the
    /// status, is not a number.
    init?(_ text: String) {
        // The first operator in the text is used, since the value may contain further operators.
        let starts = Comparison.allCases.compactMap { candidate in
            text.firstRange(of: candidate.rawValue).map { (candidate, $0) }
        }
        // At the same position the longer operator wins, which comes first in `allCases`.
        guard let (comparison, range) = starts.min(by: { $0.1.lowerBound < $1.1.lowerBound }) else { return nil }
        guard let subject = Self.subject(text[..<range.lowerBound].trimmingCharacters(in: .whitespaces)) else {
            return nil
        }
        self.subject = subject
        self.comparison = comparison
        let value = text[range.upperBound...].trimmingCharacters(in: .whitespaces)
        self.value = subject == .time ? Self.seconds(value) ?? value : value
        self.text = text
        let needsNumber = subject == .time || subject == .status && comparison.isOrdering
        if needsNumber, Double(self.value) == nil { return nil }
    }

    /// Returns the seconds of `5s` or `500ms` as text; `nil` for a value without a unit.
    private static func seconds(_ value: String) -> String? {
        if value.hasSuffix("ms") { return Double(value.dropLast(2)).map { "\($0 / 1000)" } }
        return value.hasSuffix("s") ? String(value.dropLast()) : nil
    }

    private static func subject(_ text: String) -> Subject? {
        switch text {
        case "status": return .status
        case "body": return .body
        case "time": return .time
        case "json": return ValuePath(".").map(Subject.json)
        default: break
        }
        if text.hasPrefix("header."), text.count > 7 { return .header(String(text.dropFirst(7))) }
        guard text.hasPrefix("json.") || text.hasPrefix("json[") else { return nil }
        return ValuePath(String(text.dropFirst(4))).map(Subject.json)
    }

    /// The properties of a response that expectations check.
    struct CheckedResponse: Sendable {
        var status: Int?
        /// Returns the values of the fields of this name, in their order.
        var fields: @Sendable (String) -> [String]
        var content: Data?
        var seconds: Double
    }

    /// Returns a sentence for each expectation that is not met.
    static func failures(of expectations: [Expectation], _ facts: CheckedResponse) -> [String] {
        expectations.compactMap { expectation in
            expectation.failure(facts).map { "expected \(expectation.text), but \($0)" }
        }
    }

    /// Returns a sentence about what was found instead; `nil` when the expectation is met.
    func failure(_ facts: CheckedResponse) -> String? {
        switch subject {
        case .status:
            guard let status = facts.status else { return "there is no response" }
            return holds(.number(Double(status), "\(status)")) ? nil : "the status is \(status)"
        case .time:
            let text = String(format: "%.3f", facts.seconds)
            return holds(.number(facts.seconds, text)) ? nil : "it took \(text) s"
        case .header(let name):
            let values = facts.fields(name)
            guard !values.isEmpty else { return comparison == .unequal ? nil : "there is no field \(name)" }
            return values.contains { holds(.text($0)) } ? nil : "it is \(values.joined(separator: ", "))"
        case .body:
            let text = String(decoding: facts.content ?? Data(), as: UTF8.self)
            return holds(.text(text)) ? nil : "it is \(text.prefix(200))"
        case .json(let path):
            guard let root = try? JSONReader.read(String(decoding: facts.content ?? Data(), as: UTF8.self)) else {
                return "the content is not JSON"
            }
            guard let values = path.values(in: root) else {
                return comparison == .unequal ? nil : "there is nothing at \(path.text)"
            }
            let isMet = !values.isEmpty && values.allSatisfy { holds(Found($0)) }
            return isMet
                ? nil
                : values.isEmpty
                    ? "there is nothing at \(path.text)"
                    : "it is \(values.map(\.text).joined(separator: ", ").prefix(200))"
        }
    }

    /// A value of the response to compare.
    private enum Found {
        case number(Double, String)
        case text(String)
        case list([JSONNode])

        init(_ node: JSONNode) {
            switch node {
            case .literal(let word): self = Double(word).map { .number($0, word) } ?? .text(word)
            case .string: self = .text(node.plainText)
            case .array(let elements): self = .list(elements)
            case .object: self = .text(node.text)
            }
        }
    }

    private func holds(_ found: Found) -> Bool {
        switch (found, Double(value)) {
        case (.number(let number, let text), let expected?) where comparison != .contains:
            // A `Double` cannot represent every whole number above 2^53.
            if let whole = Int64(text), let expected = Int64(value) { return compare(whole, expected) }
            return compare(number, expected)
        case (.number(_, let text), _), (.text(let text), _): return holds(text)
        case (.list(let elements), _):
            if comparison == .contains { return elements.contains { $0.plainText == value } }
            let expected = (try? JSONReader.read(value))?.text ?? value
            return compare(JSONNode.array(elements).text, expected)
        }
    }

    private func holds(_ text: String) -> Bool {
        // `2xx` stands for a class of status codes.
        if subject == .status, comparison == .equal || comparison == .unequal, value.hasSuffix("xx") {
            return (value.prefix(1) == text.prefix(1)) == (comparison == .equal)
        }
        if comparison == .contains { return text.contains(value) }
        if comparison.isOrdering, let number = Double(text), let expected = Double(value) {
            return compare(number, expected)
        }
        // A value in quotes is a string of JSON.
        if value.hasPrefix("\""), let node = try? JSONReader.read(value) { return compare(text, node.plainText) }
        return compare(text, value)
    }

    private func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch comparison {
        case .equal: left == right
        case .unequal: left != right
        case .below: left < right
        case .atMost: left <= right
        case .above: left > right
        case .atLeast: left >= right
        case .contains: false
        }
    }
}
