// The head of a stream's response with its content, and streams that send content.

import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@Suite("Head and content of a stream", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HeadAndContentTests {
    private let session = Session(configuration: .af.ephemeral)

    private func text(_ content: DataStreamRequest.Elements<Data>) async throws -> String {
        var text = ""
        for try await data in content { text += String(decoding: data, as: UTF8.self) }
        return text
    }

    private static let refusal = "HTTP/1.1 503 Unavailable\r\nContent-Length: 4\r\n\r\nbusy"
    private static let whole = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nContent-Length: 5\r\n\r\nhello"

    @Test("the head comes as it was sent, and all of the content after it")
    func headAndContent() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.whole), .close])
        let request = session.streamRequest(server.url())
        let (head, content) = try await request.headAndContent()
        #expect(head.status == 200)
        #expect(head.fields.prefix(2).map(\.name) == ["Set-Cookie", "set-cookie"])
        #expect(request.responseHead?.values(of: "Set-Cookie") == ["a=1", "b=2"])
        #expect(try await text(content) == "hello")
    }

    @Test("a refused response is retried unseen; without a retry the error is thrown")
    func refusals() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.refusal), .close], [.receiveHead, .send(Self.whole), .close])
        let interceptor = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0)
        let request = session.streamRequest(server.url(), interceptor: interceptor).validate()
        let (head, content) = try await request.headAndContent()
        #expect(head.status == 200)
        #expect(try await text(content) == "hello")
        #expect(request.retryCount == 1)
        let failing = try ScriptedServer.start([.receiveHead, .send(Self.refusal), .close])
        let refused = session.streamRequest(failing.url()).validate()
        let error = await #expect(throws: AFError.self) { try await refused.headAndContent() }
        #expect(error?.responseCode == 503)
    }

    @Test("no retry follows once the head was given, even before any content")
    func noRetry() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), .wait(for: "cut"), .reset,
        ])
        let request = session.streamRequest(server.url(), interceptor: RetryPolicy())
        let (_, content) = try await request.headAndContent()
        server.signal("cut")
        let error = await #expect(throws: AFError.self) { try await text(content) }
        #expect((error?.underlyingError as? URLError)?.code == .networkConnectionLost)
        #expect(request.retryCount == 0)
        #expect(!server.events.events.contains(.accepted(1)))
    }

    @Test("content that is released unread cancels the request, where there is any")
    func released() async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .send("HTTP/1.1 204 No Content\r\n\r\n"), .receiveHead,
                .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .hold,
            ])
        let empty = session.streamRequest(server.url())
        #expect(try await empty.headAndContent().head.status == 204)
        let request = session.streamRequest(server.url())
        #expect(try await request.headAndContent().head.status == 200)
        try await server.events.first { $0 == .closedByPeer(0) }
        #expect(request.isCancelled)
        #expect(!empty.isCancelled)
    }

    @Test("cancelling the task that waits for the head cancels the request")
    func cancelled() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let request = session.streamRequest(server.url())
        let task = Task { try await request.headAndContent().head.status }
        try await server.events.first { if case .head = $0 { true } else { false } }
        task.cancel()
        let error = await #expect(throws: AFError.self) { try await task.value }
        #expect(error?.isExplicitlyCancelledError == true)
        try await server.events.first { $0 == .closedByPeer(0) }
    }

    @Test("a failure before the head is thrown")
    func failure() async {
        let session = Session.stubbed { Stub.any().reply(.failure(.cannotConnectToHost)) }
        let error = await #expect(throws: AFError.self) {
            try await session.streamRequest("https://example.com").headAndContent()
        }
        #expect((error?.underlyingError as? URLError)?.code == .cannotConnectToHost)
    }

    @Test("trailers are there when the content has ended")
    func trailers() async throws {
        let server = try ScriptedServer.start([
            .receiveHead,
            .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"),
            .hold,
        ])
        let request = session.request(server.url())
        #expect(request.responseTrailers == nil)
        #expect(await request.serializingString().response.value == "ok")
        #expect(request.responseTrailers?.value(of: "x-sum") == "1")
    }

    @Test("content goes out while the response comes in")
    func bothWays() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"), .receive(byteCount: 3), .send("one"),
            .receive(byteCount: 3), .send("two"), .hold,
        ])
        var message = URLRequest(url: server.url())
        message.httpMethod = "POST"
        message.headers.add(name: "Content-Length", value: "6")
        let (input, continuation) = AsyncStream.makeStream(of: Data.self)
        let (_, content) = try await session.streamRequest(input, with: message).headAndContent()
        var iterator = content.makeAsyncIterator()
        for word in ["one", "two"] {
            continuation.yield(Data("xyz".utf8))
            #expect(try await iterator.next() == Data(word.utf8))
        }
        continuation.finish()
        #expect(try await iterator.next() == nil)
    }

    @Test("repeatable content is sent again after a redirect and by a retry")
    func repeatable() async throws {
        let server = try MockServer.start {
            Stub.put("/old").reply(.redirect(to: "/new", status: 307))
            Stub.put("/new").reply(.status(503), .text("done"))
        }
        let message = try URLRequest(url: server.url("/old"), method: .put)
        let pieces = AsyncPieces(pieces: [Data("con".utf8), Data("tent".utf8)])
        let request = session.streamRequest(
            pieces, isRepeatable: true, with: message,
            interceptor: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0)
        ).validate()
        #expect(try await text(request.content()) == "done")
        #expect(server.stubs.requests.map(\.text) == Array(repeating: "content", count: 4))
    }
}

/// Pieces that every iterator gives from the beginning.
private struct AsyncPieces: AsyncSequence, Sendable {
    let pieces: [Data]

    func makeAsyncIterator() -> Iterator { Iterator(rest: pieces[...]) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<Data>
        mutating func next() async -> Data? { rest.popFirst() }
    }
}
