// Conditions of a stub on a request's content.

import FireweedTransport
public import Foundation

extension RequestMatcher {
    /// Matches requests whose content is this text.
    public static func body(_ text: String) -> RequestMatcher {
        body(Data(text.utf8))
    }

    /// Matches requests whose content is these bytes.
    public static func body(_ data: Data) -> RequestMatcher {
        RequestMatcher("content of \(data.count) bytes") { request in
            guard request.body != data else { return [] }
            return [
                "content: expected \(ContentText.excerpt(data)), got \(ContentText.excerpt(request.body))"
            ]
        }
    }

    // MARK: JSON

    /// Matches requests whose content is this JSON; the order of members and white space are ignored.
    public static func json(_ value: JSONValue) -> RequestMatcher {
        json(value, isPartial: false)
    }

    /// Matches requests whose content is the JSON of an `Encodable` value.
    ///
    /// - Parameters:
    ///   - value: the value; no request meets the condition when the value cannot be encoded.
    ///   - encoder: makes the JSON to compare with.
    /// - Returns: a condition that holds when both are the same JSON, regardless of white space and of the order of
    ///   members.
    public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder())
        -> RequestMatcher
    {
        encoded(value, encoder) { json($0, isPartial: false) }
    }

    /// Matches requests whose content is JSON that has at least these members, at every depth; arrays must have the
    /// same number of elements.
    public static func partialJSON(_ value: JSONValue) -> RequestMatcher {
        json(value, isPartial: true)
    }

    /// Matches requests whose content is JSON that has at least the members of an `Encodable` value, at every depth.
    ///
    /// - Parameters:
    ///   - value: the value; no request meets the condition when the value cannot be encoded.
    ///   - encoder: makes the JSON to compare with.
    /// - Returns: a condition that holds when every member of the value's JSON is in the content; arrays must have the
    ///   same number of elements.
    public static func partialJSON(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) -> RequestMatcher {
        encoded(value, encoder) { json($0, isPartial: true) }
    }

    private static func json(_ expected: JSONValue, isPartial: Bool) -> RequestMatcher {
        RequestMatcher("JSON \(isPartial ? "with" : "equal to") \(expected)") { request in
            guard !request.body.isEmpty else { return ["JSON content: missing, expected \(expected)"] }
            guard let found = try? request.json else {
                return ["JSON content: not JSON, got \(ContentText.excerpt(request.body))"]
            }
            return JSONDifference.lines(expected: expected, actual: found, isPartial: isPartial)
        }
    }

    private static func encoded(
        _ value: some Encodable, _ encoder: JSONEncoder, _ make: (JSONValue) -> RequestMatcher
    ) -> RequestMatcher {
        do {
            return make(try JSONValue(encoding: value, with: encoder))
        } catch {
            let reason = "the expected value cannot be encoded: \(error.plainText)"
            return RequestMatcher("JSON") { _ in [reason] }
        }
    }

    // MARK: Forms

    /// Matches requests whose content is a form (`application/x-www-form-urlencoded`) with exactly these fields, in any
    /// order.
    public static func form(_ fields: [String: String]) -> RequestMatcher {
        RequestMatcher(
            "form \(fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&"))"
        ) {
            PairDifference.lines(expected: fields, actual: $0.form, kind: "form field")
        }
    }

    /// Matches requests whose content is a form (`multipart/form-data`, RFC 7578) that has a part with these
    /// properties.
    ///
    /// - Parameters:
    ///   - name: the name of the part.
    ///   - text: the part's content as text; `nil`, the default, allows any content.
    ///   - fileName: the part's file name; `nil`, the default, allows any file name, or none.
    ///   - contentType: the part's media type; `nil`, the default, allows any media type, or none.
    /// - Returns: a condition that holds when one part has all these properties.
    public static func part(
        _ name: String, _ text: String? = nil, fileName: String? = nil, contentType: String? = nil
    ) -> RequestMatcher {
        part(name, data: text.map { Data($0.utf8) }, fileName: fileName, contentType: contentType)
    }

    /// Matches requests whose content is a form (`multipart/form-data`, RFC 7578) that has a part with these
    /// properties.
    ///
    /// - Parameters:
    ///   - name: the name of the part.
    ///   - data: the part's content; `nil` allows any content.
    ///   - fileName: the part's file name; `nil`, the default, allows any file name, or none.
    ///   - contentType: the part's media type; `nil`, the default, allows any media type, or none.
    /// - Returns: a condition that holds when one part has all these properties.
    public static func part(
        _ name: String, data: Data?, fileName: String? = nil, contentType: String? = nil
    ) -> RequestMatcher {
        RequestMatcher("part \(name)") { request in
            let parts = request.parts
            let named = parts.filter { $0.name == name }
            guard !named.isEmpty else {
                return [
                    "part \(name): missing, got \(parts.isEmpty ? "no parts" : parts.map(\.name).joined(separator: ", "))"
                ]
            }
            let each = named.map { part -> [String] in
                var lines: [String] = []
                if let data, part.body != data {
                    lines.append(
                        "content: expected \(ContentText.excerpt(data)), got \(ContentText.excerpt(part.body))")
                }
                if let fileName, part.fileName != fileName {
                    lines.append("file name: expected \(fileName), got \(part.fileName ?? "none")")
                }
                if let contentType, part.contentType != contentType {
                    lines.append("type: expected \(contentType), got \(part.contentType ?? "none")")
                }
                return lines.map { "part \(name), \($0)" }
            }
            return each.min { $0.count < $1.count } ?? []
        }
    }
}

/// Compares the names and values of a query or a form, regardless of order.
enum PairDifference {
    static func lines(expected: [String: String], actual: [URLQueryItem], kind: String) -> [String] {
        var lines: [String] = []
        for (name, value) in expected.sorted(by: { $0.key < $1.key }) {
            let found = actual.filter { $0.name == name }.map { $0.value ?? "" }
            if found.isEmpty {
                lines.append("\(kind) \(name): missing, expected \(value)")
            } else if found != [value] {
                lines.append("\(kind) \(name): expected \(value), got \(found.joined(separator: ", "))")
            }
        }
        for item in actual where expected[item.name] == nil {
            lines.append("\(kind) \(item.name): unexpected, got \(item.value ?? "")")
        }
        return lines
    }
}
