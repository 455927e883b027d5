// Expectations of a response; pure.

import CommandLanguage
import Fireweed
import FireweedTransport
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

    /// True when the check needs the content, as text in memory.
    var needsContent: Bool {
        switch subject {
        case .json, .body: true
        case .status, .header, .time: false
        }
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
        let isClass = subject == .status && !comparison.isOrdering && Self.isClass(self.value)
        if subject == .time || subject == .status && !isClass, Double(self.value) == nil { return nil }
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
        /// The content as text, in its character set; `nil` if no expectation needs it, and for content that is not
        /// text.
        var text: String?
        /// The time of all attempts.
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
            return holds("\(status)") ? nil : "the status is \(status)"
        case .time:
            let text = String(format: "%.3f", facts.seconds)
            return compareTime(facts.seconds) ? nil : "it took \(text) s"
        case .header(let name):
            let values = facts.fields(name)
            guard !values.isEmpty else { return comparison == .unequal ? nil : "there is no field \(name)" }
            // With `!=`, none of the fields may have the value.
            let isMet =
                comparison == .unequal
                ? values.allSatisfy { holds($0) } : values.contains { holds($0) }
            return isMet ? nil : "it is \(values.joined(separator: ", "))"
        case .body:
            guard let text = facts.text else { return "the content is not text" }
            return holds(text) ? nil : "it is \(text.prefix(200))"
        case .json(let path):
            guard let roots = facts.text.flatMap(JSONReader.sequence), !roots.isEmpty else {
                return "the content is not JSON"
            }
            let found = roots.map(path.values)
            guard comparison == .unequal || !found.contains(nil) else { return "there is nothing at \(path.text)" }
            // With `!=`, none of the values may be the given one; missing members do not count.
            let values = comparison == .unequal ? roots.flatMap(path.presentValues) : found.flatMap { $0 ?? [] }
            if values.isEmpty, comparison == .unequal { return nil }
            let isMet = !values.isEmpty && values.allSatisfy { holds($0) }
            return isMet
                ? nil
                : values.isEmpty
                    ? "there is nothing at \(path.text)"
                    : "it is \(values.map(\.text).joined(separator: ", ").prefix(200))"
        }
    }

    /// Reads a number as `Decimal`, which has 38 digits; `nil` for other text, and for a number out of its range.
    private static func decimal(_ text: String) -> Decimal? {
        guard text.allSatisfy({ "0123456789+-.eE".contains($0) }),
            let number = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), !number.isNaN
        else { return nil }
        return number
    }

    /// Whether a value of JSON meets the comparison.
    private func holds(_ node: JSONNode) -> Bool {
        switch comparison {
        case .equal: isEqual(to: node)
        case .unequal: !isEqual(to: node)
        case .contains:
            switch node {
            case .array(let elements): elements.contains(where: isEqual)
            case .object(let members): members.map(\.value).contains(where: isEqual)
            case .string, .literal: contains(node.plainText)
            }
        case .below, .atMost, .above, .atLeast:
            switch node {
            case .string, .literal: holdsInOrder(node.plainText, isText: node.typeName == "a string")
            case .array, .object: false
            }
        }
    }

    /// Whether the value is this value of JSON: written as JSON, with the members of objects in any order, or a string
    /// without its quotes.
    private func isEqual(to node: JSONNode) -> Bool {
        if let expected = try? JSONReader.read(value), Self.areEqual(node, expected) { return true }
        return node.plainText == value
    }

    /// Whether a text contains the value, as it is or as a string of JSON.
    private func contains(_ text: String) -> Bool { text.contains(value) || quoted.map(text.contains) == true }

    /// The text of a value that is a string of JSON, in quotes; `nil` for any other.
    private var quoted: String? {
        guard value.hasPrefix("\""), let node = try? JSONReader.read(value) else { return nil }
        return node.plainText
    }

    private static func areEqual(_ left: JSONNode, _ right: JSONNode) -> Bool {
        switch (left, right) {
        case (.literal(let left), .literal(let right)):
            return left == right || decimal(left).map { $0 == decimal(right) } ?? false
        case (.string, .string): return left.plainText == right.plainText
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy(areEqual)
        case (.object(let members), .object(let others)):
            let names = Set(members.map { JSONEscapes.unescaped($0.name) })
            guard names == Set(others.map { JSONEscapes.unescaped($0.name) }) else { return false }
            return names.allSatisfy { name in
                guard let left = left.member(name), let right = right.member(name) else { return false }
                return areEqual(left, right)
            }
        default: return false
        }
    }

    /// Whether a status, a field or the content meets the comparison.
    private func holds(_ text: String) -> Bool {
        switch comparison {
        case .equal: isEqual(to: text)
        case .unequal: !isEqual(to: text)
        case .contains: contains(text)
        case .below, .atMost, .above, .atLeast: holdsInOrder(text, isText: true)
        }
    }

    private func isEqual(to text: String) -> Bool {
        // `2xx` means every status from 200 to 299.
        if subject == .status, Self.isClass(value) { return value.prefix(1) == text.prefix(1) }
        return text == value || text == quoted
    }

    /// Compares numbers if the value is one, else texts; a text that is no number is in no order to a number.
    private func holdsInOrder(_ text: String, isText: Bool) -> Bool {
        guard let expected = Double(value) else { return isText && compare(text, quoted ?? value) }
        guard let number = Double(text) else { return false }
        // A `Double` cannot represent every number of more than 15 digits.
        if let number = Self.decimal(text), let expected = Self.decimal(value) { return compare(number, expected) }
        return compare(number, expected)
    }

    private static func isClass(_ value: String) -> Bool { value.wholeMatch(of: /[1-9][xX][xX]/) != nil }

    private func compareTime(_ seconds: Double) -> Bool { Double(value).map { compare(seconds, $0) } ?? false }

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

extension Expectation.CheckedResponse {
    /// The properties of a response; `nil` for a request that had none.
    init(_ response: (any ResponseContext)?, text: String?, seconds: Double) {
        let fields: @Sendable (String) -> [String] = { name in
            response?.head?.values(of: name) ?? response?.responseField(name).map { [$0] } ?? []
        }
        self.init(status: response?.statusCode, fields: fields, text: text, seconds: seconds)
    }
}
