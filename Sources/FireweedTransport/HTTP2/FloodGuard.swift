// The limit on frames without fields and content.

/// Counts the bytes of frames that carry neither fields nor content (RFC 9113 §10.5).
///
/// It parses the frame headers before nghttp2 gets the bytes, however the bytes are divided, because nghttp2 does not
/// report all frames that it ignores. One limit covers PING, SETTINGS, RST_STREAM, WINDOW_UPDATE, PRIORITY,
/// CONTINUATION, empty DATA and unknown frames.
struct FloodGuard {
    /// The state of a stream, which decides whether the fields and content of its frames are expected.
    enum StreamState {
        /// The response of the stream is being received.
        case open
        /// The stream was never opened, has ended, or was cancelled.
        case closed
    }

    private enum State {
        case header
        /// The frame is padded, and its pad length has not arrived yet.
        case padLength(frame: Frame)
        case payload(rest: Int)
    }

    private struct Frame {
        var type: UInt8
        var flags: UInt8
        var byteCount: Int
        var stream: Int32
    }

    private static let headerByteCount = 9
    private static let data: UInt8 = 0
    private static let headers: UInt8 = 1
    private static let continuation: UInt8 = 9
    private static let padded: UInt8 = 8
    private static let prioritised: UInt8 = 0x20
    /// The size of the priority in a HEADERS frame (RFC 9113 §6.2); these bytes are not fields.
    private static let priorityByteCount = 5

    private let limit: Int
    private var state = State.header
    private var header: [UInt8] = []
    private var count = 0
    /// The number of bytes that may still arrive for streams that ended early: the peer had already sent them.
    private var strayAllowance = 0

    /// Makes a guard that allows `limit` bytes of such frames between two frames with fields or content.
    init(limit: Int) {
        self.limit = limit
        header.reserveCapacity(Self.headerByteCount)
    }

    /// Called when a stream fails or is cancelled: up to `byteCount` more bytes of that stream may be in flight.
    ///
    /// The allowance for all streams together is limited to the connection's window.
    mutating func allowStray(_ byteCount: Int) {
        strayAllowance = min(strayAllowance + byteCount, HTTP2Session.connectionWindowByteCount)
    }

    /// Called when we send content, because the peer responds to content with frames such as WINDOW_UPDATE.
    mutating func didSend(_ byteCount: Int) {
        count = max(0, count - byteCount)
    }

    /// Reads the next bytes of the connection; returns false if the limit is exceeded.
    mutating func read(_ bytes: UnsafeRawBufferPointer, streamState: (Int32) -> StreamState) -> Bool {
        var position = 0
        while position < bytes.count {
            switch state {
            case .header:
                header.append(bytes[position])
                position += 1
                if header.count == Self.headerByteCount { begin(streamState) }
            case .padLength(let frame):
                note(frame, contentByteCount: frame.byteCount - 1 - Int(bytes[position]), streamState)
                position += 1
                state = frame.byteCount > 1 ? .payload(rest: frame.byteCount - 1) : .header
            case .payload(let rest):
                let step = min(rest, bytes.count - position)
                position += step
                state = step == rest ? .header : .payload(rest: rest - step)
            }
            guard count <= limit else { return false }
        }
        return true
    }

    /// Whether the next frame begins with `start`; `bytes` follow the bytes that were read before.
    func isFrame(beginningWith start: some Collection<UInt8>, in bytes: UnsafeRawBufferPointer) -> Bool {
        guard case .header = state else { return false }
        return (header + bytes.prefix(max(0, start.count - header.count))).starts(with: start)
    }

    private mutating func begin(_ streamState: (Int32) -> StreamState) {
        let stream = header[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let frame = Frame(
            type: header[3], flags: header[4], byteCount: header[0...2].reduce(0) { $0 << 8 | Int($1) },
            stream: Int32(stream))
        header.removeAll(keepingCapacity: true)
        let mayBePadded = frame.type == Self.data || frame.type == Self.headers
        if mayBePadded, frame.flags & Self.padded != 0, frame.byteCount > 0 {
            state = .padLength(frame: frame)
            return
        }
        note(frame, contentByteCount: frame.byteCount, streamState)
        state = frame.byteCount > 0 ? .payload(rest: frame.byteCount) : .header
    }

    private mutating func note(_ frame: Frame, contentByteCount: Int, _ streamState: (Int32) -> StreamState) {
        let whole = Self.headerByteCount + frame.byteCount
        guard frame.type == Self.data || frame.type == Self.headers || frame.type == Self.continuation else {
            count += whole
            return
        }
        guard streamState(frame.stream) == .open else {
            let covered = min(frame.byteCount, strayAllowance)
            strayAllowance -= covered
            // Many small frames of ended streams may be in flight, so one byte is counted for each frame header, not
            // nine.
            count += frame.byteCount - covered + (covered > 0 ? 1 : Self.headerByteCount)
            return
        }
        let hasPriority = frame.type == Self.headers && frame.flags & Self.prioritised != 0
        switch frame.type {
        case Self.data where contentByteCount > 0: count = 0
        case Self.headers where contentByteCount > (hasPriority ? Self.priorityByteCount : 0): count = 0
        // `ResponseLimits` has separate limits for the fields in a CONTINUATION frame, so only the frame header is
        // counted.
        case Self.continuation where contentByteCount > 0: count += Self.headerByteCount
        default: count += whole
        }
    }
}
