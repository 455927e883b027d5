import FixtureServer
import Foundation
import Testing

@testable import Fireweed

@Suite("Content coalescer", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ContentCoalescerTests {
    /// Sizes of pieces as they come, and of what is passed on; at the end the rest is passed on.
    @Test(
        "pieces of 16 KiB are gathered, and a shorter one ends what it belongs to",
        arguments: [
            ([5], [5]),
            ([5, 7, 9], [5, 7, 9]),
            ([16_384], [16_384]),
            ([16_384, 16_384, 100], [32_868]),
            ([16_384, 1, 2], [16_385, 2]),
            ([16_383, 16_384], [16_383, 16_384]),
            (Array(repeating: 16_384, count: 16), [262_144]),
            (Array(repeating: 16_384, count: 17), [262_144, 16_384]),
            (Array(repeating: 16_384, count: 33) + [3], [262_144, 262_144, 16_387]),
            ([65_536, 65_536], [65_536, 65_536]),
            ([16_384, 300_000], [316_384]),
            ([300_000, 4], [300_000, 4]),
        ])
    func sizes(_ pieces: [Int], _ expected: [Int]) {
        var gathered = ContentCoalescer()
        var (next, sizes, whole) = (UInt8(0), [Int](), Data())
        var sent = Data()
        for size in pieces {
            let piece = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) &+ next })
            next &+= 1
            sent += piece
            if let data = piece.withUnsafeBytes({ gathered.append($0) }) {
                sizes.append(data.count)
                whole += data
            }
        }
        if let rest = gathered.take() {
            sizes.append(rest.count)
            whole += rest
        }
        #expect(sizes == expected)
        #expect(whole == sent)
        #expect(gathered.take() == nil)
    }

    @Test("what was handed on stays as it is while its memory's like is used again")
    func independence() {
        var gathered = ContentCoalescer()
        var handedOn: [Data] = []
        for value in UInt8(0)..<40 {
            for _ in 0..<16 {
                let piece = [UInt8](repeating: value, count: 16_384)
                if let data = piece.withUnsafeBytes({ gathered.append($0) }) { handedOn.append(data) }
            }
        }
        #expect(handedOn.count == 40)
        for (value, data) in handedOn.enumerated() { #expect(data.allSatisfy { $0 == UInt8(value) }) }
    }

    @Test("chunks that come in one segment are values of their own")
    func chunks() async throws {
        let values = ["{\"n\":1}", "{\"n\":22}", "{\"n\":333}"]
        let chunks = values.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"), .hold,
        ])
        let session = Session.isolated()
        var pieces: [String] = []
        for await stream in session.streamRequest("http://127.0.0.1:\(server.port)/").streamTask().streamingStrings() {
            if let value = stream.value { pieces.append(value) }
        }
        #expect(pieces == values)
    }
}
