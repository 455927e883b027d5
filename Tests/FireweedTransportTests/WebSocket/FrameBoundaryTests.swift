import Foundation
import Testing

@testable import FireweedTransport

@Suite("Boundaries of frames")
struct FrameBoundaryTests {
    /// The lots in which bytes that are all there, or come one by one, may be given.
    private func lots(_ bytes: [UInt8], oneByOne: Bool) -> [Int] {
        var boundary = FrameBoundary()
        var lots: [Int] = []
        var (start, end) = (0, oneByOne ? 0 : bytes.count)
        while start < bytes.count {
            let count = boundary.allowance(end - start)
            if count == 0 {
                guard end < bytes.count else { break }
                end += 1
                continue
            }
            bytes[start..<(start + count)].withUnsafeBytes { boundary.gave($0) }
            lots.append(count)
            start += count
        }
        return lots
    }

    @Test(
        "no lot has more than the rest of a header or of a payload, and a close frame's payload is whole",
        arguments: [
            ([0x81, 3, 1, 2, 3, 0x81, 1, 9], [2, 3, 2, 1], [1, 1, 1, 1, 1, 1, 1, 1]),
            ([0x89, 0, 0x89, 0], [2, 2], [1, 1, 1, 1]),
            ([0x82, 126, 0, 2, 7, 8], [2, 2, 2], [1, 1, 1, 1, 1, 1]),
            ([0x82, 127, 0, 0, 0, 0, 0, 0, 0, 1, 7], [2, 8, 1], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
            ([0x82, 0x82, 1, 2, 3, 4, 5, 6], [2, 4, 2], [1, 1, 1, 1, 1, 1, 1, 1]),  // masked, which wslay refuses
            ([0x88, 4, 3, 0xE8, 0xC3, 0xA9, 0x81], [2, 4, 1], [1, 1, 4, 1]),
            ([0x88, 4, 3, 0xE8], [2], [1, 1]),  // waits for the rest
            ([0x88, 0, 0x88, 0], [2, 2], [1, 1, 1, 1]),
        ] as [([UInt8], [Int], [Int])])
    func allowance(bytes: [UInt8], whole: [Int], single: [Int]) {
        #expect(lots(bytes, oneByOne: false) == whole)
        #expect(lots(bytes, oneByOne: true) == single)
    }

    /// Hears how a WebSocket ends.
    private final class Listener: FrameReceiver {
        var close: (code: UInt16, reason: Data)?

        func frames(didReceive message: WebSocketMessage) -> Bool { true }
        func frames(didReceivePong payload: [UInt8]) {}
        func frames(didReceiveClose code: UInt16, reason: Data) { close = (code, reason) }
    }

    @Test("a reason for closing that comes in pieces is read as a whole", arguments: [1, 2, 3, 5, 100])
    func reasonInPieces(size: Int) throws {
        let listener = Listener()
        let engine = FrameEngine(receiver: listener, maximumMessageByteCount: 1000, compression: nil)
        let reason = Data("schön, grüß Gott".utf8)
        let frame = [0x88, UInt8(reason.count + 2), 0x03, 0xE8] + Array(reason)
        for start in stride(from: 0, to: frame.count, by: size) {
            try frame[start..<min(start + size, frame.count)].withUnsafeBytes { try engine.receive($0) }
        }
        #expect(listener.close?.code == 1000 && listener.close?.reason == reason)
    }

    @Test("a reason for closing that is no UTF-8 is refused, in pieces as well", arguments: [1, 3, 100])
    func brokenReason(size: Int) throws {
        let listener = Listener()
        let engine = FrameEngine(receiver: listener, maximumMessageByteCount: 1000, compression: nil)
        let frame: [UInt8] = [0x88, 5, 0x03, 0xE8, 0x62, 0xFF, 0x65]
        let error = #expect(throws: FrameEngine.Violation.self) {
            for start in stride(from: 0, to: frame.count, by: size) {
                try frame[start..<min(start + size, frame.count)].withUnsafeBytes { try engine.receive($0) }
            }
        }
        #expect(error?.closeCode == 1007 && listener.close == nil)
    }
}
