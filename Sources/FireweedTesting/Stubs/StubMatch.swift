// How well a stub fits a request.

import Fireweed

/// A stub compared with a request, condition by condition.
struct StubMatch {
    struct Condition {
        let name: String
        let differences: [String]
    }

    let conditions: [Condition]

    init(_ stub: Stub, _ request: RecordedRequest) {
        var conditions: [Condition] = []
        let method =
            stub.isWebSocket && !request.isWebSocket ? "a request for a WebSocket" : stub.method?.rawValue
        if let method {
            let isMet = stub.isWebSocket ? request.isWebSocket : stub.method == request.method
            conditions.append(
                Condition(
                    name: "method \(method)",
                    differences: isMet ? [] : ["method: expected \(method), got \(request.method.rawValue)"]))
        }
        conditions.append(
            Condition(name: "URL \(stub.url)", differences: stub.url.match(request.target).differences))
        conditions += stub.matchers.map {
            Condition(name: $0.description, differences: $0.differences(request))
        }
        self.conditions = conditions
    }

    var isMatch: Bool { conditions.allSatisfy(\.differences.isEmpty) }

    /// How far away the stub is: a wrong URL counts more than anything behind it.
    var distance: Int {
        conditions.reduce(0) { sum, condition in
            guard !condition.differences.isEmpty else { return sum }
            if condition.name.hasPrefix("URL ") { return sum + 100 }
            return sum + (condition.name.hasPrefix("method ") ? 10 : 0) + condition.differences.count
        }
    }

    /// The conditions, a line each, and what differs below them.
    var lines: [String] {
        conditions.flatMap { condition in
            ["  \(condition.differences.isEmpty ? "✓" : "✗") \(condition.name)"]
                + condition.differences.map { "      \($0)" }
        }
    }

    /// Whether a stub matches as far as a request's head tells: conditions that may look at the content count as met.
    static func headMatches(_ stub: Stub, _ request: RecordedRequest) -> Bool {
        methodMatches(stub, request) && stub.url.match(request.target).differences.isEmpty
            && stub.matchers.allSatisfy { !$0.isOfHead || $0.differences(request).isEmpty }
    }

    private static func methodMatches(_ stub: Stub, _ request: RecordedRequest) -> Bool {
        stub.method == nil || (stub.method == request.method && stub.isWebSocket == request.isWebSocket)
    }

    /// The values of the URL's placeholders when a stub matches, else `nil`; stops at the first difference.
    static func parameters(of stub: Stub, for request: RecordedRequest) -> [String: String]? {
        guard methodMatches(stub, request) else { return nil }
        let url = stub.url.match(request.target)
        guard url.differences.isEmpty, stub.matchers.allSatisfy({ $0.differences(request).isEmpty })
        else { return nil }
        return url.parameters
    }
}
