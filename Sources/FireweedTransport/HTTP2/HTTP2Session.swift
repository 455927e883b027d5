// The client's side of an HTTP/2 connection, on libnghttp2.

import CNghttp2
import Foundation

/// The frames, the compression and the flow control of a client's connection (RFC 9113), without a socket.
///
/// Bytes go in by `receive(_:)` and come out by `send(into:limit:)`; afterwards `takeEvents(_:)` gives what happened.
/// Streams are known from `submit` until they fail or are forgotten. Used on one thread.
package final class HTTP2Session {
    private let handle: OpaquePointer
    private let inbox: HTTP2Inbox

    /// The most bytes that a peer may have on their way for all streams together.
    ///
    /// Content counts until it is received, and not until it is consumed: a paused stream does not stop the others.
    static let connectionWindowByteCount = 16 << 20
    /// The most bytes that a peer may send for one stream before they are consumed; a paused stream holds at most as
    /// many.
    static let streamWindowByteCount = 256 << 10
    /// The largest window of a stream whose reader keeps up.
    static let largestStreamWindowByteCount = 4 << 20
    /// The limit on streams until the peer's settings have come.
    private static let streamLimitBeforeSettings = 100
    /// From this stream on the connection begins no more: identifiers have 31 bits, and are not used twice.
    private static let lastUsefulStream: UInt32 = 0x7FFF_0000
    /// The longest header section that nghttp2 sends, instead of 64 KiB: twice what `HTTP2RequestWriter` allows, since
    /// nghttp2 adds twelve bytes to the length of each field.
    private static let requestHeaderByteCount = 2 * HTTP1RequestWriter.maximumHeadByteCount

    /// The version of libnghttp2 that is loaded, as `1.52.0`.
    static var libraryVersion: String {
        nghttp2_version(0).map { String(cString: $0.pointee.version_str) } ?? "unknown"
    }

    /// Whether nghttp2 has met a fatal error.
    private var isDead = false

    /// Makes the session of a new connection; the preface and the settings are the first that it sends.
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

    /// Gives the content of requests.
    package var source: (any HTTP2ContentSource)? {
        get { inbox.source }
        set { inbox.source = newValue }
    }

    /// Takes the events since the last call; the storage of `events` is used again.
    package func takeEvents(_ events: inout [HTTP2Event]) {
        events.removeAll(keepingCapacity: true)
        swap(&events, &inbox.events)
    }

    /// Why the connection cannot be used any more; `nil` while it can.
    ///
    /// Streams that are still known fail with it.
    package var failure: TransferFailure? { inbox.failure }

    /// Whether nothing more is to be sent or received.
    package var isOver: Bool {
        inbox.failure != nil || nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0
    }

    /// Why the peer ends the connection; `nil` without a GOAWAY, and for one without an error.
    var goAwayFailure: TransferFailure? {
        guard let code = inbox.goAwayCode, code != HTTP2ErrorCode.none else { return nil }
        return .goneAway(code)
    }

    /// Whether the peer has said that it takes no further streams.
    var isGoingAway: Bool { inbox.goAwayCode != nil }

    /// Whether the peer's first settings have come.
    var hasSettings: Bool { inbox.hasSettings }

    /// How many streams the peer takes at a time.
    package var streamLimit: Int {
        guard inbox.hasSettings else { return Self.streamLimitBeforeSettings }
        return Int(nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    /// Whether there are identifiers for further streams.
    var hasStreamsLeft: Bool { nghttp2_session_get_next_stream_id(handle) < Self.lastUsefulStream }

    // MARK: Bytes

    /// Takes bytes of the peer; `takeEvents(_:)` then gives their events, also when the connection fails.
    package func receive(_ bytes: UnsafeRawBufferPointer) {
        guard inbox.failure == nil, !bytes.isEmpty else { return }
        // A server that knows only HTTP/1 answers the preface in HTTP/1; read as a frame, the answer would be too long.
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

    /// Appends what is to be sent, until `limit` bytes are there or there is no more.
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

    /// Opens a stream with the head of a request, and returns the stream's number.
    ///
    /// With `hasContent`, content follows, which `source` gives.
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

    /// Notifies the session that content can be sent again for a stream that had to wait.
    package func resume(_ stream: Int32) {
        guard !isDead, inbox.streams[stream] != nil else { return }
        // Fails when the stream does not wait, which is harmless.
        _ = nghttp2_session_resume_data(handle, stream)
    }

    /// Notifies the session that content of a stream was consumed: the peer may send as much again.
    package func consume(_ stream: Int32, _ byteCount: Int) {
        guard !isDead, byteCount > 0, inbox.streams[stream] != nil else { return }
        _ = nghttp2_session_consume_stream(handle, stream, byteCount)
    }

    /// Doubles the window of a stream whose reader keeps up, up to the largest.
    func widen(_ stream: Int32) {
        guard let known = inbox.streams[stream] else { return }
        let wider = min(known.windowByteCount * 2, Self.largestStreamWindowByteCount)
        guard wider > known.windowByteCount else { return }
        inbox.streams[stream]?.windowByteCount = wider
        setWindow(of: stream, to: wider)
    }

    /// Forgets a stream, and resets it if it has not ended; false when the peer gets no reset.
    @discardableResult
    package func forget(_ stream: Int32) -> Bool {
        guard let known = inbox.streams.removeValue(forKey: stream), !isDead else { return false }
        guard known.isHeadSent else {
            // nghttp2 then drops the head that was not sent.
            reset(stream)
            return false
        }
        // After both sides have ended, nghttp2 does not know the stream any more.
        guard nghttp2_session_get_stream_local_close(handle, stream) >= 0 else { return false }
        inbox.floodGuard.allowStray(known.windowByteCount + inbox.limits.maximumHeaderByteCount)
        reset(stream)
        return true
    }

    private func reset(_ stream: Int32) {
        guard !isDead else { return }
        check(nghttp2_submit_rst_stream(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, HTTP2ErrorCode.cancel))
    }

    /// Whether the head of a stream's request has left.
    func isHeadSent(_ stream: Int32) -> Bool { inbox.streams[stream]?.isHeadSent ?? true }

    /// Sends a PING, which the peer answers if it is there (RFC 9113 §6.7).
    func ping() {
        guard !isDead else { return }
        check(nghttp2_submit_ping(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil))
    }

    /// Sets the number of the next stream; for tests.
    func skip(to stream: Int32) {
        check(nghttp2_session_set_next_stream_id(handle, stream))
    }

    private func setWindow(of stream: Int32, to byteCount: Int) {
        guard !isDead else { return }
        check(
            nghttp2_session_set_local_window_size(
                handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, Int32(byteCount)))
    }

    /// After a fatal error, the session of nghttp2 may only be freed.
    private func noteFatal(_ status: Int32) {
        if status < NGHTTP2_ERR_FATAL.rawValue { isDead = true }
    }

    /// These calls can only fail for want of memory, or by a fault of ours.
    private func check(_ status: Int32) {
        guard status != 0 else { return }
        inbox.fail(.brokenHTTP2(HTTP2ErrorCode.sentence(of: status)))
    }
}
