// A WebSocket peer that sends scripted frames, including frames that no correct server sends.

import FireweedTesting
public import Foundation

/// A server that makes the handshake of RFC 6455 and then runs the test's script, once for each connection.
public final class WebSocketPeer: Sendable {
    /// A frame with its bits, opcode and payload (RFC 6455 §5.2).
    public struct Frame: Sendable, Equatable {
        /// The FIN bit.
        public var isFinal = true
        /// The reserved bits: RSV1 is 4, RSV2 is 2, RSV3 is 1.
        public var reserved: UInt8 = 0
        /// The opcode.
        public var opcode: UInt8
        /// The payload, unmasked.
        public var payload: [UInt8]

        /// Makes a frame.
        public init(_ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0) {
            self.opcode = opcode
            self.payload = payload
            self.isFinal = isFinal
            self.reserved = reserved
        }

        /// The frame's bytes as a server sends them, without a mask.
        public var bytes: [UInt8] {
            var bytes = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
            switch payload.count {
            case ..<126: bytes.append(UInt8(payload.count))
            case ..<65536: bytes += [126] + withUnsafeBytes(of: UInt16(payload.count).bigEndian) { Array($0) }
            default: bytes += [127] + withUnsafeBytes(of: UInt64(payload.count).bigEndian) { Array($0) }
            }
            return bytes + payload
        }
    }

    /// How the peer answers the handshake.
    public struct Answer: Sendable {
        /// Values that replace the correct ones, by field name; an empty value removes the field.
        public var fields: [String: String] = [:]
        /// The status line.
        public var statusLine = "HTTP/1.1 101 Switching Protocols"
        /// Takes the head of a request, and returns the whole response that refuses it, or `nil` to accept it.
        ///
        /// After a refusal, the client may send the next request on the same connection.
        public var refusal: @Sendable (String) -> String?

        /// Makes an answer that is correct except where an argument changes it.
        public init(
            fields: [String: String] = [:], statusLine: String = "HTTP/1.1 101 Switching Protocols",
            refusal: @escaping @Sendable (String) -> String? = { _ in nil }
        ) {
            self.fields = fields
            self.statusLine = statusLine
            self.refusal = refusal
        }
    }

    /// The port.
    public let port: UInt16
    /// The log of the handshake requests' heads.
    public let handshakes = EventLog<String>()
    private let descriptors: ServerDescriptors

    /// Starts a peer, which runs the script for each connection on a new thread.
    public init(
        answer: Answer = Answer(), script: @escaping @Sendable (WebSocketPeerConnection) throws -> Void
    ) throws {
        let (listener, port) = try ServerSocket.listen()
        self.port = port
        descriptors = ServerDescriptors(listener: listener)
        descriptors.accept { [handshakes] descriptor in
            {
                let connection = WebSocketPeerConnection(descriptor: descriptor)
                do {
                    try connection.shakeHands(answer) { handshakes.record($0) }
                    try script(connection)
                } catch {}  // the client is gone: the test notices if steps of the script are missing
            }
        }
    }

    deinit { stop() }

    /// The URL of the peer.
    public var url: URL { URL(string: "ws://127.0.0.1:\(port)/") ?? URL(fileURLWithPath: "/") }

    /// Accepts no further connections; the open ones continue.
    public func stop() { descriptors.stopListening() }
}
