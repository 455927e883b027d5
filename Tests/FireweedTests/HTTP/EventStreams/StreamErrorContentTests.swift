import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import Testing

@Suite("The content of errors, and streams that are not idempotent", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StreamErrorContentTests {
    private static let limit = DataStreamRequest.maximumErrorContentByteCount
    private let url = "https://service.example/"

    @Test(
        "what serverSentEvents() refuses can be read, up to the limit", arguments: [20, limit, limit + 1, 10 * limit])
    func events(count: Int) async throws {
        let content = String(repeating: "e", count: count)
        let session = Session.stubbed { Stub.any().reply(.text(content, contentType: "application/json", status: 422)) }
        let request = session.streamRequest(url)
        #expect(request.data == nil)
        let error = await #expect(throws: AFError.self) {
            for try await _ in request.serverSentEvents() { Issue.record("an event") }
        }
        #expect(error?.responseCode == 422 && !request.isCancelled)
        #expect(request.data == Data(content.utf8.prefix(Self.limit)))
    }

    @Test("the content of a refused response is in data and in the completion, and lines() has none of it")
    func lines() async throws {
        let session = Session.stubbed { Stub.any().reply(.text("not\nhere\n", status: 404)) }
        let request = session.streamRequest(url).validate()
        var lines: [String] = []
        let error = await #expect(throws: AFError.self) {
            for try await line in request.lines() { lines.append(line) }
        }
        #expect(error?.responseCode == 404 && lines.isEmpty && request.data == Data("not\nhere\n".utf8))
        for await stream in session.streamRequest(url).streamTask().streamingData() {
            if let completion = stream.completion { #expect(completion.data == Data("not\nhere\n".utf8)) }
        }
    }

    @Test("the content of a success is not kept")
    func success() async throws {
        let session = Session.stubbed { Stub.any().reply(.text("one\ntwo\n")) }
        let request = session.streamRequest(url)
        for try await _ in request.lines() {}
        #expect(request.data == nil)
    }

    @Test(
        "a method that is not idempotent is sent once, unless the caller wants more (RFC 9110 §9.2.2)",
        arguments: [
            (HTTPMethod.post, nil, 1), (.patch, nil, 1), (.post, .automatic, 2), (.get, nil, 2), (.put, nil, 2),
        ]
            as [(HTTPMethod, ServerSentEvent.Reconnection?, Int)])
    func methods(method: HTTPMethod, reconnection: ServerSentEvent.Reconnection?, count: Int) async throws {
        let session = Session.stubbed {
            Stub.any().reply(.text("retry: 0\ndata: a\n\n", contentType: "text/event-stream"), .status(204))
        }
        let request = session.streamRequest(url, method: method)
        var events: [String] = []
        for try await event in request.serverSentEvents(reconnection: reconnection) { events.append(event.data) }
        #expect(events == ["a"] && request.tasks.count == count)
    }

    @Test("a POST whose connection is lost ends with the error, and is not sent again")
    func lostPost() async throws {
        let session = Session.stubbed {
            Stub.any().reply(.text("data: a\n\n", contentType: "text/event-stream").failing())
        }
        let request = session.streamRequest(url, method: .post)
        let error = await #expect(throws: AFError.self) { for try await _ in request.serverSentEvents() {} }
        #expect(error?.urlErrorCode == .networkConnectionLost && request.tasks.count == 1)
    }
}
