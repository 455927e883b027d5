// Conditions of a stub on a request.

public import Fireweed
import FireweedTransport
import Foundation

/// A condition on a request, besides its method and URL.
///
/// ```swift
/// Stub.post("/users", .header("Content-Type", "application/json"), .partialJSON(["name": "Ada"]))
/// ```
public struct RequestMatcher: Sendable, CustomStringConvertible {
    /// The condition in a few words, for messages.
    public let description: String
    /// Returns one line for each difference; empty when the request meets the condition.
    let differences: @Sendable (RecordedRequest) -> [String]
    /// Whether the condition needs only the head, so that a server can check it before the content arrives.
    private(set) var isOfHead = false

    /// Makes a condition.
    ///
    /// - Parameters:
    ///   - description: the condition in a few words, for messages.
    ///   - differences: returns a line for each difference, and none when the request meets the condition. Called on
    ///     the transport's queue or the thread of a server's connection; it must not wait.
    public init(_ description: String, differences: @escaping @Sendable (RecordedRequest) -> [String]) {
        self.description = description
        self.differences = differences
    }

    /// Matches requests for which a closure returns true.
    ///
    /// - Parameters:
    ///   - description: the closure's condition in a few words, for messages.
    ///   - isMet: called on the transport's queue or the thread of a server's connection; it must not wait. A request
    ///     for which it throws does not meet the condition.
    /// - Returns: the condition.
    public static func matching(
        _ description: String = "the closure's condition",
        _ isMet: @escaping @Sendable (RecordedRequest) throws -> Bool
    ) -> RequestMatcher {
        RequestMatcher(description) { request in
            do {
                return try isMet(request) ? [] : ["\(description): not met"]
            } catch {
                return ["\(description): \(error.plainText)"]
            }
        }
    }

    /// Makes a condition that needs only the request's head.
    static func ofHead(
        _ description: String, differences: @escaping @Sendable (RecordedRequest) -> [String]
    ) -> RequestMatcher {
        var matcher = RequestMatcher(description, differences: differences)
        matcher.isOfHead = true
        return matcher
    }

    // MARK: Query and fields

    /// Matches requests whose query has an item of this name and value; further items are allowed.
    ///
    /// - Parameters:
    ///   - name: the decoded name; case matters.
    ///   - value: the decoded value; `nil`, the default, allows any value.
    /// - Returns: the condition.
    public static func query(_ name: String, _ value: String? = nil) -> RequestMatcher {
        ofHead("query \(name)\(value.map { "=\($0)" } ?? "")") { request in
            let found = request.queryItems.filter { $0.name == name }
            guard !found.isEmpty else {
                return ["query \(name): missing, expected \(value ?? "any value")"]
            }
            guard let value, !found.contains(where: { $0.value == value }) else { return [] }
            return [
                "query \(name): expected \(value), got \(found.map { $0.value ?? "" }.joined(separator: ", "))"
            ]
        }
    }

    /// Matches requests whose query has exactly these items, in any order.
    public static func query(_ items: [String: String]) -> RequestMatcher {
        ofHead(
            "query \(items.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&"))"
        ) {
            PairDifference.lines(expected: items, actual: $0.queryItems, kind: "query")
        }
    }

    /// Matches requests that have a header field of this name and value.
    ///
    /// - Parameters:
    ///   - name: the name; case does not matter.
    ///   - value: the value that at least one field of this name has; `nil`, the default, allows any value.
    /// - Returns: the condition.
    public static func header(_ name: String, _ value: String? = nil) -> RequestMatcher {
        ofHead("\(name): \(value ?? "any value")") { request in
            let found = request.fields.filter { $0.name.isEqualIgnoringASCIICase(name) }.map(\.value)
            guard !found.isEmpty else {
                return ["field \(name): missing, expected \(value ?? "any value")"]
            }
            guard let value, !found.contains(value) else { return [] }
            return ["field \(name): expected \(value), got \(found.joined(separator: ", "))"]
        }
    }

    /// Matches requests that have this header field, such as `.header(.authorization(bearerToken: "t"))`.
    public static func header(_ header: HTTPHeader) -> RequestMatcher {
        self.header(header.name, header.value)
    }

    /// Matches requests that have no header field of this name.
    public static func noHeader(_ name: String) -> RequestMatcher {
        ofHead("no \(name)") { request in
            request.header(name).map { ["field \(name): unexpected, got \($0)"] } ?? []
        }
    }

    /// Matches requests whose `Cookie` field has a cookie of this name and value.
    ///
    /// - Parameters:
    ///   - name: the name; case matters.
    ///   - value: the value.
    /// - Returns: the condition.
    public static func cookie(_ name: String, _ value: String) -> RequestMatcher {
        ofHead("cookie \(name)=\(value)") { request in
            let found = request.cookies[name]
            guard found != value else { return [] }
            return [
                found.map { "cookie \(name): expected \(value), got \($0)" }
                    ?? "cookie \(name): missing, expected \(value)"
            ]
        }
    }
}
