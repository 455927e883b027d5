import Dispatch
import Fireweed
import FixtureServer
import Foundation
import Testing

// Counted where the bytes leave: what has not left cannot be in memory. `SocketMemoryTests` looks at the memory of a
// whole process.
@Suite("Back-pressure of WebSockets", .timeLimit(.minutes(TestTimeouts.minutes)), .serialized)
struct WebSocketBackPressureTests {
    private static let mebibyte = 1 << 20
    private static let message = 1 << 16

    private let session = Session.isolated()
    private let stalls = EventLog<Int>()

    /// A peer that sends so many bytes in messages of 64 KiB, as fast as they are taken, and then closes.
    private func peer(byteCount: Int) throws -> WebSocketPeer {
        let frame = WebSocketPeer.Frame(2, [UInt8](repeating: 7, count: Self.message))
        return try WebSocketPeer { [stalls] connection in
            try connection.sendRepeatedly(frame, count: byteCount / Self.message) { stalls.note($0) }
            try connection.send(.init(8, [0x03, 0xE8]))
            connection.waitForEnd()
        }
    }

    @Test(
        "of 256 MiB, a paused sequence gets what it asked for, and little more leaves the server; then it continues")
    func sequence() async throws {
        let peer = try peer(byteCount: 1 << 28)
        let request = session.webSocketRequest(to: peer.url)
        var iterator = request.webSocketTask().streamingMessages().makeAsyncIterator()
        var read = 0
        var sent = 0
        for goal in [1, 4, 8] {
            while read < goal * Self.mebibyte {
                guard case .data(let data)? = await iterator.next() else { break }
                read += data.count
            }
            let least = max(sent, read)
            sent = try await stalls.first { $0 > least }
            #expect(sent < read + LoopbackSlack.byteCount)
        }
        while case .data(let data)? = await iterator.next() { read += data.count }
        #expect(read == 1 << 28 && request.error == nil)
    }

    @Test("a handler that does not return stops the server; then every message comes")
    func handler() async throws {
        let count = 1024
        let peer = try peer(byteCount: count * Self.message)
        let gate = DispatchGroup()
        gate.enter()
        let counts = ProtectedList<Int>()
        let (ends, end) = AsyncStream<AFError?>.makeStream()
        let request = session.webSocketRequest(to: peer.url)
        request.streamMessageEvents(on: DispatchQueue(label: "slow")) { event in
            gate.wait()
            if case .data(let data)? = event.message { counts.append(data.count) }
            if case .completed(let completion) = event.kind { end.yield(completion.error) }
        }
        #expect(try await stalls.first { $0 > 0 } < LoopbackSlack.byteCount)
        gate.leave()
        for await error in ends {
            #expect(error == nil)
            break
        }
        #expect(counts.all == [Int](repeating: Self.message, count: count))
    }

    @Test("a slow handler beside a fast sequence holds both up, and neither loses anything")
    func slowest() async throws {
        let count = 1024
        let peer = try peer(byteCount: count * Self.message)
        let gate = DispatchGroup()
        gate.enter()
        let counts = ProtectedList<Int>()
        let request = session.webSocketRequest(to: peer.url, shouldAutomaticallyResume: false)
        request.streamMessages(on: DispatchQueue(label: "slow")) { _ in
            gate.wait()
            counts.append(1)
        }
        // The sequence begins before the request: it gets what comes from then on.
        let messages = request.webSocketTask().streamingMessages()
        async let read = {
            var read = 0
            for await _ in messages { read += 1 }
            return read
        }()
        request.resume()
        #expect(try await stalls.first { $0 > 0 } < LoopbackSlack.byteCount)
        gate.leave()
        #expect(await read == count)
        await eventually("the handler has had its messages") { counts.all.count == count }
    }
}
