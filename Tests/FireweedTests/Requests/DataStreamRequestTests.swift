import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Streams", .timeLimit(.minutes(1)))
struct DataStreamRequestTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    @Test("a closure gets every piece and then one completion")
    func closure() async throws {
        let counts = ProtectedList<Int>()
        let completion = await withCheckedContinuation { continuation in
            session.streamRequest(server.url("/bytes/1000000")).validate().responseStream(on: .global()) { stream in
                switch stream.event {
                case .stream(.success(let data)): counts.append(data.count)
                case .complete(let completion): continuation.resume(returning: completion)
                }
            }
        }
        #expect(counts.all.reduce(0, +) == 1_000_000)
        #expect(completion.error == nil && completion.response?.statusCode == 200)
    }

    @Test("an async sequence gets every byte, and ends with the completion")
    func sequence() async throws {
        var count = 0
        var completions = 0
        for await stream in session.streamRequest(server.url("/bytes/10000000")).streamTask().streamingData() {
            count += stream.value?.count ?? 0
            if stream.completion != nil { completions += 1 }
        }
        #expect(count == 10_000_000)
        #expect(completions == 1)
    }

    @Test("characters that are split between two pieces stay whole")
    func splitCharacters() async throws {
        let text = "aé∮😀z"
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n")]
                + text.utf8.map { .sendData(Data([$0])) } + [.close])
        var parts: [String] = []
        for await stream in session.streamRequest(server.url()).streamTask().streamingStrings() {
            if let value = stream.value { parts.append(value) }
        }
        #expect(parts.joined() == text)
    }

    @Test("a reader that stops reading stops the socket, and memory stays flat")
    func backPressure() async throws {
        let request = session.streamRequest(server.url("/bytes/1073741824"))
        var iterator = request.streamTask().streamingData().makeAsyncIterator()
        var read = 0
        while read < 1 << 20 { read += await iterator.next()?.value?.count ?? 1 << 20 }
        // The server goes on until the buffers between us are full, and no further.
        let sent = request.task?.countOfBytesReceived ?? 0
        #expect(sent < 8 << 20)
        request.cancel()
    }

    @Test("breaking out of the sequence cancels the request")
    func earlyExit() async throws {
        let request = session.streamRequest(server.url("/drip?bytes=100&duration=60"))
        for await _ in request.streamTask().streamingData() { break }
        try await server.events.next(.connectionClosed)
        #expect(request.isCancelled)
    }

    @Test("a value that cannot be decoded ends the request where that is wanted", arguments: [true, false])
    func undecodable(cancels: Bool) async throws {
        let request = session.streamRequest(server.url("/robots.txt"), automaticallyCancelOnStreamError: cancels)
        var failures = 0
        var end: AFError?
        for await stream in request.streamTask().streamingDecodables(Anything.self) {
            if stream.error != nil { failures += 1 }
            if let completion = stream.completion { end = completion.error }
        }
        #expect(failures == 1)
        #expect((end == nil) == !cancels)
    }
}
