// Traits of Swift Testing that give a test its session.

public import FireweedTesting
import Foundation
public import Testing

/// Gives each test a session of its own, which `Session.testing` is while the test runs.
///
/// ```swift
/// @Test(.stubbed { Stub.get("/users/{id}").reply(.json(["id": 42, "name": "Ada"])) })
/// func user() async throws {
///     let user = try await Client(.testing).user(42)
///     #expect(user.name == "Ada")
/// }
///
/// @Test(.recording("users"))
/// func users() async throws {
///     #expect(try await Client(.testing).users().count == 3)
/// }
/// ```
///
/// On a suite it counts for every test in it; a test's own trait is used in place of its suite's. Each case of a test
/// with arguments has a session of its own. Tests with XCTest call `withStubs` and `withRecording`.
public struct SessionTrait: TestTrait, SuiteTrait, TestScoping {
    /// Counts for the tests of a suite, and of suites in it.
    public let isRecursive = true
    private let run: @Sendable (@Sendable () async throws -> Void) async throws -> Void
    /// Tells this trait from others of a test; copies have the same one.
    private let id = UUID()

    fileprivate init(run: @escaping @Sendable (@Sendable () async throws -> Void) async throws -> Void) {
        self.run = run
    }

    /// Runs a test with the session, where no trait of the test or of an inner suite gives another one.
    ///
    /// - Throws: what the test throws, and what the session's preparation and end throw.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A test has the traits of its suites too, the outermost first.
        let innermost = test.traits.last { $0 is SessionTrait } as? SessionTrait
        guard innermost == nil || innermost?.id == id else { return try await function() }
        try await run(function)
    }
}

extension Trait where Self == SessionTrait {
    /// A session that stubs answer.
    ///
    /// - Parameters:
    ///   - clock: makes the session's clock, for each test a new one.
    ///   - expectsAllCalls: whether a stub that was not called fails the test; false by default.
    ///   - allowsUnmatchedRequests: whether a request that no stub matches does not fail the test, which expects its
    ///     error; false by default.
    ///   - filePath: the file of the trait, for errors.
    ///   - line: the line of the trait, for errors.
    ///   - stubs: makes the stubs, for each test anew; the first one that matches answers.
    /// - Returns: a trait for a test or a suite; every test gets a session of its own.
    public static func stubbed(
        clock: @escaping @Sendable () -> any SessionClock = { SystemClock() }, expectsAllCalls: Bool = false,
        allowsUnmatchedRequests: Bool = false, filePath: StaticString = #filePath, line: UInt = #line,
        @StubsBuilder _ stubs: @escaping @Sendable () -> [Stub]
    ) -> SessionTrait {
        SessionTrait { function in
            try await withStubs(
                clock: clock(), expectsAllCalls: expectsAllCalls, allowsUnmatchedRequests: allowsUnmatchedRequests,
                filePath: filePath, line: line, stubs
            ) { _ in try await function() }
        }
    }

    /// A session that replays a recording, or makes it: `Recordings/NAME.har` beside the file of the test.
    ///
    /// `FIREWEED_RECORDING=record-missing swift test` makes it. It is written when the test has not thrown.
    ///
    /// - Parameters:
    ///   - name: the archive's name, without `.har`; slashes make folders.
    ///   - mode: what is replayed, and what is sent and recorded; by default what `FIREWEED_RECORDING` says, else
    ///     `RecordingMode.replay`.
    ///   - match: how a request finds its exchange.
    ///   - redaction: what is left out of the archive.
    ///   - maximumAge: an older recording is reported as a warning of the test; `nil`, the default, reports none.
    ///   - expectsAllExchanges: whether an exchange of the recording that no request used fails the test; false by
    ///     default. No effect in modes that do not replay.
    ///   - allowsUnmatchedRequests: whether a request that is not in the recording does not fail the test, which
    ///     expects its error; false by default.
    ///   - transport: makes what sends; an `EngineTransport` with default options by default.
    ///   - file: the file beside which the folder `Recordings` is; the caller's.
    ///   - line: the line of the trait, for errors.
    /// - Returns: a trait for a test or a suite; every test gets a session of its own.
    public static func recording(
        _ name: String, mode: RecordingMode = .environment, matching match: RecordingMatch = .request,
        redaction: Redaction = .standard, maximumAge: Duration? = nil,
        expectsAllExchanges: Bool = false, allowsUnmatchedRequests: Bool = false,
        wrapping transport: @escaping @Sendable () -> any Transport = { EngineTransport() },
        file: StaticString = #filePath, line: UInt = #line
    ) -> SessionTrait {
        SessionTrait { function in
            try await withRecording(
                name, mode: mode, matching: match, redaction: redaction, maximumAge: maximumAge,
                expectsAllExchanges: expectsAllExchanges, allowsUnmatchedRequests: allowsUnmatchedRequests,
                interceptor: nil, wrapping: transport(), file: file, line: line,
                reportingAge: { Issue.record(Comment(rawValue: $0), severity: .warning) }
            ) { _ in try await function() }
        }
    }
}
