import Testing

@testable import FireweedTransport

@Suite("Flood guard (RFC 9113 §10.5)")
struct FloodGuardTests {
    private static let limit = 900

    /// A frame that is sent again and again, and whether that is a flood; stream 1 is open, stream 3 is not.
    private static let rows: [(name: String, frame: [UInt8], isFlood: Bool)] = [
        ("PING", Frames.frame(Frames.ping, [UInt8](repeating: 0, count: 8)), true),
        ("SETTINGS", Frames.frame(Frames.settings), true),
        ("RST_STREAM", Frames.frame(Frames.reset, stream: 1, Frames.number(8)), true),
        ("WINDOW_UPDATE", Frames.frame(Frames.window, Frames.number(1)), true),
        ("PRIORITY", Frames.frame(Frames.priority, stream: 1, [0, 0, 0, 0, 1]), true),
        ("GOAWAY", Frames.frame(Frames.goAway, Frames.number(0) + Frames.number(0)), true),
        ("empty DATA", Frames.content(""), true),
        ("DATA with padding alone", Frames.frame(Frames.data, Frames.padded, stream: 1, [3, 0, 0, 0]), true),
        ("empty CONTINUATION", Frames.frame(Frames.continuation, stream: 1), true),
        ("CONTINUATION of a byte", Frames.frame(Frames.continuation, stream: 1, [0x88]), true),
        ("HEADERS without fields", Frames.head([]), true),
        ("HEADERS with a priority alone", Frames.frame(Frames.headers, 0x24, stream: 1, [0, 0, 0, 0, 1]), true),
        ("HEADERS with padding alone", Frames.frame(Frames.headers, 0x0C, stream: 1, [2, 0, 0]), true),
        ("CONTINUATION of a stream that is not open", Frames.frame(Frames.continuation, stream: 3, [0x88]), true),
        ("an unknown frame", Frames.frame(0x42, stream: 1, [1, 2, 3]), true),
        ("DATA of a stream that is not open", Frames.content(stream: 3, "hello"), true),
        ("HEADERS of a stream that is not open", Frames.head(stream: 3, Frames.field("a", "b")), true),
        ("DATA", Frames.content("a"), false),
        ("DATA with padding", Frames.frame(Frames.data, Frames.padded, stream: 1, [2, 65, 0, 0]), false),
        ("HEADERS", Frames.head(Frames.field("a", "b")), false),
    ]

    private func survives(_ bytes: [UInt8], pieces: Int, prepare: (inout FloodGuard) -> Void = { _ in }) -> Bool {
        var floodGuard = FloodGuard(limit: Self.limit)
        prepare(&floodGuard)
        return stride(from: 0, to: bytes.count, by: pieces).allSatisfy { start in
            bytes[start..<min(start + pieces, bytes.count)].withUnsafeBytes { piece in
                floodGuard.read(piece) { stream in stream == 1 ? .open : .closed }
            }
        }
    }

    @Test("a limit holds for all of them, wherever the bytes are cut", arguments: rows)
    func flood(row: (name: String, frame: [UInt8], isFlood: Bool)) {
        let many = Array(repeatElement(row.frame, count: 101).joined())
        for pieces in [1, 7, 16, many.count] { #expect(survives(many, pieces: pieces) != row.isFlood, "\(pieces)") }
        // Content in between begins the count anew.
        let mixed = Array(repeatElement(row.frame + Frames.content("a"), count: 101).joined())
        #expect(survives(mixed, pieces: 13))
    }

    @Test("what was on its way for a cancelled stream is no flood")
    func stray() {
        let late = Array(repeatElement(Frames.content(stream: 3, "hello"), count: 100).joined())
        #expect(!survives(late, pieces: 64))
        let isAllowed = survives(late, pieces: 64, prepare: { floodGuard in floodGuard.allowStray(late.count) })
        #expect(isAllowed)
    }

    @Test("an upload is answered with frames that bring nothing")
    func upload() {
        var floodGuard = FloodGuard(limit: Self.limit)
        for _ in 0..<1000 {
            floodGuard.didSend(16384)
            let isWithin = Frames.frame(Frames.window, Frames.number(16384)).withUnsafeBytes { piece in
                floodGuard.read(piece) { _ in .open }
            }
            #expect(isWithin)
        }
    }
}

extension Frames {
    static func frame(_ type: UInt8, _ payload: [UInt8]) -> [UInt8] { frame(type, 0, stream: 0, payload) }
    static func head(_ fields: [UInt8]) -> [UInt8] { head(stream: 1, fields) }
}
