// Failures of tests whose stubs were not used as expected.

import FireweedTesting
import FireweedTestingTraits
import Foundation
import Testing

@Suite("Failures of tests with stubs", .timeLimit(.minutes(testTimeoutMinutes)))
struct TestFailureTests {
    @Test("a failed expectation carries the file and the line of its call")
    func places() async throws {
        let session = Session.stubbed { Stub.get("/never") }
        var lines: [Int] = []
        var errors: [StubExpectationError] = []
        func note(_ line: Int, _ body: () async throws -> Void) async {
            lines.append(line)
            do { try await body() } catch { (error as? StubExpectationError).map { errors.append($0) } }
        }
        await note(#line) { try session.stubs.expectAllCalled() }
        await note(#line) { try session.stubs.expect(.get, "/never") }
        await note(#line) { _ = try await session.stubs.takeRequest(within: .zero) }
        _ = await session.request("\(api)/other").serializingData().response
        await note(#line) { try session.stubs.expectNoUnmatchedRequests() }
        await note(#line) { try await withStubs(expectsAllCalls: true, { Stub.get("/a") }, perform: { _ in }) }
        await note(#line) { try await withRecording("users", mode: .replay, expectsAllExchanges: true) { _ in } }
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Recordings/users.har")
        let recording = try Recording(contentsOf: file)
        await note(#line) { try recording.expect(noOlderThan: .zero) }
        #expect(errors.map(\.line) == lines)
        #expect(
            errors.allSatisfy { $0.filePath == #filePath && $0.description.hasSuffix("\(#filePath):\($0.line ?? 0)") })
    }

    @Test("a request that no stub matches fails the test, also when its error is swallowed, unless the test allows it")
    func swallowed() async throws {
        func run(allows: Bool) async throws {
            try await withStubs(allowsUnmatchedRequests: allows, { Stub.get("/users") }) { session in
                _ = await session.request("\(api)/posts").serializingData().response
            }
        }
        await #expect(throws: StubExpectationError.self) { try await run(allows: false) }
        try await run(allows: true)
        await #expect(throws: StubExpectationError.self) {
            try await withRecording("users", mode: .replay) { session in
                _ = await session.request("\(api)/none").serializingData().response
            }
        }
    }

    @Test("traits fail their test at their end, by default and where they are told to, with their own line")
    func traits() async throws {
        let test = try #require(Test.current)
        var lines: [UInt] = []
        var errors: [StubExpectationError] = []
        func note(_ trait: SessionTrait, _ line: UInt, requests path: String?) async {
            lines.append(line)
            do {
                try await trait.provideScope(for: test, testCase: nil) {
                    guard let path else { return }
                    _ = await Session.testing.request("\(api)\(path)").serializingData().response
                }
            } catch { (error as? StubExpectationError).map { errors.append($0) } }
        }
        await note(.stubbed { Stub.get("/a") }, #line, requests: "/other")
        await note(.stubbed(expectsAllCalls: true) { [Stub.get("/a"), Stub.get("/b")] }, #line, requests: "/a")
        await note(.recording("users", mode: .replay), #line, requests: "/other")
        await note(.recording("users", mode: .replay, expectsAllExchanges: true), #line, requests: nil)
        #expect(errors.map(\.line) == lines.map(Int.init) && errors.allSatisfy { $0.filePath == #filePath })

        let allowing: [SessionTrait] = [
            .stubbed(allowsUnmatchedRequests: true) { Stub.get("/a") },
            .stubbed { [Stub.get("/a"), Stub.get("/other")] },
            .recording("users", mode: .replay, allowsUnmatchedRequests: true),
        ]
        for trait in allowing { await note(trait, 0, requests: "/other") }
        #expect(errors.count == 4)
    }

    @Test("a recording whose exchanges were not used fails a test that expects all of them", arguments: [true, false])
    func unused(uses: Bool) async throws {
        func run() async throws {
            try await withRecording(
                "users", mode: .replay, expectsAllExchanges: true
            ) { session in
                if uses { _ = await session.request("\(api)/users/1").serializingData().response }
            }
        }
        if uses { try await run() } else { await #expect(throws: StubExpectationError.self) { try await run() } }
    }

    @Test("the text of an unmatched request has no credentials")
    func secrets() async throws {
        let session = Session.stubbed {}
        let response = await session.request("\(api)/", headers: [.authorization(bearerToken: "s3cret")])
            .serializingData().response
        let text = try #require(response.error?.underlyingError as? UnmatchedRequestError).description
        #expect(text.contains("Authorization: Bearer [redacted]") && !text.contains("s3cret"))
    }

    @Test("the session of a task without a test fails its requests, and ends no process")
    func detached() async throws {
        let response = await Task.detached { await Session.testing.request("\(api)/").serializingData().response }.value
        #expect(response.error?.underlyingError is StubExpectationError)
    }

    @Test("a single-valued field is replaced, and others are added")
    func fields() {
        let response = MockResponse.json([:]).header(.contentType("application/problem+json"))
            .header("Set-Cookie", "a=1").header("Set-Cookie", "b=2").header("etag", "1").header("ETag", "2")
        #expect(
            response.fields.filter { $0.name.lowercased() == "content-type" }.map(\.value) == [
                "application/problem+json"
            ])
        #expect(response.fields.count { $0.name == "Set-Cookie" } == 2)
        #expect(response.fields.filter { $0.name.lowercased() == "etag" }.map(\.value) == ["2"])
    }

    @Test(
        "the idle time-out of a request ends a longer delay on an automatic clock", arguments: [(5, false), (15, true)])
    func idleTimeout(delay: Int, timesOut: Bool) async throws {
        let clock = TestClock.automatic
        let session = Session.stubbed(clock: clock) { Stub.any().reply(.text("late").delayed(by: .seconds(delay))) }
        let response = await session.request("\(api)/", requestModifier: { $0.timeoutInterval = 10 })
            .serializingString().response
        #expect((response.error?.underlyingError as? URLError)?.code == (timesOut ? .timedOut : nil))
        #expect(clock.elapsed == .seconds(timesOut ? 10 : 5))
    }

    @Test("a clock may be advanced by any time, and again")
    func longTimes() async throws {
        let clock = TestClock()
        let session = Session.stubbed(clock: clock) { Stub.any().reply(.text("a").delayed(by: .seconds(1))) }
        let task = session.request("\(api)/").serializingString()
        async let value = task.value
        await clock.delayIsPending()
        let nanoseconds = clock.monotonicNanoseconds
        clock.advance(by: .seconds(292 * 366 * 86_400))
        #expect(try await value == "a")
        for _ in 0..<3 { clock.advance(by: .seconds(Int64.max)) }
        #expect(clock.monotonicNanoseconds > nanoseconds)
    }

    @Test("a mistyped variable of the environment is an error that names the values")
    func mode() throws {
        #expect(try RecordingMode.named("").get() == .replay)
        for mode in RecordingMode.allCases { #expect(try RecordingMode.named(mode.rawValue).get() == mode) }
        let error = #expect(throws: RecordingError.self) { try RecordingMode.named("re-record").get() }
        #expect(error?.description.contains("record-missing") == true)
    }
}
