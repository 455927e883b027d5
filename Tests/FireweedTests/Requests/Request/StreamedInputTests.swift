import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("A stream's content as an InputStream", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StreamedInputTests {
    let session = Session.isolated()

    /// Reads to the end on a thread of its own, since reading waits.
    private func read(_ input: InputStream, by size: Int = 4_096) async -> (data: Data, last: Int) {
        nonisolated(unsafe) let input = input  // handed over to the thread
        return await withCheckedContinuation { continuation in
            Thread {
                input.open()
                var data = Data()
                var buffer = [UInt8](repeating: 0, count: size)
                while true {
                    let count = input.read(&buffer, maxLength: size)
                    guard count > 0 else { return continuation.resume(returning: (data, count)) }
                    data.append(contentsOf: buffer[..<count])
                }
            }.start()
        }
    }

    @Test("all of the content can be read, in whatever portions", arguments: [1, 7, 1_024, 1_000_000])
    func whole(size: Int) async throws {
        let server = try FixtureServer.start()
        let path = size == 1 ? "/bytes/5000" : "/bytes/3000000"
        let expected = await session.request(server.url(path)).serializingData().response.data
        let input = try #require(session.streamRequest(server.url(path)).asInputStream(bufferSize: size))
        #expect(input.streamStatus == .notOpen)
        let outcome = await read(input, by: size)
        #expect(outcome.data == expected && outcome.last == 0)
        #expect(input.streamStatus == .atEnd && input.streamError == nil && !input.hasBytesAvailable)
    }

    @Test("a failure is the stream's error, after what had come")
    func failure() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .close])
        let input = try #require(session.streamRequest(server.url()).asInputStream())
        let outcome = await read(input)
        #expect(outcome.data == Data("abc".utf8) && outcome.last == -1)
        #expect((input.streamError as? AFError)?.urlErrorCode == .networkConnectionLost)
        #expect(input.streamStatus == .error)
    }

    @Test("a failed validation is a failure")
    func validation() async throws {
        let server = try FixtureServer.start()
        let request = session.streamRequest(server.url("/status/404"), shouldAutomaticallyResume: false).validate()
        let outcome = await read(try #require(request.asInputStream()))
        #expect(outcome.last == -1)
    }

    @Test("closing the stream while bytes come does not cancel the request")
    func closedEarly() async throws {
        let server = try FixtureServer.start()
        let request = session.streamRequest(server.url("/bytes/30000000"))
        let input = try #require(request.asInputStream())
        input.open()
        var byte: UInt8 = 0
        #expect(input.read(&byte, maxLength: 1) == 1)
        input.close()
        #expect(input.read(&byte, maxLength: 1) == -1)
        for await _ in request.httpResponses() {}
        #expect(request.isFinished && request.error == nil)
    }

    @Test("dropping it unread leaves nothing behind")
    func dropped() async throws {
        let server = try FixtureServer.start()
        weak var gone: DataStreamRequest?
        do {
            let request = session.streamRequest(server.url("/bytes/30000000"))
            gone = request
            _ = request.asInputStream()
        }
        await eventually("the request is released") { gone == nil }
    }

    @Test("a second one takes over, and the first one ends")
    func second() async throws {
        let server = try FixtureServer.start()
        let request = session.streamRequest(server.url("/bytes/3000000"), shouldAutomaticallyResume: false)
        let (first, second) = (try #require(request.asInputStream()), try #require(request.asInputStream()))
        async let one = read(first)
        async let two = read(second)
        let outcomes = await (one, two)
        #expect(outcomes.0.last == 0 && outcomes.1.last == 0)
        #expect(outcomes.0.data.count + outcomes.1.data.count >= 3_000_000)
    }

    @Test("cancelling wakes a reader that waits")
    func cancelled() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send("HTTP/1.1 200 OK\r\n\r\n"), .hold])
        let request = session.streamRequest(server.url())
        let input = try #require(request.asInputStream())
        async let outcome = read(input)
        try await server.events.first { if case .head = $0 { true } else { false } }
        request.cancel()
        #expect(await outcome.last == -1)
    }
}
