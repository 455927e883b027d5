// Content of operations that streams in both directions.

import Fireweed
import FireweedOpenAPI
import FireweedTesting
import FixtureServer
import Foundation
import HTTPTypes
import OpenAPIRuntime
import Synchronization
import Testing

@Suite("Streaming of generated clients", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StreamingTests {
    private let transport = SessionTransport()

    private func send(
        _ body: HTTPBody? = nil, to server: ScriptedServer
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await transport.send(
            HTTPRequest(method: body == nil ? .get : .post, scheme: nil, authority: nil, path: "/"), body: body,
            baseURL: server.url(""), operationID: "operation")
    }

    @Test(
        "each piece of content is answered before the next is sent",
        arguments: [(1, 200), (1_000, 50), (65_536, 20), (1_000_000, 5), (10_000_000, 2)])
    func echo(byteCount: Int, count: Int) async throws {
        let piece = Data(repeating: 0x61, count: byteCount)
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(byteCount * count)\r\n\r\n"
        let echo = (0..<count).flatMap { _ in [ScriptedServer.Action.receive(byteCount: byteCount), .sendData(piece)] }
        let server = try ScriptedServer.start(scripts: [[.receiveHead, .send(head)] + echo + [.hold]])
        let (input, continuation) = AsyncStream.makeStream(of: HTTPBody.ByteChunk.self)
        let body = HTTPBody(input, length: .known(Int64(byteCount * count)))
        let (response, answer) = try await send(body, to: server)
        #expect(response.status == .ok)
        var iterator = try #require(answer).makeAsyncIterator()
        for _ in 0..<count {
            continuation.yield(HTTPBody.ByteChunk(piece))
            var received = 0
            while received < byteCount { received += try #require(try await iterator.next()).count }
            #expect(received == byteCount)
        }
        continuation.finish()
        #expect(try await iterator.next() == nil)
    }

    @Test("a server may answer before any content of the request")
    func earlyAnswer() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), .receive(byteCount: 3), .send("hello"),
            .hold,
        ])
        let (input, continuation) = AsyncStream.makeStream(of: HTTPBody.ByteChunk.self)
        let (_, answer) = try await send(HTTPBody(input, length: .known(3)), to: server)
        continuation.yield([1, 2, 3])
        continuation.finish()
        #expect(try await String(collecting: try #require(answer), upTo: 5) == "hello")
    }

    @Test("a response waits for a slow reader, with about a megabyte")
    func responseBackPressure() async throws {
        let piece = String(repeating: "x", count: 64 * 1_024)
        let count = 3_200
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: \(piece.utf8.count * count)\r\n\r\n"),
            .sendRepeatedly(piece, count: count), .hold,
        ])
        let (_, answer) = try await send(to: server)
        let stalled = try await server.events.first { if case .stalled = $0 { true } else { false } }
        guard case .stalled(_, let byteCount) = stalled else { return }
        #expect(byteCount < LoopbackSlack.byteCount)
        var sum = 0
        for try await bytes in try #require(answer) { sum += bytes.count }
        #expect(sum == piece.utf8.count * count)
    }

    @Test("content of a request waits for a slow server")
    func requestBackPressure() async throws {
        let size = 64 * 1_024
        let count = 3_200
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let server = try ScriptedServer.start([
            .receiveHead, .receive(byteCount: 25 * size), .perform { arrival.yield() }, .wait(for: "go"),
            .receive(byteCount: (count - 25) * size), .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .hold,
        ])
        let pieces = CountedPieces(count: count, byteCount: size)
        async let sent = send(
            HTTPBody(pieces, length: .known(Int64(count * size)), iterationBehavior: .single), to: server)
        for await _ in arrivals { break }
        // The server reads no more: the number of pieces that are asked for comes to rest, below what buffers hold.
        try await pieces.restsBelow(25 + LoopbackSlack.byteCount / size)
        server.signal("go")
        #expect(try await sent.0.status == .ok)
        #expect(pieces.made == count)
    }

    @Test("a gibibyte goes up and down in little memory")
    func memory() async throws {
        let piece = String(repeating: "y", count: 1 << 20)
        let server = try ScriptedServer.start([
            .receiveHead, .receive(byteCount: 1 << 30),
            .send("HTTP/1.1 200 OK\r\nContent-Length: \(1 << 30)\r\n\r\n"), .sendRepeatedly(piece, count: 1_024), .hold,
        ])
        let before = try Memory.reset()
        let pieces = CountedPieces(count: 16 * 1_024, byteCount: 64 * 1_024)
        let (_, answer) = try await send(
            HTTPBody(pieces, length: .known(1 << 30), iterationBehavior: .single), to: server)
        var sum = 0
        for try await bytes in try #require(answer) { sum += bytes.count }
        #expect(sum == 1 << 30)
        #expect(try Memory.peak() - before < 40 << 20)
    }

    // MARK: Cancellation

    enum Moment: CaseIterable {
        case beforeHead, beforeContent, amidContent, beforeResponseContent, amidResponseContent, afterResponseContent
    }

    @Test("cancelling the task ends the operation with CancellationError", arguments: Moment.allCases)
    func cancel(at moment: Moment) async throws {
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc"
        let script: [ScriptedServer.Action] =
            switch moment {
            case .beforeHead, .beforeContent: [.receiveHead, .hold]
            case .amidContent: [.receiveHead, .receive(byteCount: 3), .hold]
            case .beforeResponseContent, .amidResponseContent:
                [.receiveHead, .receive(byteCount: 6), .send(response), .hold]
            case .afterResponseContent: [.receiveHead, .receive(byteCount: 6), .send(response + "def"), .hold]
            }
        let server = try ScriptedServer.start(scripts: [script])
        let (input, continuation) = AsyncStream.makeStream(of: HTTPBody.ByteChunk.self)
        let (cancels, canceller) = AsyncStream.makeStream(of: Void.self)
        if moment != .beforeHead, moment != .beforeContent { continuation.yield([1, 2, 3]) }
        if moment != .beforeHead, moment != .beforeContent, moment != .amidContent { continuation.yield([4, 5, 6]) }
        let task = Task {
            if moment == .beforeHead {
                canceller.yield()
                await cancelled()
            }
            let (_, answer) = try await send(HTTPBody(input, length: .known(6)), to: server)
            if moment == .beforeResponseContent {
                canceller.yield()
                await cancelled()
            }
            var text = ""
            for try await bytes in try #require(answer) {
                text += String(decoding: bytes, as: UTF8.self)
                if moment == .amidResponseContent, text == "abc" { canceller.yield() }
            }
            if moment == .afterResponseContent {
                canceller.yield()
                await cancelled()
            }
            return text
        }
        switch moment {
        case .beforeContent, .amidContent:
            try await server.events.first { if case .head = $0 { true } else { false } }
        case _:
            for await _ in cancels { break }
        }
        task.cancel()
        if moment == .afterResponseContent {
            #expect(try await task.value == "abcdef")
            continuation.finish()
            return
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        continuation.finish()
        if moment == .beforeHead {
            #expect(server.events.events.isEmpty)
        } else {
            try await server.events.first { $0 == .closedByPeer(0) }
        }
    }
}

/// Waits until the task is cancelled.
private func cancelled() async {
    for await _ in AsyncStream<Void>.makeStream().stream {}
}

/// Pieces of content, which are counted when they are asked for.
private final class CountedPieces: AsyncSequence, Sendable {
    typealias Element = HTTPBody.ByteChunk
    private let count: Int
    private let piece: HTTPBody.ByteChunk
    private let number = Mutex(0)

    init(count: Int, byteCount: Int) {
        self.count = count
        piece = HTTPBody.ByteChunk(repeating: 0x7A, count: byteCount)
    }

    var made: Int { number.withLock { $0 } }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }

    struct Iterator: AsyncIteratorProtocol {
        let pieces: CountedPieces

        mutating func next() async -> HTTPBody.ByteChunk? {
            pieces.number.withLock { number in
                guard number < pieces.count else { return nil }
                number += 1
                return pieces.piece
            }
        }
    }

    /// Waits until no piece is asked for during many turns of the thread pool; fails where there are too many.
    func restsBelow(_ limit: Int) async throws {
        var (last, turns) = (made, 0)
        while turns < 2_000 {
            await Task.yield()
            (last, turns) = made == last ? (last, turns + 1) : (made, 0)
            guard last < limit else { break }
        }
        #expect(last < limit)
    }
}

/// The memory of this process.
private enum Memory {
    /// Forgets the peak so far, and returns the present size in bytes.
    static func reset() throws -> Int {
        try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
        return try value(of: "VmRSS")
    }

    /// The largest size since then, in bytes.
    static func peak() throws -> Int { try value(of: "VmHWM") }

    private static func value(of name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") } ?? ""
        return (Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0) << 10
    }
}
