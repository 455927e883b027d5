// The client side of an HTTP/2 connection, built on libnghttp2.

import CNghttp2
import Foundation

/// The client side of an HTTP/2 connection: frames, header compression and flow control (RFC 9113), without a socket.
///
/// Received bytes go in through `receive(_:)`, and bytes to send come out of `send(into:limit:)`; call `takeEvents(_:)`
/// after each. The session keeps a stream from `submit` until the stream fails or is forgotten. Use it on one thread
/// only.
package final class HTTP2Session {
    private let handle: OpaquePointer
    private let inbox: HTTP2Inbox

    /// The connection's receive window: the most bytes that may be in flight for all streams together.
    ///
    /// Content leaves this window when it is received, not when it is consumed, so that a paused stream does not stop
    /// the others.
    static let connectionWindowByteCount = 16 << 20
    /// A stream's receive window: the most bytes that the peer may send before they are consumed, so the most that a
    /// paused stream buffers.
    static let streamWindowByteCount = 256 << 10
    /// The largest receive window of a stream whose reader keeps up.
    static let largestStreamWindowByteCount = 4 << 20
    /// The most concurrent streams until the peer's settings have arrived.
    private static let streamLimitBeforeSettings = 100
    /// The connection begins no stream from this identifier on: identifiers have 31 bits and are never reused.
    private static let lastUsefulStream: UInt32 = 0x7FFF_0000
    /// The longest header section that nghttp2 sends, instead of its default of 64 KiB.
    ///
    /// It is twice the limit of `HTTP2RequestWriter`, since nghttp2 adds twelve bytes to the length of each field.
    private static let requestHeaderByteCount = 2 * HTTP1RequestWriter.maximumHeadByteCount

    /// The version of the loaded libnghttp2, such as `1.52.0`.
    static var libraryVersion: String {
        nghttp2_version(0).map { String(cString: $0.pointee.version_str) } ?? "unknown"
    }

    /// Whether nghttp2 has reported a fatal error.
    private var isDead = false

    /// Makes the session of a new connection; the first bytes to send are the preface and the settings.
    package init(limits: ResponseLimits) throws(TransferFailure) {
        inbox = HTTP2Inbox(limits: limits)
        var options: OpaquePointer?
        var made: OpaquePointer?
        nghttp2_option_new(&options)
        defer { nghttp2_option_del(options) }
        if let options {
            nghttp2_option_set_no_auto_window_update(options, 1)
            nghttp2_option_set_no_closed_streams(options, 1)
            nghttp2_option_set_max_send_header_block_length(options, Self.requestHeaderByteCount)
        }
        let status = nghttp2_session_client_new2(
            &made, SessionCallbacks.table, Unmanaged.passUnretained(inbox).toOpaque(), options)
        guard status == 0, let made, options != nil else {
            throw .brokenHTTP2("there is no memory for a session")
        }
        handle = made
        begin(limits)
    }

    deinit { nghttp2_session_del(handle) }

    private func begin(_ limits: ResponseLimits) {
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
                value: UInt32(Self.streamWindowByteCount)),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(clamping: limits.maximumHeaderByteCount)),
        ]
        check(nghttp2_submit_settings(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count))
        setWindow(of: 0, to: Self.connectionWindowByteCount)
    }

    // MARK: Events

    /// The source of the content of requests.
    package var source: (any HTTP2ContentSource)? {
        get { inbox.source }
        set { inbox.source = newValue }
    }

    /// Moves the events since the last call into `events`, and reuses the storage of `events`.
    package func takeEvents(_ events: inout [HTTP2Event]) {
        events.removeAll(keepingCapacity: true)
        swap(&events, &inbox.events)
    }

    /// Why the connection can no longer be used; `nil` while it can.
    ///
    /// It is also the failure of all streams that the session still keeps.
    package var failure: TransferFailure? { inbox.failure }

    /// Whether the session has failed, or has nothing more to send or receive.
    package var isOver: Bool {
        inbox.failure != nil || nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0
    }

    /// The peer's reason for ending the connection; `nil` without a GOAWAY frame, or if its code is NO_ERROR.
    var goAwayFailure: TransferFailure? {
        guard let code = inbox.goAwayCode, code != HTTP2ErrorCode.none else { return nil }
        return .goneAway(code)
    }

    /// Whether the peer has sent a GOAWAY frame: it accepts no further streams.
    var isGoingAway: Bool { inbox.goAwayCode != nil }

    /// Whether the peer's first settings have arrived.
    var hasSettings: Bool { inbox.hasSettings }

    /// The most concurrent streams that the peer accepts.
    package var streamLimit: Int {
        guard inbox.hasSettings else { return Self.streamLimitBeforeSettings }
        return Int(nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    /// Whether the connection has stream identifiers left.
    var hasStreamsLeft: Bool { nghttp2_session_get_next_stream_id(handle) < Self.lastUsefulStream }

    // MARK: Bytes

    /// Reads received bytes; `takeEvents(_:)` then gives their events, even if the connection fails.
    package func receive(_ bytes: UnsafeRawBufferPointer) {
        guard inbox.failure == nil, !bytes.isEmpty else { return }
        // A server that knows only HTTP/1 answers the preface in HTTP/1; nghttp2 would report the answer as a frame
        // that is too long.
        guard !inbox.floodGuard.isFrame(beginningWith: "HTTP/1.".utf8, in: bytes) else {
            return inbox.fail(.answersInHTTP1)
        }
        let isWithinLimit = inbox.floodGuard.read(bytes) { inbox.streams[$0] == nil ? .closed : .open }
        inbox.base = bytes.baseAddress
        inbox.receivedByteCount = 0
        inbox.complaint = nil
        let count = nghttp2_session_mem_recv(handle, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        inbox.base = nil
        noteFatal(Int32(clamping: count))
        if count < 0 {
            inbox.fail(.brokenHTTP2(inbox.complaint ?? HTTP2ErrorCode.sentence(of: Int32(clamping: count))))
        } else if !isWithinLimit {
            inbox.fail(.refused(.framingBytes(limit: inbox.limits.maximumFramingByteCount)))
        } else if inbox.receivedByteCount > 0 {
            check(nghttp2_session_consume_connection(handle, inbox.receivedByteCount))
        }
        for stream in inbox.owedResets { reset(stream) }
        inbox.owedResets.removeAll()
    }

    /// Appends bytes to send, until `bytes` has at least `limit` bytes or nothing is left to send.
    package func send(into bytes: inout [UInt8], limit: Int) {
        while bytes.count < limit, !isDead {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(handle, &start)
            guard count > 0, let start else {
                noteFatal(Int32(clamping: count))
                if count < 0 { inbox.fail(.brokenHTTP2(HTTP2ErrorCode.sentence(of: Int32(clamping: count)))) }
                return
            }
            bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
        }
    }

    // MARK: Streams

    /// Opens a stream with the head of a request, and returns the stream's identifier.
    ///
    /// With `hasContent`, the request's content follows; the session asks `source` for it.
    package func submit(_ list: HTTP2FieldList, hasContent: Bool) throws(TransferFailure) -> Int32 {
        if isDead, let failure = inbox.failure { throw failure }
        let status = list.bytes.withUnsafeBytes { bytes in
            let base = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
            let fields = list.fields.map { field in
                nghttp2_nv(
                    name: base.map { $0 + Int(field.nameStart) }, value: base.map { $0 + Int(field.valueStart) },
                    namelen: Int(field.nameEnd - field.nameStart), valuelen: Int(field.valueEnd - field.valueStart),
                    flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
            }
            guard hasContent else { return nghttp2_submit_request(handle, nil, fields, fields.count, nil, nil) }
            var provider = nghttp2_data_provider()
            provider.read_callback = sessionContent
            return nghttp2_submit_request(handle, nil, fields, fields.count, &provider, nil)
        }
        guard status > 0 else {
            throw .exchange(
                .networkConnectionLost, detail: "no stream can begin: \(HTTP2ErrorCode.sentence(of: status))",
                engineCode: Int(status))
        }
        inbox.streams[status] = HTTP2Inbox.Stream(windowByteCount: Self.streamWindowByteCount)
        return status
    }

    /// Notifies the session that the source has content again for a stream, after it returned `.wait`.
    package func resume(_ stream: Int32) {
        guard !isDead, inbox.streams[stream] != nil else { return }
        // The call fails if the stream is not waiting, which is harmless.
        _ = nghttp2_session_resume_data(handle, stream)
    }

    /// Notifies the session that `byteCount` bytes of a stream were consumed: the peer may send as many more.
    package func consume(_ stream: Int32, _ byteCount: Int) {
        guard !isDead, byteCount > 0, inbox.streams[stream] != nil else { return }
        _ = nghttp2_session_consume_stream(handle, stream, byteCount)
    }

    /// Doubles the receive window of a stream with a fast reader, to at most `largestStreamWindowByteCount`.
    func widen(_ stream: Int32) {
        guard let known = inbox.streams[stream] else { return }
        let wider = min(known.windowByteCount * 2, Self.largestStreamWindowByteCount)
        guard wider > known.windowByteCount else { return }
        inbox.streams[stream]?.windowByteCount = wider
        setWindow(of: stream, to: wider)
    }

    /// Forgets a stream, and resets the stream if it has not ended; returns false if no reset is sent to the peer.
    @discardableResult
    package func forget(_ stream: Int32) -> Bool {
        guard let known = inbox.streams.removeValue(forKey: stream), !isDead else { return false }
        guard known.isHeadSent else {
            // The head was not sent yet: on the reset, nghttp2 drops the head and sends nothing.
            reset(stream)
            return false
        }
        // No reset is needed if both sides have ended the stream, which nghttp2 has then forgotten.
        guard nghttp2_session_get_stream_local_close(handle, stream) >= 0 else { return false }
        inbox.floodGuard.allowStray(known.windowByteCount + inbox.limits.maximumHeaderByteCount)
        reset(stream)
        return true
    }

    private func reset(_ stream: Int32) {
        guard !isDead else { return }
        check(nghttp2_submit_rst_stream(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, HTTP2ErrorCode.cancel))
    }

    /// Whether the head of a stream's request was sent; true for a forgotten stream.
    func isHeadSent(_ stream: Int32) -> Bool { inbox.streams[stream]?.isHeadSent ?? true }

    /// Sends a PING, which a peer that is still reachable answers (RFC 9113 §6.7).
    func ping() {
        guard !isDead else { return }
        check(nghttp2_submit_ping(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil))
    }

    /// Sets the identifier of the next stream, for tests.
    func skip(to stream: Int32) {
        check(nghttp2_session_set_next_stream_id(handle, stream))
    }

    private func setWindow(of stream: Int32, to byteCount: Int) {
        guard !isDead else { return }
        check(
            nghttp2_session_set_local_window_size(
                handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, Int32(byteCount)))
    }

    /// Notes a fatal error of nghttp2: its session may then only be freed.
    private func noteFatal(_ status: Int32) {
        if status < NGHTTP2_ERR_FATAL.rawValue { isDead = true }
    }

    /// Fails the connection if a call of nghttp2 failed, which means that there is no memory or that we have a bug.
    private func check(_ status: Int32) {
        guard status != 0 else { return }
        inbox.fail(.brokenHTTP2(HTTP2ErrorCode.sentence(of: status)))
    }
}
