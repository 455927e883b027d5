import FireweedTesting
import FireweedTestingTraits
import Foundation
import Testing

@Suite("Traits", .timeLimit(.minutes(testTimeoutMinutes)))
struct SessionTraitTests {
    private func user(_ number: Int) async throws -> User {
        try await Session.testing.request("\(api)/users/\(number)").serializingDecodable(User.self).value
    }

    @Test(
        "a thousand stubbed tests at once have sessions of their own, and share neither cookies nor stored responses",
        .stubbed(expectsAllCalls: true) {
            Stub.post("/login").reply { .status(204, headers: ["Set-Cookie": "user=\($0.text); Max-Age=600"]) }
            Stub.get("/me").reply {
                .text($0.cookies["user"] ?? "nobody", headers: ["Cache-Control": "max-age=600"])
            }
        },
        arguments: 1...1000)
    func stubbed(number: Int) async throws {
        let session = Session.testing
        #expect(session.stubs.requests.isEmpty)
        _ = await session.upload(Data("\(number)".utf8), to: "\(api)/login").serializingData().response
        for _ in 1...2 {
            #expect(try await session.request("\(api)/me").serializingString().value == "\(number)")
            await session.flushResponseStore()
        }
        #expect(session.stubs.requests.map(\.path) == ["/login", "/me"])
    }

    @Test(
        "a recording is found beside the test's file", .recording("users", mode: .replay, allowsUnmatchedRequests: true)
    )
    func recording() async throws {
        #expect(try await user(1) == User(id: 1, name: "Ada"))
        let response = await Session.testing.request("\(api)/users/2").serializingData().response
        #expect(response.error?.underlyingError is UnmatchedRequestError)
    }

    @Test("tasks below the test's have its session too", .recording("users", mode: .replay))
    func children() async throws {
        async let first = user(1)
        async let second = user(1)
        #expect(try await first == second)
    }

    @Suite("On a suite", .stubbed { Stub.any().reply(.text("suite")) })
    struct Inherited {
        private var text: String {
            get async throws { try await Session.testing.request("\(api)/").serializingString().value }
        }

        @Test("a suite's trait counts for its tests")
        func inherited() async throws {
            #expect(try await text == "suite")
            #expect(Session.testing.stubs.requests.count == 1)
        }

        @Test("a test's own trait is used in place of its suite's", .stubbed { Stub.any().reply(.text("test")) })
        func overridden() async throws {
            #expect(try await text == "test")
        }
    }

    @Suite(
        "On a suite that must not act",
        .stubbed(clock: { SessionTraitTests.unexpectedClock() }) { Stub.any().reply(.text("suite")) })
    struct Overridden {
        @Test(
            "the traits of its suites make no session for a test with its own",
            .stubbed { Stub.any().reply(.text("test")) })
        func alone() async throws {
            #expect(try await Session.testing.request("\(api)/").serializingString().value == "test")
        }

        @Suite("Inside", .stubbed { Stub.any().reply(.text("inner")) })
        struct Inner {
            @Test("an inner suite's trait is used in place of an outer one's")
            func inner() async throws {
                #expect(try await Session.testing.request("\(api)/").serializingString().value == "inner")
            }
        }
    }

    private static func unexpectedClock() -> any SessionClock {
        Issue.record("the trait of the outer suite made a session")
        return SystemClock()
    }

    @Test("an old recording is reported, and replayed", arguments: [false, true])
    func age(isOld: Bool) async throws {
        var reports: [String] = []
        try await withRecording(
            "users", mode: .replay, matching: .request, redaction: .standard,
            maximumAge: isOld ? .seconds(86_400) : .seconds(1_000_000 * 86_400), interceptor: nil,
            wrapping: StubTransport {}, file: #filePath, reportingAge: { reports.append($0) }
        ) { session in
            _ = try await session.request("\(api)/users/1").serializingDecodable(User.self).value
        }
        #expect(reports.count == (isOld ? 1 : 0))
        #expect(reports.allSatisfy { $0.hasPrefix("users.har: The recording is of 20") })
    }

    @Test("a stub that was not called fails a test that expects all of them")
    func missing() async {
        await #expect(throws: StubExpectationError.self) {
            try await withStubs(expectsAllCalls: true) {
                Stub.get("/a")
            } perform: { _ in
            }
        }
    }
}
