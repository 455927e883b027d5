// Tests with XCTest; `make test` runs these apart from the others.

import FireweedTesting
import Foundation
import XCTest

/// The example of the documentation, line for line.
final class UserTests: XCTestCase {
    func testUser() async throws {
        try await withStubs(expectsAllCalls: true) {
            Stub.get("/users/{id}").reply(.json(["id": 42, "name": "Ada"]))
        } perform: { session in
            let user = try await session.request("https://api.example.com/users/42")
                .serializingDecodable(User.self).value
            XCTAssertEqual(user.name, "Ada")
        }
    }
}

final class SessionXCTests: XCTestCase {
    func testStubs() async throws {
        let session = Session.stubbed { Stub.get("/users/{id}").reply(.json(["id": 42, "name": "Ada"])) }
        let user = try await session.request("\(api)/users/42").serializingDecodable(User.self).value
        XCTAssertEqual(user, User(id: 42, name: "Ada"))
        try session.stubs.expectAllCalled()
    }

    func testPlaceOfFailure() async throws {
        do {
            try await withStubs(expectsAllCalls: true, { Stub.get("/a") }, perform: { _ in })
            XCTFail("a stub was not called")
        } catch let error as StubExpectationError {
            XCTAssertEqual(error.line, #line - 3)
            XCTAssertEqual(error.filePath, #filePath)
        }
    }

    func testSessionOfTheTest() async throws {
        let text = try await withStubs(expectsAllCalls: true) {
            Stub.any().reply(.text("stub"))
        } perform: { _ in
            try await Session.testing.request("\(api)/").serializingString().value
        }
        XCTAssertEqual(text, "stub")
    }

    func testRecording() async throws {
        try await withRecording("users", mode: .replay) { session in
            let user = try await session.request("\(api)/users/1").serializingDecodable(User.self).value
            XCTAssertEqual(user, User(id: 1, name: "Ada"))
        }
    }

    func testCompletionHandlers() throws {
        let session = Session.stubbed { Stub.any().reply(.text("stub")) }
        let expectation = expectation(description: "the response")
        session.request("\(api)/").responseString { response in
            XCTAssertEqual(response.value, "stub")
            expectation.fulfill()
        }
        wait(for: [expectation], timeout: 60)
    }

    @MainActor
    func testOnTheMainActor() async throws {
        var count = 0
        try await withStubs {
            Stub.any().reply(.text("stub"))
        } perform: { session in
            _ = try await session.request("\(api)/").serializingString().value
            count += 1
        }
        XCTAssertEqual(count, 1)
    }

    func testFailureIsReported() async throws {
        do {
            try await withStubs(expectsAllCalls: true) {
                Stub.get("/never")
            } perform: { _ in
            }
            XCTFail("a stub was not called")
        } catch let error as StubExpectationError {
            XCTAssertTrue(error.description.contains("GET /never: expected at least 1, got 0"))
        }
    }
}
