import FireweedTesting
import FireweedTestingTraits
import Foundation
import Testing

@Suite("Traits", .timeLimit(.minutes(patience)))
struct SessionTraitTests {
    private func user(_ number: Int) async throws -> User {
        try await Session.testing.request("\(api)/users/\(number)").serializingDecodable(User.self).value
    }

    @Test(
        "a stubbed test has a session of its own, in each of its cases",
        .stubbed(expectsAllCalls: true) { Stub.get("/users/{id}").reply(.json(["id": 1, "name": "Ada"])) },
        arguments: 1...20)
    func stubbed(number: Int) async throws {
        #expect(Session.testing.stubs.requests.isEmpty)
        #expect(try await user(number) == User(id: 1, name: "Ada"))
        #expect(Session.testing.stubs.requests.map(\.path) == ["/users/\(number)"])
    }

    @Test("a recording is found beside the test's file", .recording("users", mode: .replay))
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
