// The limit on frames without fields and content.

/// Counts the bytes of frames that carry neither fields nor content (RFC 9113 §10.5).
///
/// It reads the frame headers of the bytes as they come, wherever they are cut, before nghttp2 does: nghttp2 reports
/// only some of the frames that it ignores. One limit covers PING, SETTINGS, RST_STREAM, WINDOW_UPDATE, PRIORITY,
/// CONTINUATION, empty DATA and unknown frames.
struct FloodGuard {
    /// What is known of a stream.
    enum StreamState {
        /// The response of the stream is being received.
        case open
        /// The stream was never opened, or has ended.
        case closed
    }

    private enum State {
        case header
        /// The pad length of a padded frame is still to come.
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
    /// The size of the priority in a HEADERS frame (RFC 9113 §6.2), which is not a field of the message.
    private static let priorityByteCount = 5

    private let limit: Int
    private var state = State.header
    private var header: [UInt8] = []
    private var count = 0
    /// Bytes that may come for streams that were cancelled: they were on their way.
    private var strayAllowance = 0

    /// Allows `limit` such bytes between two frames with fields or content.
    init(limit: Int) {
        self.limit = limit
        header.reserveCapacity(Self.headerByteCount)
    }

    /// Called when we end a stream, for which the peer may have sent up to `byteCount` bytes meanwhile.
    ///
    /// The bytes that are on their way for all streams together are within the connection's window.
    mutating func allowStray(_ byteCount: Int) {
        strayAllowance = min(strayAllowance + byteCount, HTTP2Session.connectionWindowByteCount)
    }

    /// Called when we send content: the peer answers it with frames of its own, such as WINDOW_UPDATE.
    mutating func didSend(_ byteCount: Int) {
        count = max(0, count - byteCount)
    }

    /// Reads the next bytes of the connection; false when the limit is exceeded.
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

    /// Whether the next frame begins with `start`; `bytes` continue what was read before.
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
            // Many small frames may be on their way: a byte is counted for the header of each.
            count += frame.byteCount - covered + (covered > 0 ? 1 : Self.headerByteCount)
            return
        }
        let hasPriority = frame.type == Self.headers && frame.flags & Self.prioritised != 0
        switch frame.type {
        case Self.data where contentByteCount > 0: count = 0
        case Self.headers where contentByteCount > (hasPriority ? Self.priorityByteCount : 0): count = 0
        // The fields in a CONTINUATION frame have limits of their own.
        case Self.continuation where contentByteCount > 0: count += Self.headerByteCount
        default: count += whole
        }
    }
}
