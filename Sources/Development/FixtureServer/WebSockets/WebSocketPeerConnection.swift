// One connection of the scripted peer.

import CLinux
import Foundation
import Glibc
import Synchronization

/// Reads and writes frames on a thread that may block.
public final class WebSocketPeerConnection: Sendable {
    /// The connection ended or timed out, or the client sent a frame that is not allowed.
    public struct Ended: Error {}

    private let descriptor: Int32
    /// The longest payload of a frame that `receive()` accepts.
    private static let maximumPayload = 1 << 30

    /// Makes a connection from a blocking socket.
    ///
    /// A read times out after `seconds`, so that a silent client does not hold the thread; 0 waits for ever.
    init(descriptor: Int32, seconds: Int = TestTimeouts.seconds) {
        self.descriptor = descriptor
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: Sending

    /// Sends a frame.
    public func send(_ frame: WebSocketPeer.Frame) throws {
        try send(bytes: frame.bytes)
    }

    /// Sends bytes, in writes of at most `size`.
    public func send(bytes: [UInt8], size: Int = .max) throws {
        var offset = 0
        while offset < bytes.count {
            let count = min(size, bytes.count - offset)
            let sent = bytes[offset...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { throw Ended() }
            offset += sent
        }
    }

    /// Sends a frame `count` times; whenever nothing can be sent for half a second, calls `stalled` with the total
    /// sent.
    public func sendRepeatedly(
        _ frame: WebSocketPeer.Frame, count: Int, stalled: (_ byteCount: Int) -> Void
    ) throws {
        guard LoopbackSocket.sendRepeatedly(frame.bytes, count: count, on: descriptor, stalled: stalled) else {
            throw Ended()
        }
    }

    /// Makes the connection close with RST at the end of the script.
    public func resetAtEnd() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Shuts down the sending side.
    public func endWriting() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    // MARK: Receiving

    /// Reads the next frame; throws `Ended` at the connection's end, after a time-out, and for an unmasked or too long
    /// frame.
    public func receive() throws -> WebSocketPeer.Frame {
        let head = try read(2)
        guard head[1] & 0x80 != 0 else { throw Ended() }  // a client must mask its frames (RFC 6455 §5.1)
        var length = Int(head[1] & 0x7F)
        if length >= 126 { length = try read(length == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) } }
        guard (0...Self.maximumPayload).contains(length) else { throw Ended() }
        let mask = try read(4)
        var payload = try read(length)
        Self.unmask(&payload, mask)
        return WebSocketPeer.Frame(
            head[0] & 0x0F, payload, isFinal: head[0] & 0x80 != 0, reserved: head[0] >> 4 & 7)
    }

    private static func unmask(_ payload: inout [UInt8], _ mask: [UInt8]) {
        let word = (mask + mask).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        payload.withUnsafeMutableBytes { bytes in
            let whole = bytes.count / 8
            for index in 0..<whole {
                let place = index * 8
                let masked = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                bytes.storeBytes(of: masked ^ word, toByteOffset: place, as: UInt64.self)
            }
            for index in (whole * 8)..<bytes.count { bytes[index] ^= mask[index & 3] }
        }
    }

    /// Returns all frames up to and including the close frame, or up to the end of the connection.
    public func receiveAll() -> [WebSocketPeer.Frame] {
        var frames: [WebSocketPeer.Frame] = []
        while let frame = try? receive() {
            frames.append(frame)
            if frame.opcode == 8 { break }
        }
        return frames
    }

    /// Waits until the client has closed the connection, or sends nothing until the time-out; discards what it sends.
    public func waitForEnd() {
        while (try? read(1)) != nil {}
    }

    private func read(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var offset = 0
        while offset < count {
            let got = bytes.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress.map { $0 + offset }, count - offset, 0)
            }
            guard got > 0 else { throw Ended() }
            offset += got
        }
        return bytes
    }

    // MARK: The handshake

    /// Refuses requests until `answer.refusal` returns `nil`, and accepts that request; calls `note` with each head.
    func shakeHands(_ answer: WebSocketPeer.Answer, note: (String) -> Void) throws {
        while true {
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual([13, 10, 13, 10]), head.count < 1 << 16 { head += try read(1) }
            let text = String(decoding: head, as: UTF8.self)
            note(text)
            guard let refusal = answer.refusal(text) else { return try agree(to: text, answer) }
            try send(bytes: Array(refusal.utf8))
        }
    }

    private func agree(to text: String, _ answer: WebSocketPeer.Answer) throws {
        let line = text.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }
        let key = line?.dropFirst(18).trimmingCharacters(in: .whitespaces) ?? ""
        var fields = ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": Self.accept(key)]
        fields.merge(answer.fields) { $1 }
        let lines = fields.filter { !$0.value.isEmpty }.map { "\($0.key): \($0.value)\r\n" }.sorted().joined()
        try send(bytes: Array("\(answer.statusLine)\r\n\(lines)\r\n".utf8))
    }

    /// The value of `Sec-WebSocket-Accept` for a key (RFC 6455 §4.2.2).
    static func accept(_ key: String) -> String {
        Data(FixtureSHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
    }
}

/// SHA-1 (FIPS 180-4 §6.1), written out so that the peer does not depend on the client under test.
enum FixtureSHA1 {
    static func digest(_ message: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        var bytes = message + [0x80]
        bytes += [UInt8](repeating: 0, count: (120 - bytes.count % 64) % 64)
        bytes += withUnsafeBytes(of: UInt64(message.count * 8).bigEndian) { Array($0) }
        for start in stride(from: 0, to: bytes.count, by: 64) { round(bytes[start..<(start + 64)], &state) }
        return state.flatMap { withUnsafeBytes(of: $0.bigEndian) { Array($0) } }
    }

    private static func round(_ block: ArraySlice<UInt8>, _ state: inout [UInt32]) {
        var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
            block[index..<(index + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<80 {
            words.append(rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (index, word) in words.enumerated() {
            let (mix, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: ((b & c) | (~b & d), 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotated(a, 5) &+ mix &+ e &+ constant &+ word
            (e, d, c, b, a) = (d, c, rotated(b, 30), a, next)
        }
        for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
    }

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
