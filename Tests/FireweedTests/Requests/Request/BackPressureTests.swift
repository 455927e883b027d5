import Dispatch
import Fireweed
import FixtureServer
import Foundation
import Testing

// Counted where the bytes leave, since what the reader sees proves nothing.
@Suite("Back-pressure of streams", .timeLimit(.minutes(TestTimeouts.minutes)), .serialized)
struct BackPressureTests {
    private static let gibibyte = 1 << 30
    private static let mebibyte = 1 << 20
    /// What our buffers may have taken in beyond what was read.
    private static let intake = 4 << 20
    /// What memory may grow by, less than what could come: the tests that run beside these take some hundred MiB, too.
    private static let memoryKibibytes = 640 * 1024

    let session = Session.isolated()

    private func server(
        _ piece: String = String(repeating: "x", count: 65_536), byteCount: Int = gibibyte
    ) throws -> ScriptedServer {
        let count = byteCount / piece.utf8.count
        return try ScriptedServer.start(
            [
                .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: \(count * piece.utf8.count)\r\n\r\n"),
                .sendRepeatedly(piece, count: count), .close,
            ])
    }

    /// Waits until nothing leaves any more, with more sent than `byteCount`; says how much was sent.
    private func stall(of server: ScriptedServer, after byteCount: Int) async throws -> Int {
        let event = try await server.events.first {
            if case .stalled(_, let sent) = $0 { sent > byteCount } else { false }
        }
        if case .stalled(_, let sent) = event { return sent }
        return 0
    }

    @Test("of a GiB, a reader that rests gets what it asked for, and little more leaves the server")
    func sequence() async throws {
        let server = try server()
        let before = ResidentMemory.kibibytes
        let request = session.streamRequest(server.url())
        var iterator = request.streamTask().streamingData().makeAsyncIterator()
        var read = 0
        var sent = 0
        for goal in [1, 4, 8] {
            while read < goal * Self.mebibyte { read += try #require(await iterator.next()?.value?.count) }
            sent = try await stall(of: server, after: max(sent, read))
            #expect(sent < read + LoopbackSlack.byteCount)
            #expect(try #require(request.task).countOfBytesReceived < read + Self.intake)
            #expect(ResidentMemory.kibibytes - before < Self.memoryKibibytes)
        }
        request.cancel()
        try await server.events.next(.closedByPeer(0))
    }

    @Test("64 MiB go through a reader that keeps up, in flat memory")
    func throughput() async throws {
        let server = try server(byteCount: 64 << 20)
        let before = ResidentMemory.kibibytes
        var read = 0
        var highest = 0
        for await stream in session.streamRequest(server.url()).streamTask().streamingData() {
            let count = stream.value?.count ?? 0
            if (read + count) >> 24 != read >> 24 { highest = max(highest, ResidentMemory.kibibytes) }
            read += count
        }
        #expect(read == 64 << 20)
        #expect(highest - before < Self.memoryKibibytes)
    }

    @Test("a handler that does not return stops the server, which continues where it stopped")
    func closure() async throws {
        let server = try server()
        let gate = DispatchGroup()
        gate.enter()
        let counts = ProtectedList<Int>()
        let request = session.streamRequest(server.url())
        let (ends, end) = AsyncStream<AFError?>.makeStream()
        request.responseStream(on: DispatchQueue(label: "slow")) { stream in
            gate.wait()
            if let data = stream.value { counts.append(data.count) }
            if counts.all.count == 100 { stream.cancel() }
            if let completion = stream.completion { end.yield(completion.error) }
        }
        #expect(try await stall(of: server, after: 0) < LoopbackSlack.byteCount)
        #expect(try #require(request.task).countOfBytesReceived < Self.intake)
        gate.leave()
        for await error in ends {
            #expect(error?.isExplicitlyCancelledError == true)
            break
        }
        #expect(counts.all.count == 100)
    }

    @Test("a reader of lines sets the pace", arguments: ["a line of text\n", "\n"])
    func lines(line: String) async throws {
        let server = try server(String(repeating: line, count: 65_536 / line.utf8.count))
        let before = ResidentMemory.kibibytes
        var iterator = session.streamRequest(server.url()).lines().makeAsyncIterator()
        for _ in 0..<1_000 { #expect(try await iterator.next() == String(line.dropLast())) }
        let sent = try await stall(of: server, after: 0)
        #expect(sent < LoopbackSlack.byteCount)
        // Many short lines take more memory than their bytes, and that is reckoned with.
        #expect(ResidentMemory.kibibytes - before < Self.memoryKibibytes)
        var wrong = 0
        let expected = String(line.dropLast())
        for _ in 0..<20_000 where try await iterator.next() != expected { wrong += 1 }
        #expect(wrong == 0)
    }

    @Test("a reader of an InputStream sets the pace")
    func inputStream() async throws {
        let server = try server()
        let request = session.streamRequest(server.url())
        let input = try #require(request.asInputStream())
        let sent = try await stall(of: server, after: 0)
        #expect(sent < LoopbackSlack.byteCount)
        let read = await Self.read(24 << 20, from: input)
        #expect(try await stall(of: server, after: max(sent, read)) < read + LoopbackSlack.byteCount)
        #expect(try #require(request.task).countOfBytesReceived < read + Self.intake)
        request.cancel()
        try await server.events.next(.closedByPeer(0))
    }

    /// Reads at least so many bytes, on a thread of its own: reading waits.
    private static func read(_ byteCount: Int, from input: InputStream) async -> Int {
        nonisolated(unsafe) let input = input  // handed over to the thread
        return await withCheckedContinuation { continuation in
            Thread {
                input.open()
                var buffer = [UInt8](repeating: 0, count: 65_536)
                var read = 0
                while read < byteCount, case let count = input.read(&buffer, maxLength: buffer.count), count > 0 {
                    read += count
                }
                continuation.resume(returning: read)
            }.start()
        }
    }
}
