import FireweedTesting
import Foundation
import Testing

@Suite("Streamed answers of stubs", .timeLimit(.minutes(testTimeoutMinutes)))
struct StreamStubTests {
    @Test("content comes piece by piece")
    func pieces() async throws {
        let session = Session.stubbed { Stub.get("/").reply(.stream("one\n", "two\n", "three")) }
        var lines: [String] = []
        for try await line in session.streamRequest("\(api)/").lines() { lines.append(line) }
        #expect(lines == ["one", "two", "three"])
    }

    @Test("a feed sends while the request runs")
    func feed() async throws {
        let feed = ResponseFeed()
        feed.send("before\n")
        let session = Session.stubbed { Stub.get("/").reply(.stream(from: feed)) }
        var lines: [String] = []
        for try await line in session.streamRequest("\(api)/").lines() {
            lines.append(line)
            if line == "before" { feed.send("during\n") } else { feed.finish() }
        }
        #expect(lines == ["before", "during"])
    }

    @Test("a feed fails, and a second request does not get it")
    func failingFeed() async throws {
        let feed = ResponseFeed()
        let session = Session.stubbed { Stub.get("/").reply(.stream(from: feed)) }
        feed.send("a")
        feed.fail(with: URLError(.dataNotAllowed))
        let first = await session.request("\(api)/").serializingData().response
        #expect((first.error?.underlyingError as? URLError)?.code == .dataNotAllowed)
        let second = await session.request("\(api)/").serializingData().response
        #expect((second.error?.underlyingError as? URLError)?.code == .resourceUnavailable)
    }

    @Test("server-sent events arrive as events")
    func events() async throws {
        let sent = [
            ServerSentEvent(data: "one\ntwo"), ServerSentEvent(event: "tick", data: "2", id: "7"),
        ]
        let session = Session.stubbed { Stub.get("/").reply(.serverSentEvents(sent[0], sent[1])) }
        var received: [ServerSentEvent] = []
        for try await event in session.streamRequest("\(api)/").serverSentEvents(reconnection: .never) {
            received.append(event)
        }
        #expect(received == sent)
    }
}
