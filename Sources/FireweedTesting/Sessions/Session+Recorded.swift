// Sessions with a recording, for the length of a test.

public import Fireweed
import Foundation

/// Runs a test with a session that replays a recording, or makes the recording.
///
/// ```swift
/// func testUsers() async throws {  // of an XCTestCase, or of Swift Testing
///     try await withRecording("users") { session in
///         let users = try await Client(session).users()
///         XCTAssertEqual(users.count, 3)
///     }
/// }
/// ```
///
/// The archive is `Recordings/users.har` beside the file of the test. `FIREWEED_RECORDING=record-missing swift test`
/// makes it; it is written when `body` returns, and not when `body` throws.
///
/// - Parameters:
///   - name: the archive's name, without `.har`; slashes make folders.
///   - mode: the choice between replaying, recording and sending; by default the mode that `FIREWEED_RECORDING` names,
///     else ``RecordingMode/replay``.
///   - match: how a request finds its exchange.
///   - redaction: the secrets to leave out of the archive.
///   - maximumAge: an older recording is reported on standard error; `nil`, the default, reports none.
///   - expectsAllExchanges: whether an exchange of the recording that no request used is a failure when `body` has
///     returned; false by default. No effect in modes that do not replay.
///   - allowsUnmatchedRequests: whether requests that are not in the recording are allowed, for tests that expect their
///     errors; by default they are a failure when `body` has returned.
///   - interceptor: adapts and retries every request.
///   - base: the transport that sends; an `EngineTransport` with default options by default.
///   - file: the file beside which the folder `Recordings` is; the caller's.
///   - line: the line of the call, for errors.
///   - isolation: the actor on which `body` runs; the caller's.
///   - body: gets the session, which `Session.testing` returns too.
/// - Returns: what `body` returns.
/// - Throws: the error of `body`; the errors of ``RecordingTransport`` when it is made and when it saves;
///   ``RecordingError`` for an unknown value of `FIREWEED_RECORDING`; ``StubExpectationError`` for the failures above.
public func withRecording<Value>(
    _ name: String, mode: RecordingMode = .environment, matching match: RecordingMatch = .request,
    redaction: Redaction = .standard, maximumAge: Duration? = nil, expectsAllExchanges: Bool = false,
    allowsUnmatchedRequests: Bool = false, interceptor: (any RequestInterceptor)? = nil,
    wrapping base: any Transport = EngineTransport(), file: StaticString = #filePath, line: UInt = #line,
    isolation: isolated (any Actor)? = #isolation, _ body: (Session) async throws -> Value
) async throws -> Value {
    try await withRecording(
        name, mode: mode, matching: match, redaction: redaction, maximumAge: maximumAge,
        expectsAllExchanges: expectsAllExchanges, allowsUnmatchedRequests: allowsUnmatchedRequests,
        interceptor: interceptor, wrapping: base, file: file, line: line, isolation: isolation,
        reportingAge: { FileHandle.standardError.write(Data("\($0)\n".utf8)) }, body)
}

/// The same as the public function, with a closure that reports an old recording.
package func withRecording<Value>(
    _ name: String, mode: RecordingMode, matching match: RecordingMatch, redaction: Redaction, maximumAge: Duration?,
    expectsAllExchanges: Bool = false, allowsUnmatchedRequests: Bool = false, interceptor: (any RequestInterceptor)?,
    wrapping base: any Transport, file: StaticString, line: UInt = #line,
    isolation: isolated (any Actor)? = #isolation, reportingAge report: (String) -> Void,
    _ body: (Session) async throws -> Value
) async throws -> Value {
    if case .failure(let error) = RecordingMode.ofEnvironment { throw error }
    let url = Recording.url(of: name, beside: "\(file)")
    let transport = try RecordingTransport(
        contentsOf: url, mode: mode, matching: match, redaction: redaction, wrapping: base)
    if let maximumAge, let text = transport.recording?.ageReport(limit: maximumAge, now: Date()) {
        report("\(url.lastPathComponent): \(text)")
    }
    let session = Session(
        transport: transport, configuration: Session.isolated(.af.ephemeral), interceptor: interceptor)
    let value = try await Session.$current.withValue(session, operation: { try await body(session) })
    try transport.save()
    let place = SourcePlace(filePath: file, line: line)
    if !allowsUnmatchedRequests { try transport.stubs.expectNoUnmatchedRequests(at: place) }
    if expectsAllExchanges, mode == .replay || mode == .recordMissing {
        try transport.stubs.expectAllExchangesUsed(at: place)
    }
    return value
}

/// Runs a test with a session that stubs answer.
///
/// The same as `Session.stubbed`, for tests that get their session by `Session.testing`.
///
/// - Parameters:
///   - clock: the session's clock.
///   - expectsAllCalls: whether a stub that was not called fails the test; false by default.
///   - allowsUnmatchedRequests: whether requests that no stub matches are allowed, for tests that expect their errors;
///     by default they are a failure when `body` has returned.
///   - filePath: the file of the call, for errors.
///   - line: the line of the call, for errors.
///   - stubs: the stubs; the first one that matches answers.
///   - isolation: the actor on which `body` runs; the caller's.
///   - body: gets the session, which `Session.testing` returns too.
/// - Returns: what `body` returns.
/// - Throws: the error of `body`, and ``StubExpectationError`` for the failures above.
public func withStubs<Value>(
    clock: any SessionClock = SystemClock(), expectsAllCalls: Bool = false, allowsUnmatchedRequests: Bool = false,
    filePath: StaticString = #filePath, line: UInt = #line, @StubsBuilder _ stubs: () -> [Stub],
    isolation: isolated (any Actor)? = #isolation, perform body: (Session) async throws -> Value
) async throws -> Value {
    let session = Session.stubbed(clock: clock, stubs)
    let value = try await Session.$current.withValue(session, operation: { try await body(session) })
    let place = SourcePlace(filePath: filePath, line: line)
    if !allowsUnmatchedRequests { try session.stubs.expectNoUnmatchedRequests(at: place) }
    if expectsAllCalls { try session.stubs.expectAllCalled(at: place) }
    return value
}

extension Session {
    @TaskLocal static var current: Session?

    /// The running test's session, set by a trait `.stubbed` or `.recording`, by `withStubs` or by `withRecording`.
    ///
    /// The session belongs to the test's task and its child tasks. A detached task, a callback, and a test without one
    /// of these sources get a session that fails every request with a ``StubExpectationError``.
    public static var testing: Session { current ?? outsideOfTests }

    private static let outsideOfTests = Session.stubbed {
        Stub.any().reply { request in
            throw StubExpectationError(
                "\(request) was sent by Session.testing where no test has a session: the test has no trait .stubbed or "
                    + ".recording, or its task is detached.", at: nil)
        }
        Stub.webSocket("**") { _ in }
    }
}

extension Recording {
    /// Returns the URL of an archive in the folder `Recordings` beside a file.
    static func url(of name: String, beside file: String) -> URL {
        URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("Recordings")
            .appendingPathComponent("\(name).har")
    }
}
