// What a test asks of the stubs when it is over.

public import Fireweed
public import Foundation
import Synchronization

/// An expectation on the requests of a test that was not met; the description says what came instead.
///
/// It is thrown, so that both Swift Testing and XCTest report it as the failure of the test.
public struct StubExpectationError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// What was expected, and what came.
    public let description: String
    /// The description.
    public var errorDescription: String? { description }
}

extension Stubs {
    /// Expects that every stub was called, those with ``Stub/times(_:)`` as often as they say.
    ///
    /// - Throws: ``StubExpectationError`` that names the stubs that were not.
    public func expectAllCalled() throws {
        let missing = state.withLock { $0.entries }.filter { entry in
            !entry.stub.isOptional && entry.callCount < entry.stub.limit ?? 1
        }
        guard !missing.isEmpty else { return }
        let lines = missing.map { entry in
            "  \(entry.stub): expected \(entry.stub.limit.map { "\($0)" } ?? "at least 1"), got \(entry.callCount)"
        }
        throw StubExpectationError(
            description: (["Stubs were not called:"] + lines + ["", history]).joined(separator: "\n"))
    }

    /// Expects that no request came without a stub for it.
    ///
    /// - Throws: ``StubExpectationError`` that shows each such request, with its nearest stub.
    public func expectNoUnmatchedRequests() throws {
        let unmatched = state.withLock { $0.unmatched }
        guard !unmatched.isEmpty else { return }
        throw StubExpectationError(description: unmatched.map(\.description).joined(separator: "\n\n"))
    }

    /// Expects that requests with these conditions came, and how many.
    ///
    /// ```swift
    /// try session.stubs.expect(.post, "/users", .partialJSON(["name": "Ada"]), times: 1)
    /// ```
    ///
    /// - Parameters:
    ///   - method: the method; `nil` is every method.
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions on the request.
    ///   - count: how many requests must have come; `nil`, the default, is at least one.
    /// - Throws: ``StubExpectationError`` that shows what came instead.
    public func expect(
        _ method: HTTPMethod?, _ url: URLPattern, _ matchers: RequestMatcher..., times count: Int? = nil
    ) throws {
        let stub = Stub(method, url, matchers)
        let matches = requests.map { (request: $0, match: StubMatch(stub, $0)) }
        let found = matches.count { $0.match.isMatch }
        guard count.map({ $0 != found }) ?? (found == 0) else { return }
        var lines = ["Expected \(count.map { "\($0)" } ?? "at least 1") × \(stub), got \(found)."]
        if found == 0, let nearest = matches.min(by: { $0.match.distance < $1.match.distance }) {
            lines += ["The nearest request is \(nearest.request):"] + nearest.match.lines
        }
        throw StubExpectationError(description: (lines + ["", history]).joined(separator: "\n"))
    }

    /// What was asked, a line each.
    private var history: String {
        let requests = requests
        guard !requests.isEmpty else { return "No request came." }
        return (["The requests that came:"] + requests.enumerated().map { "  \($0 + 1). \($1)" })
            .joined(
                separator: "\n")
    }
}
