import Foundation
import Testing

@testable import FireweedTransport

@Suite("Pings of a peer that does not read (RFC 6455 §5.5.3)")
struct PingFloodTests {
    private final class Listener: FrameReceiver {
        func frames(didReceive message: WebSocketMessage) -> Bool { true }
        func frames(didReceivePong payload: [UInt8]) {}
        func frames(didReceiveClose code: UInt16, reason: Data) {}
    }

    private func ping(_ number: Int) -> [UInt8] {
        [0x89, 125] + withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } + [UInt8](repeating: 0, count: 117)
    }

    /// The numbers in the frames of this opcode, which are masked and have a control frame's length.
    private func numbers(in bytes: [UInt8], opcode: UInt8) -> [UInt64] {
        var numbers: [UInt64] = []
        var rest = bytes[...]
        while rest.count >= 6 {
            let (first, length, mask) = (
                rest[rest.startIndex], Int(rest[rest.startIndex + 1] & 0x7F), Array(rest.dropFirst(2).prefix(4))
            )
            let payload = rest.dropFirst(6).prefix(min(8, length)).enumerated().map { $1 ^ mask[$0 % 4] }
            if first & 0x0F == opcode { numbers.append(payload.reduce(0) { $0 << 8 | UInt64($1) }) }
            rest = rest.dropFirst(6 + length)
        }
        return numbers
    }

    /// Everything that the engine still has to write.
    private func drained(_ engine: FrameEngine) -> [UInt8] {
        var bytes: [UInt8] = []
        while engine.outputStart < engine.output.count {
            bytes += engine.output[engine.outputStart...]
            engine.didWrite(engine.output.count - engine.outputStart)
            engine.pump()
        }
        return bytes
    }

    @Test("the latest ping is answered, and of the others as many as there is room for", arguments: [7, 64 * 1024])
    func flood(size: Int) throws {
        let listener = Listener()
        let engine = FrameEngine(receiver: listener, maximumMessageByteCount: 1000, compression: nil)
        let bytes = (1...50_000).flatMap(ping)
        for start in stride(from: 0, to: bytes.count, by: size) {
            try bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { try engine.receive($0) }
        }
        let output = drained(engine)
        let pongs = numbers(in: output, opcode: 10)
        #expect(output.count < 512 * 1024 && pongs.last == 50_000)
        #expect(pongs == Array(1...UInt64(pongs.count - 1)) + [50_000])
        // The peer reads again: each ping is answered.
        for number in 1...3 { try ping(number).withUnsafeBytes { try engine.receive($0) } }
        #expect(numbers(in: drained(engine), opcode: 10) == [1, 2, 3])
    }

    @Test("a ping that waits behind a message is answered when the message is out, the latest one alone")
    func behindMessage() throws {
        let listener = Listener()
        let engine = FrameEngine(receiver: listener, maximumMessageByteCount: 1000, compression: nil)
        _ = engine.queue(.binary(Data(count: 1 << 20)))
        for number in 1...1000 { try ping(number).withUnsafeBytes { try engine.receive($0) } }
        let output = drained(engine)
        #expect(numbers(in: Array(output.suffix(131)), opcode: 10) == [1000])
        #expect(output.count == (1 << 20) + 14 + 131)
    }

    @Test("of our own pings, those that cannot be sent are one: the latest")
    func ownPings() {
        let listener = Listener()
        let engine = FrameEngine(receiver: listener, maximumMessageByteCount: 1000, compression: nil)
        for number in UInt64(1)...100_000 { engine.queuePing(withUnsafeBytes(of: number.bigEndian) { Array($0) }) }
        let output = drained(engine)
        #expect(output.count < 512 * 1024 && numbers(in: output, opcode: 9).last == 100_000)
    }

    @Test(
        "a ping that breaks the protocol is refused, whichever way its bytes come", arguments: [1, 2, 1000],
        [[0x89, 126, 0, 126] + [UInt8](repeating: 0, count: 126), [0x09, 0], [0xC9, 0], [0x89, 0x80, 1, 2, 3, 4]]
            as [[UInt8]])
    func malformed(size: Int, bytes: [UInt8]) {
        let listener = Listener()
        let engine = FrameEngine(receiver: listener, maximumMessageByteCount: 1000, compression: nil)
        let error = #expect(throws: FrameEngine.Violation.self) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                try bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { try engine.receive($0) }
            }
        }
        #expect(error?.closeCode == 1002)
    }

    @Test(
        "a reason is cut at 123 bytes, at the end of a character (RFC 6455 §5.5)",
        arguments: [
            ("", ""), (String(repeating: "a", count: 123), String(repeating: "a", count: 123)),
            (String(repeating: "a", count: 124), String(repeating: "a", count: 123)),
            (String(repeating: "a", count: 122) + "é", String(repeating: "a", count: 122)),
            (String(repeating: "a", count: 121) + "€", String(repeating: "a", count: 121)),
            (String(repeating: "a", count: 120) + "😀", String(repeating: "a", count: 120)),
            (String(repeating: "a", count: 119) + "😀b", String(repeating: "a", count: 119) + "😀"),
        ])
    func reason(text: String, expected: String) {
        #expect(String(decoding: CloseReason.fitting(Data(text.utf8)), as: UTF8.self) == expected)
    }

    @Test("a reason that is not UTF-8 is cut at 123 bytes")
    func reasonOfBytes() {
        #expect(CloseReason.fitting(Data(repeating: 0x80, count: 200)).count == 123)
    }

    @Test(
        "seconds become nanoseconds without a trap",
        arguments: [
            (Double.infinity, 1_000_000_000_000_000_000), (.nan, 0), (-.infinity, 0), (-1, 0), (0, 0),
            (1.5, 1_500_000_000),
            (1e300, 1_000_000_000_000_000_000),
        ] as [(Double, UInt64)])
    func nanoseconds(seconds: Double, expected: UInt64) {
        #expect(seconds.nanoseconds == expected)
    }
}
