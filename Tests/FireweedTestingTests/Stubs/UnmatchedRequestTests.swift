import FireweedTesting
import Foundation
import Testing

@Suite("Requests that no stub matches", .timeLimit(.minutes(testTimeoutMinutes)))
struct UnmatchedRequestTests {
    private func message(
        _ session: Session, _ path: String, _ method: HTTPMethod = .post,
        _ body: JSONValue = ["name": "Ada", "age": 36]
    ) async throws -> String {
        let response = await session.request(
            "\(api)\(path)", method: method, parameters: body, encoder: JSONParameterEncoder.sortedKeys,
            requestModifier: { $0.headers = ["Content-Type": "application/json"] }
        ).serializingData().response
        return try #require(response.error?.underlyingError as? UnmatchedRequestError).description
    }

    @Test("the text shows the request, and what differs from the nearest stub")
    func nearest() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        let session = Session.stubbed(configuration: configuration) {
            Stub.get("/posts")
            Stub.post("/users", .header("X-Token", "t"), .json(["name": "Grace", "tags": ["a"]]))
        }
        let text = try await message(session, "/users")
        #expect(
            text == """
                No stub matches POST https://api.example.com/users.

                  POST https://api.example.com/users
                  Content-Type: application/json

                  {"age":36,"name":"Ada"}

                The nearest of 2 stubs is POST /users:
                  ✓ method POST
                  ✓ URL /users
                  ✗ X-Token: t
                      field X-Token: missing, expected t
                  ✗ JSON equal to {"name":"Grace","tags":["a"]}
                      $.name: expected "Grace", got "Ada"
                      $.tags: missing, expected ["a"]
                      $.age: unexpected, got 36
                """)
        #expect(session.stubs.unmatchedRequests.count == 1)
        #expect(throws: StubExpectationError.self) { try session.stubs.expectNoUnmatchedRequests() }
    }

    @Test("a stub that has answered its number of times says so")
    func usedUp() async throws {
        let session = Session.stubbed { Stub.post("/once").times(1) }
        _ = await session.request("\(api)/once", method: .post).serializingData().response
        #expect(
            try await message(session, "/once").contains(
                "The stub POST /once matches, and has answered its 1 times."))
    }

    @Test("a stub for plain requests is shown as one that opens no WebSocket")
    func webSocket() async throws {
        let session = Session.stubbed { Stub.get("/chat") }
        let request = session.webSocketRequest(to: "\(api)/chat")
        for await _ in request.webSocketTask().streamingMessages() {}
        let error = try #require(request.error?.underlyingError as? UnmatchedRequestError)
        #expect(
            error.description.contains(
                """
                The nearest of 1 stub is GET /chat:
                  ✗ method GET
                      method: expected GET, got GET for a WebSocket
                  ✓ URL /chat
                """))
    }

    @Test("long content is shown up to its last whole character", arguments: 0..<4)
    func longContent(offset: Int) async throws {
        let session = Session.stubbed { Stub.post("/", .body("other")) }
        let content = String(repeating: "a", count: offset) + String(repeating: "🌲", count: 500)
        let response = await session.upload(Data(content.utf8), to: "\(api)/").serializingData().response
        let error = try #require(response.error?.underlyingError as? UnmatchedRequestError)
        #expect(error.description.contains("🌲… <\(content.utf8.count) bytes in all>"))
    }

    @Test("a session without stubs says so")
    func none() async throws {
        #expect(try await message(Session.stubbed {}, "/").hasSuffix("There are no stubs."))
    }

    @Test("no retry policy retries it")
    func notRetried() async throws {
        let session = Session.stubbed(interceptor: RetryPolicy()) {}
        _ = await session.request("\(api)/").serializingData().response
        #expect(session.stubs.requests.count == 1)
    }
}
