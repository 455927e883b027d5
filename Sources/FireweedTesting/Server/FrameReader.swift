// Reading of a WebSocket client's frames (RFC 6455 §5).

import Fireweed
package import Foundation

/// Reads one message after the other from a stream, and throws when a client breaks the protocol.
package struct FrameReader {
    /// A message or a control frame from a client.
    package enum Event: Equatable {
        case message(WebSocketMessage)
        case ping(Data)
        /// A close frame without a code has the code 1005.
        case close(code: UInt16, reason: Data)
    }

    /// A client broke the protocol; the connection ends with this code (RFC 6455 §7.1.7).
    package struct Refusal: Error, Equatable {
        package let code: UInt16

        static let protocolError = Refusal(code: 1002)
        static let notUTF8 = Refusal(code: 1007)
        static let tooBig = Refusal(code: 1009)
    }

    private struct Frame {
        let isFinal: Bool
        let opcode: UInt8
        let content: Data
    }

    private let stream: any ServerStream
    private var buffer: Data
    private var message = Data()
    /// The opcode of the message that has begun; `nil` between messages.
    private var begun: UInt8?
    /// The maximum size of a message, which is held in memory: 1 GiB.
    private static let messageLimit = 1 << 30

    /// Makes a reader; `rest` has the bytes that were already read from the stream.
    package init(_ stream: any ServerStream, after rest: Data) {
        self.stream = stream
        buffer = rest
    }

    /// Reads the next message or control frame, and skips pongs; `nil` at the end of the connection.
    package mutating func next() throws(Refusal) -> Event? {
        while let frame = try self.frame(behind: message.count) {
            switch frame.opcode {
            case 0x8: return try close(frame.content)
            case 0x9: return .ping(frame.content)
            case 0xA: continue
            default:
                guard let message = try self.message(behind: frame) else { continue }
                return .message(message)
            }
        }
        return nil
    }

    /// Adds a data frame to its message; `nil` while the message is not complete.
    private mutating func message(behind frame: Frame) throws(Refusal) -> WebSocketMessage? {
        // RFC 6455 §5.4: within a message, data frames must be continuations; elsewhere they must not be.
        guard (frame.opcode == 0) == (begun != nil) else { throw .protocolError }
        let opcode = begun ?? frame.opcode
        begun = frame.isFinal ? nil : opcode
        message.append(frame.content)
        guard frame.isFinal else { return nil }
        defer { message = Data() }
        guard opcode == 0x1 else { return .binary(message) }
        // A text message must be UTF-8 (RFC 6455 §8.1).
        guard let text = String(validating: message, as: UTF8.self) else { throw .notUTF8 }
        return .text(text)
    }

    /// Parses the content of a close frame (RFC 6455 §5.5.1).
    private func close(_ content: Data) throws(Refusal) -> Event {
        guard content.count != 1 else { throw .protocolError }
        guard content.count >= 2 else { return .close(code: 1005, reason: Data()) }
        let (code, reason) = (UInt16(content[0]) << 8 | UInt16(content[1]), Data(content.dropFirst(2)))
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: break
        default: throw .protocolError  // RFC 6455 §7.4: no peer may send these
        }
        guard String(validating: reason, as: UTF8.self) != nil else { throw .notUTF8 }
        return .close(code: code, reason: reason)
    }

    // MARK: Frames

    /// Reads the next frame (RFC 6455 §5.2) of a message that already has `byteCount` bytes; `nil` at the end of the
    /// connection.
    private mutating func frame(behind byteCount: Int) throws(Refusal) -> Frame? {
        guard let head = bytes(2) else { return nil }
        let (isFinal, opcode, isMasked) = (head[0] & 0x80 != 0, head[0] & 0x0F, head[1] & 0x80 != 0)
        guard head[0] & 0x70 == 0, [0x0, 0x1, 0x2, 0x8, 0x9, 0xA].contains(opcode), isMasked else {
            throw .protocolError
        }
        let isControl = opcode & 0x8 != 0
        // A control frame is never fragmented, and has at most 125 bytes of payload (RFC 6455 §5.5).
        guard !isControl || (isFinal && head[1] & 0x7F <= 125) else { throw .protocolError }
        guard let length = try self.length(head[1] & 0x7F) else { return nil }
        guard length <= UInt64(Self.messageLimit - (isControl ? 0 : byteCount)) else { throw .tooBig }
        guard let mask = bytes(4), var content = bytes(Int(length)) else { return nil }
        for index in content.indices { content[index] ^= mask[index % 4] }
        return Frame(isFinal: isFinal, opcode: opcode, content: content)
    }

    /// Reads the length of a frame's content from its 7 bits and the bytes after them; `nil` at the end of the
    /// connection.
    private mutating func length(_ bits: UInt8) throws(Refusal) -> UInt64? {
        guard bits > 125 else { return UInt64(bits) }
        guard let more = bytes(bits == 126 ? 2 : 8) else { return nil }
        let length = more.reduce(0) { $0 << 8 | UInt64($1) }
        guard length < 1 << 63 else { throw .protocolError }
        return length
    }

    private mutating func bytes(_ count: Int) -> Data? {
        while buffer.count < count {
            let got = withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { space in
                let got = stream.read(into: space)
                if got > 0 { buffer.append(contentsOf: space[..<got]) }
                return got
            }
            guard got > 0 else { return nil }
        }
        defer { buffer = Data(buffer.dropFirst(count)) }
        return Data(buffer.prefix(count))
    }
}
