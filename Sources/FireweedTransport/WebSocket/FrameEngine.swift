// Frames in and out, by wslay.

#if WebSocket
import CWslay
package import Foundation

/// Is notified of a WebSocket's frames, from inside `FrameEngine.receive`; must not release the engine there.
package protocol FrameReceiver: AnyObject {
    /// A whole message came; false stops reading until `FrameEngine.isPaused` is cleared.
    func frames(didReceive message: WebSocketMessage) -> Bool
    /// A pong came.
    func frames(didReceivePong payload: [UInt8])
    /// The peer's close frame came.
    func frames(didReceiveClose code: UInt16, reason: Data)
}

/// Owns a wslay context for one connection (RFC 6455 §5): bytes of the wire on one side, messages on the other.
///
/// wslay checks the order of frames, the reserved bits, control frames and the UTF-8 of plain text, and makes the close
/// frame that a violation requires. The engine answers pings, collects messages, limits their length, and compresses
/// them.
package final class FrameEngine {
    /// A violation of the protocol by the peer; the close code tells its kind (RFC 6455 §7.4.1).
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

    // The state that wslay's callbacks use.
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var boundary = FrameBoundary()
    private var leftover: [UInt8] = []
    private var message: [UInt8] = []
    private var opcode: UInt8 = 0
    private var isCompressed = false
    private var isDataFrame = false
    /// The number of bytes that the frames of the current message have announced.
    private var announcedByteCount: UInt64 = 0
    /// The peer's close code, when wslay got another one instead.
    private var hiddenCloseCode: UInt16?
    private var violation: Violation?
    private var isAborted = false

    /// The payload of the latest ping of the peer that has no pong yet: while the peer does not read, older pings get
    /// no pong (RFC 6455 §5.5.3).
    private var pendingPong: [UInt8]?
    /// The payload of our latest ping that is not framed: its pong answers the earlier pings too.
    private var pendingPing: [UInt8]?

    /// True while the receiver wants no further message.
    package var isPaused = false
    /// Bytes that wait to be written to the connection, from `outputStart` on.
    package private(set) var output: [UInt8] = []
    package private(set) var outputStart = 0
    /// How many bytes have ever been put into `output`.
    private(set) var queuedByteCount: Int64 = 0

    /// While this many bytes wait, wslay makes no further frames.
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
        wslay_event_config_set_max_recv_msg_length(context, UInt64(Int64.max))  // the engine limits messages itself
    }

    deinit { wslay_event_context_free(context) }

    // MARK: In

    /// Takes bytes of the wire; what is not taken because of a pause is kept for `resume()`.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(Violation) {
        guard leftover.isEmpty else {
            leftover.append(contentsOf: bytes)
            return try resume()
        }
        try take(bytes)
    }

    /// Continues with the bytes that a pause kept back.
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
            // For an invalid frame, wslay's close frame has no code: between two of our frames, ours with a code is
            // sent instead.
            if code != 0, isBetweenFrames {
                abort()
                throw Violation(closeCode: 1002, text: Self.text(of: 1002))
            }
            // wslay has made the close frame; its code is known once the frame is written.
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

    /// Puts a close frame with code 1002 after the frames in `output`, and nothing after it.
    fileprivate func abort() {
        isAborted = true
        var mask = [UInt8](repeating: 0, count: 4)
        mask.withUnsafeMutableBytes { random.fill($0) }
        let frame = [0x88, 0x82] + mask + [0x03 ^ mask[0], 0xEA ^ mask[1]]
        output += frame
        queuedByteCount += Int64(frame.count)
    }

    // MARK: Out

    /// True when a message may be queued: everything before it is in `output`, which is not full.
    var isReadyForMessage: Bool {
        !hasUnframed && output.count - outputStart < Self.outputLimit
    }

    /// True while frames are not wholly in `output`.
    var hasUnframed: Bool { !isAborted && wslay_event_want_write(context) != 0 }

    /// True while bytes or frames wait to be written.
    var hasOutput: Bool { outputStart < output.count || hasUnframed }

    /// Frames a message; false when a close frame has gone before it.
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

    /// Frames a ping of at most 125 bytes, as soon as there is room; a later ping replaces a ping that is not framed
    /// yet.
    func queuePing(_ payload: [UInt8]) {
        pendingPing = payload
        pump()
    }

    /// Frames a close; `code` 0 gives one without a code.
    func queueClose(code: UInt16, reason: Data) {
        let reason = CloseReason.fitting(reason)
        wslay_event_queue_close(context, code, reason, reason.count)
        pump()
    }

    /// Puts the frames that wslay has to send into `output`, and then pongs and pings, as far as there is room.
    package func pump() {
        send()
        while isReadyForMessage, !isAborted, let (opcode, payload) = nextControlFrame() {
            // Refused after a close frame, after which nothing may be sent.
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
        // wslay reports a frame only with the first byte of its payload, which may never come.
        if wasInHead, let head = boundary.dataFrameHead, isTooLong(head) {
            fail(.tooLong)
            return 0
        }
        return count
    }

    /// Counts a frame of a message; true when the message cannot be within the limit.
    private func isTooLong(_ head: (isContinuation: Bool, isCompressed: Bool, byteCount: UInt64)) -> Bool {
        announcedByteCount = announcedByteCount.addingSaturating(head.byteCount)
        let limit = UInt64(maximumMessageByteCount)
        // Bytes that cannot be compressed grow by at most this much (`deflateBound` of zlib).
        let hasOverhead = head.isContinuation ? isCompressed : head.isCompressed
        let overhead = hasOverhead ? limit / 8 + limit / 64 + 64 : 0
        return announcedByteCount > limit.addingSaturating(overhead)
    }

    /// Replaces a close code that was registered after RFC 6455, which wslay takes for a violation.
    ///
    /// Our close frame is queued here, so that it repeats the peer's code (RFC 6455 §5.5.1).
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

    /// Answers the pings at the start of the input; false to wait for the rest of one.
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
        // Only for the first fragment: reserving room for each fragment would copy the message each time.
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

    /// A message is complete, or a control frame.
    func messageEnds(opcode: UInt8, payload: UnsafeRawBufferPointer, closeCode: UInt16) {
        guard violation == nil else { return }
        switch Int32(opcode) {
        case Int32(WSLAY_PONG.rawValue): receiver.frames(didReceivePong: Array(payload))
        case Int32(WSLAY_CONNECTION_CLOSE.rawValue) where payload.count == 1:
            // Half a code (RFC 6455 §5.5.1), which wslay treats as no code.
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
            // wslay has checked plain text for UTF-8; compressed text can only be checked now.
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

/// Unpredictable masking keys (RFC 6455 §10.3), taken from the system's generator 512 bytes at a time.
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
