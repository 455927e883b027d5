// The ping frames, which are handled before wslay gets them.

/// The result of looking for a ping at the start of received bytes (RFC 6455 §5.5.2).
///
/// wslay must not get pings: it answers each ping, and queues pongs without limit while the peer does not read.
enum PingFrame {
    /// The frame is not a ping, or it is an invalid ping: wslay reads the frame, and refuses an invalid ping.
    case other
    /// More bytes are needed.
    case incomplete
    /// A complete ping.
    case whole(payload: [UInt8], byteCount: Int)

    private static let headerByteCount = 2
    /// FIN and the opcode 9, without reserved bits.
    private static let firstByte: UInt8 = 0x89
    private static let longestPayload = 125

    init(startOf bytes: UnsafeRawBufferPointer) {
        guard bytes.first == Self.firstByte else {
            self = .other
            return
        }
        guard bytes.count >= Self.headerByteCount else {
            self = .incomplete
            return
        }
        let length = Int(bytes[1])  // with a mask bit, which no server may set, the length is too long
        guard length <= Self.longestPayload else {
            self = .other
            return
        }
        let end = Self.headerByteCount + length
        self =
            bytes.count < end
            ? .incomplete : .whole(payload: Array(bytes[Self.headerByteCount..<end]), byteCount: end)
    }
}
