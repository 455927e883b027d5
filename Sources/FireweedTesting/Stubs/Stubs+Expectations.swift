// Checks on the stubs at the end of a test.

public import Fireweed
public import Foundation
import Synchronization

/// A failed expectation about a test's requests; the description lists the received requests.
///
/// The error is thrown, so that both Swift Testing and XCTest report it as a failure of the test. The last line of the
/// description has the file and the line of the call, since both report a thrown error at the line of the test.
public struct StubExpectationError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The expectation, the received requests, and the place of the expectation.
    public let description: String
    /// The path of the source file with the expectation; `nil` for an expectation without a place.
    public let filePath: String?
    /// The line of the expectation in that file; `nil` for an expectation without a place.
    public let line: Int?
    /// The description.
    public var errorDescription: String? { description }

    init(_ text: String, at place: SourcePlace?) {
        description = place.map { "\(text)\n\nExpected at \($0)" } ?? text
        filePath = place.map { "\($0.filePath)" }
        line = place.map { Int($0.line) }
    }
}

/// A place in the source of a test.
struct SourcePlace: Sendable, CustomStringConvertible {
    let filePath: StaticString
    let line: UInt

    /// The place as compilers write it, so that editors can open it.
    var description: String { "\(filePath):\(line)" }
}

extension Stubs {
    /// Expects that every stub was called, unless it is optional; a stub with ``Stub/times(_:)`` exactly this number of
    /// times.
    ///
    /// - Parameters:
    ///   - filePath: the file of the call, for the error.
    ///   - line: the line of the call, for the error.
    /// - Throws: ``StubExpectationError``, which lists the stubs that were called too rarely.
    public func expectAllCalled(filePath: StaticString = #filePath, line: UInt = #line) throws {
        try expectAllCalled(at: SourcePlace(filePath: filePath, line: line))
    }

    func expectAllCalled(at place: SourcePlace) throws {
        let missing = state.withLock { $0.entries }.filter { entry in
            !entry.stub.isOptional && entry.callCount < entry.stub.limit ?? 1
        }
        guard !missing.isEmpty else { return }
        let lines = missing.map { entry in
            "  \(entry.stub): expected \(entry.stub.limit.map { "\($0)" } ?? "at least 1"), got \(entry.callCount)"
        }
        throw StubExpectationError(
            (["Stubs were not called:"] + lines + ["", history]).joined(separator: "\n"), at: place)
    }

    /// Expects that each exchange of a recording was used.
    func expectAllExchangesUsed(at place: SourcePlace) throws {
        let missing = state.withLock { $0.entries }.filter { $0.callCount < $0.stub.exchangeCount }
        guard !missing.isEmpty else { return }
        let lines = missing.map { "  \($0.stub): \($0.callCount) of \($0.stub.exchangeCount)" }
        throw StubExpectationError(
            (["Exchanges of the recording were not used:"] + lines + ["", history]).joined(separator: "\n"), at: place)
    }

    /// Expects that every request was matched by a stub.
    ///
    /// - Parameters:
    ///   - filePath: the file of the call, for the error.
    ///   - line: the line of the call, for the error.
    /// - Throws: ``StubExpectationError`` that shows each such request, with its nearest stub.
    public func expectNoUnmatchedRequests(filePath: StaticString = #filePath, line: UInt = #line) throws {
        try expectNoUnmatchedRequests(at: SourcePlace(filePath: filePath, line: line))
    }

    func expectNoUnmatchedRequests(at place: SourcePlace) throws {
        let unmatched = state.withLock { $0.unmatched }
        guard !unmatched.isEmpty else { return }
        throw StubExpectationError(unmatched.map(\.description).joined(separator: "\n\n"), at: place)
    }

    /// Expects that requests that meet these conditions were received, and how many.
    ///
    /// ```swift
    /// try session.stubs.expect(.post, "/users", .partialJSON(["name": "Ada"]), times: 1)
    /// ```
    ///
    /// - Parameters:
    ///   - method: the method; `nil` is every method.
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions on the request.
    ///   - count: the exact number of requests; `nil`, the default, is at least one.
    ///   - filePath: the file of the call, for the error.
    ///   - line: the line of the call, for the error.
    /// - Throws: ``StubExpectationError``, which lists the received requests.
    public func expect(
        _ method: HTTPMethod?, _ url: URLPattern, _ matchers: RequestMatcher..., times count: Int? = nil,
        filePath: StaticString = #filePath, line: UInt = #line
    ) throws {
        let stub = Stub(method, url, matchers)
        let matches = requests.map { (request: $0, match: StubMatch(stub, $0)) }
        let found = matches.count { $0.match.isMatch }
        guard count.map({ $0 != found }) ?? (found == 0) else { return }
        var lines = ["Expected \(count.map { "\($0)" } ?? "at least 1") × \(stub), got \(found)."]
        if found == 0, let nearest = matches.min(by: { $0.match.distance < $1.match.distance }) {
            lines += ["The nearest request is \(nearest.request):"] + nearest.match.lines
        }
        throw StubExpectationError(
            (lines + ["", history]).joined(separator: "\n"), at: SourcePlace(filePath: filePath, line: line))
    }

    /// The received requests, one line each.
    private var history: String {
        let requests = requests
        guard !requests.isEmpty else { return "No request came." }
        return (["The requests that came:"] + requests.enumerated().map { "  \($0 + 1). \($1)" })
            .joined(
                separator: "\n")
    }
}
