// The comparison of a stub with a request.

import Fireweed
import Foundation

/// A stub compared with a request, condition by condition.
struct StubMatch {
    struct Condition {
        let name: String
        let differences: [String]
    }

    let conditions: [Condition]

    /// Compares a stub with a request.
    ///
    /// `next` has the number of the next stub in each unfinished order; with `nil`, positions are not compared.
    init(_ stub: Stub, _ request: RecordedRequest, next: [UUID: Int]? = nil) {
        var conditions: [Condition] = []
        if let method = stub.method {
            let expected = Self.methodText(method, isWebSocket: stub.isWebSocket)
            let found = Self.methodText(request.method, isWebSocket: request.isWebSocket)
            conditions.append(
                Condition(
                    name: "method \(expected)",
                    differences: Self.methodMatches(stub, request)
                        ? [] : ["method: expected \(expected), got \(found)"]))
        }
        conditions.append(
            Condition(name: "URL \(stub.url)", differences: stub.url.match(request.target).differences))
        if let place = stub.place, let next {
            let number = next[place.order]
            let text = number.map { "exchange \($0 + 1) is the next one" } ?? "every exchange has answered"
            conditions.append(
                Condition(
                    name: "exchange \(place.number + 1) in order",
                    differences: number == place.number ? [] : ["order: \(text)"]))
        }
        conditions += stub.matchers.map {
            Condition(name: $0.description, differences: $0.differences(request))
        }
        self.conditions = conditions
    }

    var isMatch: Bool { conditions.allSatisfy(\.differences.isEmpty) }

    /// The distance of the stub from the request: a wrong URL weighs most, then a wrong method.
    var distance: Int {
        conditions.reduce(0) { sum, condition in
            guard !condition.differences.isEmpty else { return sum }
            if condition.name.hasPrefix("URL ") { return sum + 100 }
            return sum + (condition.name.hasPrefix("method ") ? 10 : 0) + condition.differences.count
        }
    }

    /// One line for each condition, with its differences below it.
    var lines: [String] {
        conditions.flatMap { condition in
            ["  \(condition.differences.isEmpty ? "✓" : "✗") \(condition.name)"]
                + condition.differences.map { "      \($0)" }
        }
    }

    /// Whether a stub matches a request's head; conditions that may need the content count as met.
    static func headMatches(_ stub: Stub, _ request: RecordedRequest) -> Bool {
        methodMatches(stub, request) && stub.url.match(request.target).differences.isEmpty
            && stub.matchers.allSatisfy { !$0.isOfHead || $0.differences(request).isEmpty }
    }

    private static func methodText(_ method: HTTPMethod, isWebSocket: Bool) -> String {
        isWebSocket ? "\(method.rawValue) for a WebSocket" : method.rawValue
    }

    private static func methodMatches(_ stub: Stub, _ request: RecordedRequest) -> Bool {
        stub.method == nil || (stub.method == request.method && stub.isWebSocket == request.isWebSocket)
    }

    /// Returns the values of the URL's placeholders when a stub matches, else `nil`; stops at the first difference.
    static func parameters(of stub: Stub, for request: RecordedRequest) -> [String: String]? {
        guard methodMatches(stub, request) else { return nil }
        let url = stub.url.match(request.target)
        guard url.differences.isEmpty, stub.matchers.allSatisfy({ $0.differences(request).isEmpty })
        else { return nil }
        return url.parameters
    }
}
