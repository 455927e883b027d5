// The callbacks of wslay, which run inside `wslay_event_recv` or `wslay_event_send`, on the loop's thread.

#if WebSocket
import CWslay
import Foundation

/// The callbacks of a wslay context.
///
/// `owner` is the context's `FrameEngine`, unretained: the engine frees the context in its own `deinit`.
enum FrameCallbacks {
    static var table: wslay_event_callbacks {
        wslay_event_callbacks(
            recv_callback: bytesWanted, send_callback: bytesMade, genmask_callback: maskWanted,
            on_frame_recv_start_callback: frameBegan, on_frame_recv_chunk_callback: frameContinued,
            on_frame_recv_end_callback: nil, on_msg_recv_callback: messageEnded)
    }

    fileprivate static func engine(_ owner: UnsafeMutableRawPointer?) -> FrameEngine? {
        owner.map { Unmanaged<FrameEngine>.fromOpaque($0).takeUnretainedValue() }
    }
}

private func bytesWanted(
    _ context: wslay_event_context_ptr?, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int, _: Int32,
    _ owner: UnsafeMutableRawPointer?
) -> Int {
    let room = UnsafeMutableRawBufferPointer(start: buffer, count: count)
    guard let engine = FrameCallbacks.engine(owner) else { return -1 }
    let given = engine.give(room)
    guard given == 0 else { return given }
    wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK.rawValue)
    return -1
}

private func bytesMade(
    _ context: wslay_event_context_ptr?, _ bytes: UnsafePointer<UInt8>?, _ count: Int, _: Int32,
    _ owner: UnsafeMutableRawPointer?
) -> Int {
    let made = UnsafeRawBufferPointer(start: bytes, count: count)
    if FrameCallbacks.engine(owner)?.write(made) == true { return count }
    wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK.rawValue)
    return -1
}

private func maskWanted(
    _: wslay_event_context_ptr?, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int, _ owner: UnsafeMutableRawPointer?
) -> Int32 {
    FrameCallbacks.engine(owner)?.mask(UnsafeMutableRawBufferPointer(start: buffer, count: count))
    return 0
}

private func frameBegan(
    _: wslay_event_context_ptr?, _ frame: UnsafePointer<wslay_event_on_frame_recv_start_arg>?,
    _ owner: UnsafeMutableRawPointer?
) {
    guard let frame = frame?.pointee else { return }
    FrameCallbacks.engine(owner)?.frameBegins(opcode: frame.opcode, rsv: frame.rsv, length: frame.payload_length)
}

private func frameContinued(
    _: wslay_event_context_ptr?, _ chunk: UnsafePointer<wslay_event_on_frame_recv_chunk_arg>?,
    _ owner: UnsafeMutableRawPointer?
) {
    guard let chunk = chunk?.pointee else { return }
    FrameCallbacks.engine(owner)?.frameContinues(UnsafeRawBufferPointer(start: chunk.data, count: chunk.data_length))
}

private func messageEnded(
    _: wslay_event_context_ptr?, _ message: UnsafePointer<wslay_event_on_msg_recv_arg>?,
    _ owner: UnsafeMutableRawPointer?
) {
    guard let message = message?.pointee else { return }
    FrameCallbacks.engine(owner)?.messageEnds(
        opcode: message.opcode, payload: UnsafeRawBufferPointer(start: message.msg, count: message.msg_length),
        closeCode: message.status_code)
}
#endif
