// Patterns of URLs.

import Fireweed
import Foundation

/// A pattern of the URLs that a stub answers.
///
/// | Pattern | Matches |
/// |---|---|
/// | `/users` | this path, on every host |
/// | `/users/{id}` | one non-empty segment as `{id}`; the request's `parameters` have its value |
/// | `/files/*/info` | any one segment as `*` |
/// | `/files/**` | everything that begins with `/files/`, and `/files` |
/// | `https://api.example.com/users` | this path of this origin |
/// | `*.example.com` instead of a host | every host below `example.com` |
/// | `/users?page=2` | a query that has at least this item |
/// | `**` | every URL |
///
/// Without a `?` the query is not compared. Paths are compared after percent-decoding, and are case-sensitive.
public struct URLPattern: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The pattern as it was written.
    public let description: String
    private let scheme: String?
    private let authority: String?
    private let segments: [Segment]
    private let hasRest: Bool
    private let query: [(name: String, value: String?)]

    private enum Segment: Sendable {
        case text(String)
        case placeholder(String)
        case any
    }

    /// Makes a pattern from its text.
    public init(_ text: String) {
        description = text
        let target = TargetText(text)
        // A WebSocket's URL is requested as `http` or `https`.
        scheme = target.scheme.isEmpty ? nil : Self.scheme(of: target)
        authority = target.scheme.isEmpty ? nil : target.origin
        let path =
            target.scheme.isEmpty && !text.hasPrefix("/") && !text.hasPrefix("*")
            ? "/\(target.path)"[...] : target.path
        var parts = (path.first == "/" ? path.dropFirst() : path).split(
            separator: "/", omittingEmptySubsequences: false)
        hasRest = parts.last == "**"
        if hasRest { parts.removeLast() }
        segments = parts.map(Self.segment)
        query = target.queryItems.map { ($0.name, $0.value) }
    }

    /// Makes a pattern that matches exactly this URL, apart from its query; nothing in the URL is a placeholder.
    ///
    /// With `anyOrigin`, scheme, host and port are not compared.
    init(exactly url: String, anyOrigin: Bool) {
        description = url
        let target = TargetText(url)
        scheme = anyOrigin ? nil : Self.scheme(of: target)
        authority = anyOrigin ? nil : target.origin
        segments = target.segments.map { segment in
            let text = String(segment).removingPercentEncoding ?? String(segment)
            // In a segment with the redaction mark the secret is unknown, so any segment matches.
            return text.contains(Redaction.mark) ? .any : .text(text)
        }
        hasRest = false
        query = []
    }

    /// Makes a pattern from a literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    private static func segment(_ text: Substring) -> Segment {
        if text == "*" { return .any }
        if text.count > 2, text.first == "{", text.last == "}" {
            return .placeholder(String(text.dropFirst().dropLast()))
        }
        return .text(String(text).removingPercentEncoding ?? String(text))
    }

    private static func scheme(of target: TargetText) -> String {
        switch target.scheme.lowercased() {
        case "ws": "http"
        case "wss": "https"
        case let other: other
        }
    }

    /// Returns the differences between a request's URL and the pattern (none when the URL matches), and the values of
    /// the placeholders.
    func match(_ target: TargetText) -> (differences: [String], parameters: [String: String]) {
        var differences: [String] = []
        if let difference = originDifference(target) { differences.append(difference) }
        guard let parameters = pathParameters(target) else {
            differences.append("path: expected \(pathText), got \(target.path)")
            return (differences + queryDifferences(target), [:])
        }
        return (differences + queryDifferences(target), parameters)
    }

    private var pathText: String {
        String(TargetText(description).path)
    }

    private func originDifference(_ target: TargetText) -> String? {
        guard let scheme, let authority else { return nil }
        let found = target.origin
        guard Self.scheme(of: target) == scheme else {
            return "scheme: expected \(scheme), got \(Self.scheme(of: target))"
        }
        let matches =
            authority.hasPrefix("*.")
            ? found.hasSuffix(authority.dropFirst()) : authority == "*" || found == authority
        return matches ? nil : "host: expected \(authority), got \(found)"
    }

    private func pathParameters(_ target: TargetText) -> [String: String]? {
        var found = target.segments
        // `**` also matches no segment: `/files/**` matches `/files` too, and `**` matches `/`.
        if hasRest {
            guard found.count >= segments.count else { return nil }
            found = Array(found.prefix(segments.count))
        }
        guard found.count == segments.count else { return nil }
        var parameters: [String: String] = [:]
        for (segment, text) in zip(segments, found) {
            switch segment {
            case .any: continue
            case .text(let expected):
                guard expected == text || expected == String(text).removingPercentEncoding else {
                    return nil
                }
            case .placeholder(let name):
                guard !text.isEmpty else { return nil }
                parameters[name] = String(text).removingPercentEncoding ?? String(text)
            }
        }
        return parameters
    }

    private func queryDifferences(_ target: TargetText) -> [String] {
        guard !query.isEmpty else { return [] }
        let items = target.queryItems
        return query.compactMap { name, value in
            let found = items.filter { $0.name == name }
            guard !found.isEmpty else {
                return "query \(name): missing, expected \(value ?? "any value")"
            }
            guard let value, !found.contains(where: { $0.value == value }) else { return nil }
            return
                "query \(name): expected \(value), got \(found.map { $0.value ?? "" }.joined(separator: ", "))"
        }
    }
}
