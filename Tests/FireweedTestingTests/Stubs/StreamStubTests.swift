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

    @Test("faults of the content count over all its pieces, and come right behind their byte")
    func faults() async throws {
        let feed = ResponseFeed()
        let clock = TestClock.automatic
        let session = Session.stubbed(clock: clock) {
            Stub.get("/cut").reply(
                .stream("one\n", "two\n", .pause(.seconds(9)), "three\n").fault(.closeInBody(after: 8)))
            Stub.get("/feed").reply(.stream(from: feed).fault(.resetInBody(after: 6)))
            Stub.get("/none").reply(.stream(from: ResponseFeed()).fault(.closeAfterHead))
            Stub.get("/short").reply(.stream("one\n").fault(.closeInBody(after: 8)))
            Stub.get("/negative").reply(.text("one\n").fault(.closeInBody(after: -1)))
        }
        for text in ["one\n", "two\n", "three\n"] { feed.send(text) }
        feed.finish()
        let rows = [("cut", "one\ntwo\n"), ("feed", "one\ntw"), ("none", ""), ("short", "one\n"), ("negative", "")]
        for (path, expected) in rows {
            var content = ""
            var failure: AFError?
            for await event in session.streamRequest("\(api)/\(path)").streamTask().streamingStrings() {
                content += event.value ?? ""
                failure = failure ?? event.completion?.error
            }
            #expect(content == expected)
            #expect((failure?.underlyingError as? URLError)?.code == .networkConnectionLost)
        }
        #expect(clock.elapsed == .zero)
    }

    @Test("a throttled answer takes its time on the clock")
    func throttle() async throws {
        let clock = TestClock.automatic
        let content = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0) })
        let session = Session.stubbed(clock: clock) {
            Stub.any().reply(.data(content).fault(.throttle(bytesPerSecond: 1000)))
        }
        #expect(try await session.request("\(api)/").serializingData().value == content)
        #expect(clock.elapsed == .milliseconds(4900))
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
