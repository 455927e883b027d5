// The framing of a WebSocket's messages, by wslay.

#if WebSocket
import CWslay
package import Foundation

/// The receiver of a WebSocket's frames, called inside `FrameEngine.receive`; it must not release the engine there.
package protocol FrameReceiver: AnyObject {
    /// A complete message arrived; the result false stops reading until `FrameEngine.isPaused` is cleared.
    func frames(didReceive message: WebSocketMessage) -> Bool
    /// A pong arrived.
    func frames(didReceivePong payload: [UInt8])
    /// The peer's close frame arrived.
    func frames(didReceiveClose code: UInt16, reason: Data)
}

/// Converts between bytes and messages of one connection (RFC 6455 §5), with a wslay context that it owns.
///
/// wslay checks the order of frames, the reserved bits, control frames and the UTF-8 of uncompressed text, and makes
/// the close frame for a violation. The engine answers pings, assembles messages, limits their length, and compresses
/// and decompresses them.
package final class FrameEngine {
    /// A violation of the protocol by the peer, with the close code for it (RFC 6455 §7.4.1).
    package struct Violation: Error, Equatable {
        package let closeCode: UInt16
        let text: String
    }

    private var context: wslay_event_context_ptr?
    unowned let receiver: any FrameReceiver
    private let maximumMessageByteCount: Int
    private let inflater: MessageInflater?
    private let deflater: MessageDeflater?
    private var random = MaskSource()

    // State that wslay's callbacks use.
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var boundary = FrameBoundary()
    private var leftover: [UInt8] = []
    private var message: [UInt8] = []
    private var opcode: UInt8 = 0
    private var isCompressed = false
    private var isDataFrame = false
    /// The payload bytes that the frames of the current message have announced so far.
    private var announcedByteCount: UInt64 = 0
    /// The peer's close code, if wslay got another code instead.
    private var hiddenCloseCode: UInt16?
    private var violation: Violation?
    private var isAborted = false

    /// The payload of the peer's latest ping without a pong: while the peer does not read, older pings get no pong (RFC
    /// 6455 §5.5.3).
    private var pendingPong: [UInt8]?
    /// The payload of our latest ping that is not framed yet; its pong answers the earlier pings too.
    private var pendingPing: [UInt8]?

    /// True while the receiver wants no further messages.
    package var isPaused = false
    /// The bytes to write to the connection, from `outputStart` on.
    package private(set) var output: [UInt8] = []
    package private(set) var outputStart = 0
    /// The number of bytes that were ever appended to `output`.
    private(set) var queuedByteCount: Int64 = 0

    /// The number of unwritten bytes at which wslay stops making frames.
    private static let outputLimit = 256 * 1024

    package init(receiver: any FrameReceiver, maximumMessageByteCount: Int, compression: DeflateAgreement?) {
        self.receiver = receiver
        let maximumMessageByteCount = max(0, maximumMessageByteCount)
        self.maximumMessageByteCount = maximumMessageByteCount
        inflater = compression.flatMap {
            MessageInflater(
                windowBits: $0.serverWindowBits, takesContextOver: $0.serverTakesContextOver,
                limit: maximumMessageByteCount)
        }
        deflater = compression.flatMap {
            MessageDeflater(windowBits: $0.clientWindowBits, takesContextOver: $0.clientTakesContextOver)
        }
        var callbacks = FrameCallbacks.table
        let owner = Unmanaged.passUnretained(self).toOpaque()
        precondition(wslay_event_context_client_init(&context, &callbacks, owner) == 0, "out of memory")
        wslay_event_config_set_no_buffering(context, 1)
        wslay_event_config_set_allowed_rsv_bits(context, compression == nil ? fw_wslay_rsv_none : fw_wslay_rsv1)
        wslay_event_config_set_max_recv_msg_length(context, UInt64(Int64.max))  // the engine limits messages
    }

    deinit { wslay_event_context_free(context) }

    // MARK: In

    /// Reads bytes from the connection; bytes that a pause holds back are kept for `resume()`.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(Violation) {
        guard leftover.isEmpty else {
            leftover.append(contentsOf: bytes)
            return try resume()
        }
        try take(bytes)
    }

    /// Reads the bytes that a pause held back.
    package func resume() throws(Violation) {
        guard !leftover.isEmpty, !isPaused else { return }
        let kept = leftover
        leftover = []
        try kept.withUnsafeBufferPointer { bytes throws(Violation) in try take(UnsafeRawBufferPointer(bytes)) }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) throws(Violation) {
        input = bytes
        let isBetweenFrames = !hasUnframed
        let code = wslay_event_recv(context)
        if !input.isEmpty, wslay_event_get_read_enabled(context) != 0 { leftover.append(contentsOf: input) }
        input = UnsafeRawBufferPointer(start: nil, count: 0)
        if let violation { throw violation }
        guard code == 0, wslay_event_get_read_enabled(context) != 0 || wslay_event_get_close_received(context) != 0
        else {
            // wslay answers an invalid frame with a close frame without a code. If no frame of ours is half written,
            // our own close frame with a code is sent instead.
            if code != 0, isBetweenFrames {
                abort()
                throw Violation(closeCode: 1002, text: Self.text(of: 1002))
            }
            // wslay has made the close frame; its code is known only after the frame is in `output`.
            send()
            let closeCode = wslay_event_get_status_code_sent(context)
            throw Violation(closeCode: closeCode, text: Self.text(of: closeCode))
        }
    }

    private static func text(of closeCode: UInt16) -> String {
        switch closeCode {
        case 1007: "the peer sent text that is no UTF-8"
        case 1009: "the peer sent a message that is too long"
        default: "the peer broke the WebSocket protocol"
        }
    }

    /// Appends a close frame with code 1002 to `output`; no frame may follow it.
    fileprivate func abort() {
        isAborted = true
        var mask = [UInt8](repeating: 0, count: 4)
        mask.withUnsafeMutableBytes { random.fill($0) }
        let frame = [0x88, 0x82] + mask + [0x03 ^ mask[0], 0xEA ^ mask[1]]
        output += frame
        queuedByteCount += Int64(frame.count)
    }

    // MARK: Out

    /// True if a message may be queued: all earlier frames are in `output`, and `output` is not full.
    var isReadyForMessage: Bool {
        !hasUnframed && output.count - outputStart < Self.outputLimit
    }

    /// True while wslay has frames that are not completely in `output`.
    var hasUnframed: Bool { !isAborted && wslay_event_want_write(context) != 0 }

    /// True while bytes or frames are still to be written.
    var hasOutput: Bool { outputStart < output.count || hasUnframed }

    /// Frames a message; returns false if a close frame was queued before.
    func queue(_ message: WebSocketMessage) -> Bool {
        switch message {
        case .text(var text):
            return text.withUTF8 { queue(UInt8(WSLAY_TEXT_FRAME.rawValue), UnsafeRawBufferPointer($0)) }
        case .binary(let data):
            return data.withUnsafeBytes { queue(UInt8(WSLAY_BINARY_FRAME.rawValue), $0) }
        }
    }

    private func queue(_ opcode: UInt8, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let deflater, !bytes.isEmpty else { return queue(opcode, bytes, rsv: fw_wslay_rsv_none) }
        return deflater.compress(bytes).withUnsafeBytes { queue(opcode, $0, rsv: fw_wslay_rsv1) }
    }

    private func queue(_ opcode: UInt8, _ bytes: UnsafeRawBufferPointer, rsv: UInt8) -> Bool {
        guard enqueue(opcode, bytes, rsv: rsv) else { return false }
        pump()
        return true
    }

    private func enqueue(_ opcode: UInt8, _ bytes: UnsafeRawBufferPointer, rsv: UInt8) -> Bool {
        var frame = wslay_event_msg(
            opcode: opcode, msg: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), msg_length: bytes.count)
        return wslay_event_queue_msg_ex(context, &frame, rsv) == 0
    }

    /// Frames a ping of at most 125 bytes once there is room; replaces an earlier ping that is not framed yet.
    func queuePing(_ payload: [UInt8]) {
        pendingPing = payload
        pump()
    }

    /// Frames a close frame; with `code` 0 the frame has no code.
    func queueClose(code: UInt16, reason: Data) {
        let reason = CloseReason.fitting(reason)
        wslay_event_queue_close(context, code, reason, reason.count)
        pump()
    }

    /// Moves wslay's frames into `output`, and then a pong and a ping, while there is room.
    package func pump() {
        send()
        while isReadyForMessage, !isAborted, let (opcode, payload) = nextControlFrame() {
            // wslay refuses a frame after a close frame, since nothing may follow a close frame.
            _ = payload.withUnsafeBytes { enqueue(opcode, $0, rsv: fw_wslay_rsv_none) }
            send()
        }
    }

    private func nextControlFrame() -> (opcode: UInt8, payload: [UInt8])? {
        if let payload = pendingPong.take() { return (UInt8(WSLAY_PONG.rawValue), payload) }
        return pendingPing.take().map { (UInt8(WSLAY_PING.rawValue), $0) }
    }

    private func send() {
        if hasUnframed { _ = wslay_event_send(context) }
    }

    /// Records that `count` bytes of `output` were written.
    package func didWrite(_ count: Int) {
        outputStart += count
        if outputStart == output.count {
            output.removeAll(keepingCapacity: output.capacity <= 2 * Self.outputLimit)
            outputStart = 0
        } else if outputStart >= Self.outputLimit {
            output.removeFirst(outputStart)
            outputStart = 0
        }
    }
}

// MARK: - wslay's calls

extension FrameEngine {
    func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isPaused, violation == nil, takePings(), !input.isEmpty else { return 0 }
        let count = min(buffer.count, boundary.allowance(input.count))
        let given = UnsafeRawBufferPointer(rebasing: input.prefix(count))
        buffer.checkedCopy(from: given)
        if boundary.isBeforeClosePayload {
            hideCloseCode(in: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
        }
        let wasInHead = boundary.dataFrameHead == nil
        boundary.gave(given)
        input = UnsafeRawBufferPointer(rebasing: input.dropFirst(count))
        // The length is checked here, since wslay reports a frame only with the first byte of its payload, which may
        // never arrive.
        if wasInHead, let head = boundary.dataFrameHead, isTooLong(head) {
            fail(.tooLong)
            return 0
        }
        return count
    }

    /// Adds a frame to the current message; returns true if the message cannot be within the limit.
    private func isTooLong(_ head: (isContinuation: Bool, isCompressed: Bool, byteCount: UInt64)) -> Bool {
        announcedByteCount = announcedByteCount.addingSaturating(head.byteCount)
        let limit = UInt64(maximumMessageByteCount)
        // Compression makes incompressible bytes longer by at most this much (zlib's `deflateBound`).
        let hasOverhead = head.isContinuation ? isCompressed : head.isCompressed
        let overhead = hasOverhead ? limit / 8 + limit / 64 + 64 : 0
        return announcedByteCount > limit.addingSaturating(overhead)
    }

    /// Hides a close code that was registered after RFC 6455 (1012 to 1014), since wslay treats it as a violation.
    ///
    /// Our close frame is queued here, so that it echoes the peer's code (RFC 6455 §5.5.1).
    private func hideCloseCode(in payload: UnsafeMutableRawBufferPointer) {
        guard payload.count >= 2 else { return }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        let reason = UnsafeRawBufferPointer(rebasing: payload[2...])
        guard 1012...1014 ~= code, String(validating: reason, as: UTF8.self) != nil else { return }
        hiddenCloseCode = code
        payload[0] = 0x03
        payload[1] = 0xE8
        wslay_event_queue_close(context, code, reason.bindMemory(to: UInt8.self).baseAddress, reason.count)
    }

    /// Answers the pings at the start of the input; returns false if a ping is incomplete.
    private func takePings() -> Bool {
        while boundary.isBetweenFrames {
            switch PingFrame(startOf: input) {
            case .other: return true
            case .incomplete: return false
            case .whole(let payload, let byteCount):
                input = UnsafeRawBufferPointer(rebasing: input.dropFirst(byteCount))
                pendingPong = payload
                pump()
            }
        }
        return true
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard output.count - outputStart < Self.outputLimit else { return false }
        output.append(contentsOf: bytes)
        queuedByteCount += Int64(bytes.count)
        return true
    }

    func mask(_ buffer: UnsafeMutableRawBufferPointer) {
        random.fill(buffer)
    }

    func frameBegins(opcode: UInt8, rsv: UInt8, length: UInt64) {
        isDataFrame = opcode & 8 == 0
        guard isDataFrame, violation == nil else { return }
        if opcode != UInt8(WSLAY_CONTINUATION_FRAME.rawValue) {
            self.opcode = opcode
            isCompressed = rsv & fw_wslay_rsv1 != 0
        }
        // Only the first fragment reserves memory: reserving for each fragment would copy the message each time.
        if !isCompressed, message.isEmpty { message.reserveCapacity(min(Int(length), 1 << 20)) }
    }

    func frameContinues(_ bytes: UnsafeRawBufferPointer) {
        guard isDataFrame, violation == nil else { return }
        guard isCompressed, let inflater else { return message.append(contentsOf: bytes) }
        inflate { message throws(MessageInflater.Fault) in try inflater.append(bytes, to: &message) }
    }

    private func inflate(_ body: (inout [UInt8]) throws(MessageInflater.Fault) -> Void) {
        do {
            try body(&message)
        } catch {
            fail(error)
        }
    }

    /// Handles a complete message or control frame.
    func messageEnds(opcode: UInt8, payload: UnsafeRawBufferPointer, closeCode: UInt16) {
        guard violation == nil else { return }
        switch Int32(opcode) {
        case Int32(WSLAY_PONG.rawValue): receiver.frames(didReceivePong: Array(payload))
        case Int32(WSLAY_CONNECTION_CLOSE.rawValue) where payload.count == 1:
            // A close frame must not have one byte of payload (RFC 6455 §5.5.1), but wslay treats it as a frame without
            // a code.
            violation = Violation(closeCode: 1002, text: Self.text(of: 1002))
            wslay_event_shutdown_read(context)
            abort()
        case Int32(WSLAY_CONNECTION_CLOSE.rawValue):
            receiver.frames(
                didReceiveClose: payload.isEmpty ? 1005 : hiddenCloseCode ?? closeCode,
                reason: Data(payload.dropFirst(2)))
        default: deliver()
        }
    }

    private func deliver() {
        announcedByteCount = 0
        if isCompressed, let inflater {
            inflate { message throws(MessageInflater.Fault) in try inflater.finish(&message) }
            guard violation == nil else { return }
        }
        let content: WebSocketMessage
        if opcode == UInt8(WSLAY_TEXT_FRAME.rawValue) {
            // wslay has checked uncompressed text for UTF-8; compressed text can be checked only after decompression.
            guard
                let text = isCompressed
                    ? String(validating: message, as: UTF8.self) : String(decoding: message, as: UTF8.self)
            else {
                return fail(Violation(closeCode: 1007, text: Self.text(of: 1007)))
            }
            content = .text(text)
        } else {
            content = .binary(Data(message))
        }
        message.removeAll(keepingCapacity: message.capacity <= 1 << 20)
        if !receiver.frames(didReceive: content) { isPaused = true }
    }

    private func fail(_ fault: MessageInflater.Fault) {
        switch fault {
        case .tooLong:
            let text = "the peer sent a message that is longer than \(maximumMessageByteCount) bytes"
            fail(Violation(closeCode: 1009, text: text))
        case .malformed: fail(Violation(closeCode: 1007, text: "the peer sent a message that cannot be decompressed"))
        }
    }

    private func fail(_ violation: Violation) {
        self.violation = self.violation ?? violation
        message = []
        wslay_event_shutdown_read(context)
        wslay_event_queue_close(context, violation.closeCode, nil, 0)
    }
}

/// Unpredictable masking keys (RFC 6455 §10.3); each refill takes 512 bytes from the system's random generator.
private struct MaskSource {
    private var bytes: [UInt8] = []
    private var used = 0

    mutating func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        if used + buffer.count > bytes.count { refill() }
        buffer.checkedCopy(from: bytes[used..<(used + buffer.count)])
        used += buffer.count
    }

    private mutating func refill() {
        var generator = SystemRandomNumberGenerator()
        bytes = [UInt8](repeating: 0, count: 512)
        bytes.withUnsafeMutableBytes { buffer in
            for place in stride(from: 0, to: buffer.count, by: 8) {
                buffer.storeBytes(of: generator.next(), toByteOffset: place, as: UInt64.self)
            }
        }
        used = 0
    }
}
#endif
