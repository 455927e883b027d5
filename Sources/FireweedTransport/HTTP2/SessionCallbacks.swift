// The callbacks of nghttp2.

import CNghttp2

/// The table of nghttp2 callbacks, which all sessions share.
///
/// The user data of an nghttp2 session is its `HTTP2Inbox`, unretained: `HTTP2Session` retains the inbox as long as the
/// nghttp2 session exists.
enum SessionCallbacks {
    // SAFETY: made once, never changed, and only read by nghttp2, which copies it.
    nonisolated(unsafe) static let table: OpaquePointer? = {
        var table: OpaquePointer?
        guard nghttp2_session_callbacks_new(&table) == 0, let table else { return nil }
        nghttp2_session_callbacks_set_on_begin_headers_callback(table, headersBegan)
        nghttp2_session_callbacks_set_on_header_callback(table, fieldCame)
        nghttp2_session_callbacks_set_on_invalid_header_callback(table, invalidFieldCame)
        nghttp2_session_callbacks_set_on_frame_recv_callback(table, frameCame)
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(table, invalidFrameCame)
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, contentCame)
        nghttp2_session_callbacks_set_on_frame_send_callback(table, frameLeft)
        nghttp2_session_callbacks_set_on_frame_not_send_callback(table, frameStayed)
        nghttp2_session_callbacks_set_on_stream_close_callback(table, streamClosed)
        nghttp2_session_callbacks_set_error_callback2(table, complained)
        return table
    }()
}

private func inbox(_ data: UnsafeMutableRawPointer?) -> HTTP2Inbox? {
    data.map { Unmanaged<HTTP2Inbox>.fromOpaque($0).takeUnretainedValue() }
}

extension HTTP2Inbox.CallbackResult {
    fileprivate var code: Int32 {
        switch self {
        case .goOn: 0
        case .failStream: NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        case .failConnection: NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }
}

private func headersBegan(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let inbox = inbox(data) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    return inbox.headersBegan(frame.pointee).code
}

private func fieldCame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameCount: Int,
    _ value: UnsafePointer<UInt8>?, _ valueCount: Int, _: UInt8, _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let inbox = inbox(data) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    return inbox.fieldCame(
        frame.pointee, UnsafeRawBufferPointer(start: name, count: nameCount),
        UnsafeRawBufferPointer(start: value, count: valueCount)
    ).code
}

private func invalidFieldCame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameCount: Int,
    _: UnsafePointer<UInt8>?, _: Int, _: UInt8, _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let inbox = inbox(data) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    return inbox.invalidFieldCame(frame.pointee, UnsafeRawBufferPointer(start: name, count: nameCount)).code
}

private func frameCame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let inbox = inbox(data) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    inbox.frameCame(frame.pointee)
    return 0
}

private func invalidFrameCame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ error: Int32, _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let inbox = inbox(data) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    inbox.invalidFrameCame(frame.pointee, error: error)
    return 0
}

private func contentCame(
    _: OpaquePointer?, _: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let inbox = inbox(data) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    inbox.contentCame(stream, UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}

private func frameLeft(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let inbox = inbox(data) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    inbox.frameLeft(frame.pointee)
    return 0
}

private func frameStayed(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ error: Int32, _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let inbox = inbox(data) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    inbox.frameStayed(frame.pointee, error: error)
    return 0
}

private func streamClosed(
    _: OpaquePointer?, _ stream: Int32, _ code: UInt32, _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let inbox = inbox(data) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    inbox.streamClosed(stream, code: code)
    return 0
}

private func complained(
    _: OpaquePointer?, _: Int32, _ text: UnsafePointer<CChar>?, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let text, let inbox = inbox(data) else { return 0 }
    inbox.complain(UnsafeRawBufferPointer(start: text, count: count))
    return 0
}

/// Copies content of a request into nghttp2's buffer; every request with content uses this data provider.
func sessionContent(
    _: OpaquePointer?, _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _: UnsafeMutablePointer<nghttp2_data_source>?,
    _ data: UnsafeMutableRawPointer?
) -> Int {
    guard let inbox = inbox(data) else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
    switch inbox.content(of: stream, into: UnsafeMutableRawBufferPointer(start: buffer, count: count)) {
    case .bytes(let count, let isLast):
        if isLast { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    case .wait: return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    case .failed: return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
}
