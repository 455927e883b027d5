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

    @Test("a close code that was registered after RFC 6455 arrives, and is repeated", arguments: [1012, 1013, 1014])
    func registeredCloseCode(code: UInt16) throws {
        for size in [1, 100] {
            let listener = Listener()
            let engine = FrameEngine(receiver: listener, maximumMessageByteCount: 1000, compression: nil)
            let frame: [UInt8] = [0x88, 4, UInt8(code >> 8), UInt8(code & 0xFF), 0x68, 0x69]
            for start in stride(from: 0, to: frame.count, by: size) {
                try frame[start..<min(start + size, frame.count)].withUnsafeBytes { try engine.receive($0) }
            }
            #expect(listener.close?.code == code && listener.close?.reason == Data("hi".utf8))
            engine.pump()
            let sent = Array(engine.output[engine.outputStart...])
            try #require(sent.count == 10 && sent[0] == 0x88)
            #expect(UInt16(sent[6] ^ sent[2]) << 8 | UInt16(sent[7] ^ sent[3]) == code)
        }
        let listener = Listener()
        let engine = FrameEngine(receiver: listener, maximumMessageByteCount: 1000, compression: nil)
        let broken: [UInt8] = [0x88, 3, UInt8(code >> 8), UInt8(code & 0xFF), 0xFF]
        let error = #expect(throws: FrameEngine.Violation.self) {
            try broken.withUnsafeBytes { try engine.receive($0) }
        }
        #expect(error?.closeCode == 1007)
    }

    @Test("a frame that announces more than the limit is refused before its payload comes")
    func announcedLength() throws {
        let listener = Listener()
        func refusal(_ heads: [[UInt8]], compression: DeflateAgreement? = nil) -> UInt16? {
            let engine = FrameEngine(receiver: listener, maximumMessageByteCount: 1000, compression: compression)
            do throws(FrameEngine.Violation) {
                for head in heads {
                    try head.withUnsafeBufferPointer { (bytes) throws(FrameEngine.Violation) in
                        try engine.receive(UnsafeRawBufferPointer(bytes))
                    }
                }
                return nil
            } catch {
                return error.closeCode
            }
        }
        let content = [UInt8](repeating: 0x61, count: 600)
        #expect(refusal([[0x82, 126, 0x03, 0xE9]]) == 1009)
        #expect(refusal([[0x82, 126, 0x03, 0xE8]]) == nil)
        #expect(refusal([[0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]]) == 1009)
        // In fragments, of which an empty one is first; control frames do not count.
        let fragments: [[UInt8]] = [[0x02, 0], [0x00, 126, 0x02, 0x58] + content, [0x8A, 1, 0x61]]
        #expect(refusal(fragments + [[0x80, 126, 0x01, 0x91]]) == 1009)
        #expect(refusal(fragments + [[0x80, 126, 0x01, 0x90]]) == nil)
        // A message that has ended does not count either.
        let whole: [[UInt8]] = [[0x82, 126, 0x02, 0x58] + content]
        #expect(refusal(whole + whole + [[0x02, 0], [0x80, 126, 0x03, 0xE8]]) == nil)
        // What does not compress may become a little longer.
        let agreement = DeflateAgreement()
        #expect(refusal([[0xC2, 126, 0x04, 0x4C]], compression: agreement) == nil)
        #expect(refusal([[0xC2, 126, 0x07, 0xD0]], compression: agreement) == 1009)
    }
}
