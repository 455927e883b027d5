// The comparison of requests with those of an archive.

import Fireweed
import Foundation

extension RequestMatcher {
    /// Matches requests with the query of a URL, item for item, in any order; a redacted value matches every value.
    static func archivedQuery(of url: String) -> RequestMatcher {
        let expected = TargetText(url).queryItems.map { QueryPair($0) }.sorted()
        let description = QueryPair.text(of: expected)
        return .ofHead("query \(description)") { request in
            let found = request.queryItems.map { QueryPair($0) }.sorted()
            guard !QueryPair.match(expected, found) else { return [] }
            return ["query: expected \(description), got \(QueryPair.text(of: found))"]
        }
    }

    /// Matches requests to the exchange's host, or to a host that is not in the archive, such as a server that replays.
    static func archivedHost(of url: String, _ hosts: Set<String>) -> RequestMatcher {
        let expected = TargetText(url).origin
        return .ofHead("host \(expected), or one that was not recorded") { request in
            let found = request.target.origin
            return found == expected || !hosts.contains(found) ? [] : ["host: expected \(expected), got \(found)"]
        }
    }

    /// Matches requests with the same content: compared by JSON members, form fields or parts if there are any, else
    /// byte by byte.
    static func archivedContent(_ data: Data, type: String) -> RequestMatcher {
        let lowercased = type.lowercased()
        if lowercased.hasPrefix("multipart/form-data") {
            return archivedParts(RecordedPart.parts(of: data, contentType: type))
        }
        if lowercased.contains("x-www-form-urlencoded") {
            let text = String(decoding: data, as: UTF8.self)
            return archivedForm(FormPairs.decoded(text[...], plusIsSpace: true))
        }
        guard let json = try? JSONValue(parsing: data) else {
            return data.range(of: Data(Redaction.mark.utf8)) == nil ? .body(data) : archivedLines(data)
        }
        return RequestMatcher("JSON equal to \(json)") { request in
            guard let found = try? request.json else {
                return ["JSON content: not JSON, got \(ContentText.excerpt(request.body))"]
            }
            return JSONDifference.lines(expected: json, actual: found, isPartial: false, wildcard: Redaction.mark)
        }
    }

    /// Matches requests with the same lines: two lines of JSON are compared as JSON, other lines as text.
    ///
    /// A redacted value matches every value.
    private static func archivedLines(_ data: Data) -> RequestMatcher {
        let expected = lines(data)
        return RequestMatcher("content of \(expected.count) lines") { request in
            let found = lines(request.body)
            guard found.count == expected.count else {
                return ["content: expected \(expected.count) lines, got \(found.count)"]
            }
            return zip(expected, found).enumerated().flatMap { index, pair in
                differences(pair.0, pair.1).map { "line \(index + 1): \($0)" }
            }
        }
    }

    private static func lines(_ data: Data) -> [Data] {
        data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }

    private static func differences(_ expected: Data, _ found: Data) -> [String] {
        if expected == found || expected == Data(Redaction.mark.utf8) { return [] }
        guard let json = try? JSONValue(parsing: Data(expected)), let other = try? JSONValue(parsing: Data(found))
        else {
            if matches(expected, found) { return [] }
            return ["expected \(ContentText.excerpt(expected)), got \(ContentText.excerpt(found))"]
        }
        return JSONDifference.lines(expected: json, actual: other, isPartial: false, wildcard: Redaction.mark)
    }

    /// Whether the texts are equal, apart from redacted parts of `expected`.
    private static func matches(_ expected: Data, _ found: Data) -> Bool {
        let pieces = String(decoding: expected, as: UTF8.self).components(separatedBy: Redaction.mark)
        var rest = String(decoding: found, as: UTF8.self)[...]
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last, rest.hasPrefix(first) else {
            return false
        }
        rest = rest.dropFirst(first.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let place = rest.range(of: piece) else { return false }
            rest = rest[place.upperBound...]
        }
        return rest.hasSuffix(last)
    }

    private static func archivedForm(_ items: [URLQueryItem]) -> RequestMatcher {
        let expected = items.map { QueryPair($0) }.sorted()
        let description = QueryPair.text(of: expected)
        return RequestMatcher("form \(description)") { request in
            let found = request.form.map { QueryPair($0) }.sorted()
            guard !QueryPair.match(expected, found) else { return [] }
            return ["form: expected \(description), got \(QueryPair.text(of: found))"]
        }
    }

    /// Compares the parts of forms, but not the boundary, which is new in every request.
    private static func archivedParts(_ expected: [RecordedPart]) -> RequestMatcher {
        let names = expected.map(\.name).joined(separator: ", ")
        return RequestMatcher("multipart form of \(names)") { request in
            let found = request.parts
            guard found.count == expected.count else {
                return ["parts: expected \(names), got \(found.map(\.name).joined(separator: ", "))"]
            }
            return zip(expected, found).compactMap { expected, found in
                guard expected != found else { return nil }
                return "part \(expected.name): expected \(ContentText.excerpt(expected.body)), "
                    + "got \(found.name) with \(ContentText.excerpt(found.body))"
            }
        }
    }
}

/// A name and a value, which may be redacted in an archive.
private struct QueryPair: Comparable {
    let name: String
    let value: String

    init(_ item: URLQueryItem) {
        name = item.name
        value = item.value ?? ""
    }

    static func < (one: QueryPair, other: QueryPair) -> Bool {
        (one.name, one.value) < (other.name, other.value)
    }

    /// Whether sorted pairs match: a redacted pair matches any pair of the same name.
    static func match(_ expected: [QueryPair], _ found: [QueryPair]) -> Bool {
        guard expected.count == found.count else { return false }
        if expected == found { return true }
        var rest = found
        // Exact pairs are matched first; the redacted pairs must then match the rest by name.
        for pair in expected where !pair.isRedacted {
            guard let index = rest.firstIndex(of: pair) else { return false }
            rest.remove(at: index)
        }
        return expected.filter(\.isRedacted).map(\.name) == rest.map(\.name)
    }

    private var isRedacted: Bool { value.contains(Redaction.mark) }

    static func text(of pairs: [QueryPair]) -> String {
        pairs.isEmpty ? "none" : pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }
}
