// WebSockets: the handshake's answer, frames, and compression.

import FireweedTransport
import Foundation

extension FuzzTarget {
    private static let key = WebSocketKey(bytes: [UInt8](repeating: 0, count: 16))

    static let webSocketHandshake = FuzzTarget("websocket-handshake") { bytes in
        let found = bytes.cuttings.map { HandshakeFound($0) }
        try expectEqual(found[0], found[1], "an answer does not depend on pieces")
        try expectEqual(found[0], found[2], "an answer does not depend on pieces")
        guard let head = found[0].head else { return }
        let controls = head.section.filter { $0 < 0x20 && $0 != 9 && $0 != 0x0D && $0 != 0x0A || $0 == 0x7F }
        try expect(controls.isEmpty, "a field holds no control characters")
        let offer = WebSocketCompression()
        guard
            let agreement = try? HandshakeAnswer.agreement(
                head: head, key: key, subprotocols: ["chat", "superchat"], compression: offer)
        else { return }
        try expectEqual(head.status, 101, "only 101 opens a WebSocket")
        try expectEqual(head.values(of: "sec-websocket-accept"), [key.accept], "the peer has read our key")
        try expect(agreement.subprotocol.map { ["chat", "superchat"].contains($0) } ?? true, "what we offer is chosen")
    }

    /// The offer in the first byte, then the values of fields, a line each.
    static let webSocketExtensions = FuzzTarget("websocket-extensions", maximumByteCount: 512) { bytes in
        var rest = bytes
        let choice = rest.takeByte()
        let offer = WebSocketCompression(
            allowsClientContextTakeover: choice & 1 == 0, allowsServerContextTakeover: choice & 2 == 0,
            clientMaximumWindowBits: choice & 4 == 0 ? nil : 8 + Int(choice >> 4) % 8,
            serverMaximumWindowBits: choice & 8 == 0 ? nil : 8 + Int(choice >> 4) % 8)
        guard let agreed = try? DeflateAgreement.answer(rest.textLines, to: offer) else { return }
        try expect((8...15).contains(agreed.clientWindowBits), "a window is in its range")
        try expect((8...15).contains(agreed.serverWindowBits), "a window is in its range")
        try expect(agreed.clientWindowBits <= offer.clientMaximumWindowBits ?? 15, "our window is as we offer")
        try expect(agreed.serverWindowBits <= offer.serverMaximumWindowBits ?? 15, "the peer keeps to our limit")
        try expect(offer.allowsServerContextTakeover || !agreed.serverTakesContextOver, "the peer keeps to our demand")
        try expect(offer.allowsClientContextTakeover || !agreed.clientTakesContextOver, "we keep to our offer")
        let parts = [
            "permessage-deflate", agreed.clientTakesContextOver ? nil : "client_no_context_takeover",
            agreed.serverTakesContextOver ? nil : "server_no_context_takeover",
            "client_max_window_bits=\"\(agreed.clientWindowBits)\"",
            "server_max_window_bits=\(agreed.serverWindowBits)",
        ]
        let again = try? DeflateAgreement.answer([parts.compactMap { $0 }.joined(separator: " ;\t")], to: offer)
        try expectEqual(again, agreed, "an agreement survives being written")
    }

    static let webSocketInflating = FuzzTarget("websocket-inflating", maximumByteCount: 4096) { bytes in
        let whole = try inflated([bytes])
        // Each piece costs a buffer: many of them would take a test too long.
        for pieces in bytes.cuttings.dropFirst() where pieces.count <= 64 {
            try expectEqual(try inflated(pieces), whole, "a message does not depend on pieces")
        }
        guard let deflater = MessageDeflater(windowBits: 15, takesContextOver: false) else {
            throw FuzzFailure(description: "zlib can compress")
        }
        let small = Array(bytes).withUnsafeBytes { deflater.compress($0) }
        try expectEqual(try inflated([small[...]]), Array(bytes), "a message survives compression")
    }

    private static let inflatedLimit = 100_000

    /// The message; `nil` for one that is refused.
    private static func inflated(_ pieces: [ArraySlice<UInt8>]) throws -> [UInt8]? {
        guard let inflater = MessageInflater(windowBits: 15, takesContextOver: false, limit: inflatedLimit) else {
            throw FuzzFailure(description: "zlib can decompress")
        }
        var output: [UInt8] = []
        do {
            for piece in pieces { try Array(piece).withUnsafeBytes { try inflater.append($0, to: &output) } }
            try inflater.finish(&output)
        } catch is MessageInflater.Fault {
            try expect(output.count <= inflatedLimit + 16 * 1024, "a message stops growing at the limit")
            return nil
        }
        try expect(output.count <= inflatedLimit, "a message keeps to the limit")
        return output
    }

    /// Whether there is compression in the first byte, then frames.
    static let webSocketFrames = FuzzTarget("websocket-frames", maximumByteCount: 4096) { bytes in
        var rest = bytes
        let choice = rest.takeByte()
        let agreement = choice & 1 == 0 ? nil : DeflateAgreement(serverTakesContextOver: choice & 2 == 0)
        let found = rest.cuttings.map { FramesFound($0, agreement) }
        for other in found.dropFirst() {
            try expectEqual(other.messages, found[0].messages, "messages do not depend on pieces")
            try expectEqual(other.pongs, found[0].pongs, "pongs do not depend on pieces")
            try expectEqual(other.close, found[0].close, "the end does not depend on pieces")
            try expectEqual(other.violation, found[0].violation, "what is refused does not depend on pieces")
        }
        for message in found[0].messages {
            try expect(message.byteCount <= FramesFound.limit, "a message keeps to the limit")
        }
        let codes: Set<UInt16> = [1002, 1007, 1009]
        try expect(found[0].violation.map(codes.contains) ?? true, "a violation has a code of its own")
    }
}

/// What the reader makes of pieces.
private struct HandshakeFound: Equatable {
    var statuses: [Int] = []
    var section: [UInt8] = []
    var rest: [UInt8] = []
    var isRefused = false
    private(set) var head: ResponseHead?

    init(_ pieces: [ArraySlice<UInt8>]) {
        var reader = HandshakeReader(limit: 1024)
        for piece in pieces {
            var next = Array(piece)
            while !next.isEmpty || head == nil {
                guard head == nil else {
                    rest += next
                    break
                }
                guard let more = take(reader.append(next)) else { break }
                next = more
            }
            if isRefused { return }
        }
    }

    /// Bytes to go on with.
    private mutating func take(_ event: HandshakeReader.Event) -> [UInt8]? {
        switch event {
        case .none: return nil
        case .malformed, .tooLong:
            (isRefused, rest) = (true, [])
            return nil
        case .interim(let interim, let more):
            statuses.append(interim.status)
            return more
        case .head(let final, let more):
            statuses.append(final.status)
            (head, section) = (final, final.section)
            return more
        }
    }

    static func == (left: HandshakeFound, right: HandshakeFound) -> Bool {
        left.statuses == right.statuses && left.section == right.section && left.rest == right.rest
            && left.isRefused == right.isRefused
    }
}

/// What an engine makes of pieces.
private final class FramesFound: FrameReceiver {
    static let limit = 4096
    private(set) var messages: [WebSocketMessage] = []
    private(set) var pongs: [[UInt8]] = []
    private(set) var close: UInt16?
    private(set) var violation: UInt16?

    init(_ pieces: [ArraySlice<UInt8>], _ agreement: DeflateAgreement?) {
        let engine = FrameEngine(receiver: self, maximumMessageByteCount: Self.limit, compression: agreement)
        do {
            for piece in pieces where close == nil {
                try piece.withUnsafeBytes { try engine.receive($0) }
                engine.pump()
                engine.didWrite(engine.output.count - engine.outputStart)
            }
        } catch {
            violation = (error as? FrameEngine.Violation)?.closeCode
        }
    }

    func frames(didReceive message: WebSocketMessage) -> Bool {
        messages.append(message)
        return true
    }

    func frames(didReceivePong payload: [UInt8]) { pongs.append(payload) }

    func frames(didReceiveClose code: UInt16, reason: Data) { close = code }
}
