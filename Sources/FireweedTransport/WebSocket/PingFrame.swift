// Pings, which are read before wslay sees them.

/// What the bytes at the start of a frame say about a ping (RFC 6455 §5.5.2).
///
/// wslay answers every ping with a pong of its own, and queues the pongs without limit while the peer does not read.
enum PingFrame {
    /// The frame is not a ping, or it is a ping that breaks the protocol: wslay reads the frame, and refuses such a
    /// ping.
    case other
    /// More bytes are needed.
    case incomplete
    /// A whole ping.
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
        let length = Int(bytes[1])  // a mask bit, which no server may send, makes it too long
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
