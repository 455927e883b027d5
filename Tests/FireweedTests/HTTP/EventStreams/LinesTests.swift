import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Lines of a stream", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LinesTests {
    let session = Session.isolated()

    struct Line: Decodable, Sendable, Equatable {
        let id: Int
    }

    private func server(_ pieces: String..., length: Int? = nil) throws -> ScriptedServer {
        let count = length ?? pieces.reduce(0) { $0 + $1.utf8.count }
        return try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")]
                + pieces.map { .send($0) } + [.close])
    }

    private func gather<Element>(
        _ sequence: DataStreamRequest.Elements<Element>
    ) async -> (elements: [Element], error: AFError?) {
        var elements: [Element] = []
        do throws(AFError) {
            for try await element in sequence { elements.append(element) }
            return (elements, nil)
        } catch {
            return (elements, error)
        }
    }

    @Test("lines come without their ends, the last one too when it has none")
    func lines() async throws {
        let server = try server("one\r", "\ntw", "o\r\n\r\nthr", "ee")
        let outcome = await gather(session.streamRequest(server.url()).lines())
        #expect(outcome.elements == ["one", "two", "", "three"])
        #expect(outcome.error == nil)
    }

    @Test("a line that was cut off by a failure is not handed out, and the failure is thrown")
    func cutOff() async throws {
        let server = try server("one\ntw", length: 100)
        let outcome = await gather(session.streamRequest(server.url()).lines())
        #expect(outcome.elements == ["one"])
        #expect(outcome.error?.urlErrorCode == .networkConnectionLost)
    }

    @Test("a failed validation is thrown at the end")
    func validation() async throws {
        let server = try FixtureServer.start()
        let outcome = await gather(session.streamRequest(server.url("/status/404")).validate().lines())
        #expect(outcome.error?.responseCode == 404)
    }

    @Test("each line of JSON is a value")
    func json() async throws {
        let server = try FixtureServer.start()
        let outcome = await gather(session.streamRequest(server.url("/stream/100")).jsonLines(of: Line.self))
        #expect(outcome.elements == (0..<100).map { Line(id: $0) })
        #expect(outcome.error == nil)
    }

    @Test("empty lines and a byte order mark are no values, and CR is white space")
    func blankLines() async throws {
        let server = try server("\u{FEFF}\n{\"id\"", ":1}\r\n \t\r\n{\"id\":\r2}\n\n{\"id\":3}")
        let outcome = await gather(session.streamRequest(server.url()).jsonLines(of: Line.self))
        #expect(outcome.elements.map(\.id) == [1, 2, 3])
    }

    @Test("the decoder is the caller's")
    func decoder() async throws {
        struct Snake: Decodable, Sendable { let firstName: String }
        let server = try server("{\"first_name\":\"Ada\"}\n")
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let outcome = await gather(session.streamRequest(server.url()).jsonLines(of: Snake.self, decoder: decoder))
        #expect(outcome.elements.first?.firstName == "Ada")
    }

    @Test("a line that cannot be decoded ends the sequence and the request")
    func undecodable() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\n\r\n{\"id\":1}\nnonsense\n{\"id\":2}\n"), .hold])
        let request = session.streamRequest(server.url())
        let outcome = await gather(request.jsonLines(of: Line.self))
        #expect(outcome.elements.map(\.id) == [1])
        #expect(outcome.error?.underlyingError is DecodingError)
        try await server.events.next(.closedByPeer(0))
        #expect(request.isCancelled)
    }

    @Test("a line that is too long ends the sequence with an error that says so")
    func tooLong() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\n\r\nshort\n"), .sendRepeatedly("x", count: 1 << 30)])
        let outcome = await gather(session.streamRequest(server.url()).lines(maximumLineByteCount: 100_000))
        #expect(outcome.elements == ["short"])
        #expect(outcome.error?.underlyingError as? StreamedContentError == .lineTooLong(limit: 100_000))
        #expect(outcome.error?.localizedDescription.contains("100000") == true)
        try await server.events.next(.closedByPeer(0))
    }

    @Test("dropping the iterator cancels the request, unless that was turned off", arguments: [true, false])
    func dropped(cancels: Bool) async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\none\n"), .wait(for: "go"),
                .send("two\n"), .close,
            ])
        let request = session.streamRequest(server.url())
        let finished = Task {
            for await _ in request.httpResponses() {}
        }
        for try await line in request.lines(automaticallyCancelling: cancels) {
            #expect(line == "one")
            break
        }
        #expect(request.isCancelled == cancels)
        server.signal("go")
        await finished.value
        #expect(request.isFinished == !cancels)
        #expect(request.metrics != nil)
    }

    @Test("cancelling the task that reads cancels the request, and throws")
    func cancelledTask() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send("HTTP/1.1 200 OK\r\n\r\none\n"), .hold])
        let request = session.streamRequest(server.url())
        let (read, continuation) = AsyncStream<String>.makeStream()
        let task = Task { () -> AFError? in
            do throws(AFError) {
                for try await line in request.lines() { continuation.yield(line) }
                return nil
            } catch {
                return error
            }
        }
        for await _ in read { break }
        task.cancel()
        #expect(await task.value?.isExplicitlyCancelledError == true)
        try await server.events.next(.closedByPeer(0))
    }
}
