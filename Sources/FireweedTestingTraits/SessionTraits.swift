// Traits of Swift Testing that give a test its session.

public import FireweedTesting
import Foundation
public import Testing

/// Gives each test a session of its own; `Session.testing` returns it while the test runs.
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
/// On a suite, the trait applies to every test in the suite; a test's own trait replaces that of its suite. Each case
/// of a test with arguments has a session of its own. Tests with XCTest call `withStubs` and `withRecording`.
public struct SessionTrait: TestTrait, SuiteTrait, TestScoping {
    /// True: the trait of a suite applies to all tests of the suite and of suites in it.
    public let isRecursive = true
    private let run: @Sendable (@Sendable () async throws -> Void) async throws -> Void
    /// Identifies this trait among those of a test; copies have the same ID.
    private let id = UUID()

    fileprivate init(run: @escaping @Sendable (@Sendable () async throws -> Void) async throws -> Void) {
        self.run = run
    }

    /// Runs a test with the trait's session, unless a trait of the test or of an inner suite provides another one.
    ///
    /// - Throws: the errors of the test, and those of preparing and ending the session.
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
    /// Gives each test a session whose requests are answered by stubs.
    ///
    /// - Parameters:
    ///   - clock: makes a new clock for each test's session.
    ///   - expectsAllCalls: whether a stub that was not called fails the test; false by default.
    ///   - allowsUnmatchedRequests: whether the test may send requests that no stub matches, and handles their errors
    ///     itself; false, the default, fails such a test.
    ///   - filePath: the file of the trait, for errors.
    ///   - line: the line of the trait, for errors.
    ///   - stubs: makes new stubs for each test; the first one that matches answers.
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

    /// Gives each test a session that replays a recording, or makes it: `Recordings/NAME.har` beside the test's file.
    ///
    /// `FIREWEED_RECORDING=record-missing swift test` makes the recording, which is written only if the test does not
    /// throw.
    ///
    /// - Parameters:
    ///   - name: the archive's name, without `.har`; slashes make folders.
    ///   - mode: the choice between replaying, recording and sending; by default the mode that `FIREWEED_RECORDING`
    ///     names, else `RecordingMode.replay`.
    ///   - match: how requests are matched with recorded exchanges.
    ///   - redaction: the secrets that are left out of the archive.
    ///   - maximumAge: an older recording is reported as a warning of the test; `nil`, the default, reports none.
    ///   - expectsAllExchanges: whether an exchange of the recording that no request used fails the test; false by
    ///     default. No effect in modes that do not replay.
    ///   - allowsUnmatchedRequests: whether the test may send requests that are not in the recording, and handles
    ///     their errors itself; false, the default, fails such a test.
    ///   - transport: makes the transport that sends; an `EngineTransport` with default options by default.
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
