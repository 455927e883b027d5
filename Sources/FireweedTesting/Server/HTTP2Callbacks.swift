// The callbacks of nghttp2 for a server.

import CNghttp2
import Fireweed
import Foundation

/// nghttp2's callbacks: each finds the connection, which outlives its session, and calls a method of the connection.
enum HTTP2Callbacks {
    /// The table for every session.
    ///
    /// SAFETY: it is filled once, and only read from then on.
    nonisolated(unsafe) static let table: OpaquePointer? = {
        var table: OpaquePointer?
        guard nghttp2_session_callbacks_new(&table) == 0 else { return nil }
        nghttp2_session_callbacks_set_on_begin_headers_callback(table) { _, frame, context in
            guard let frame, let connection = connection(context) else { return 0 }
            if frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST { connection.didBegin(frame.pointee.hd.stream_id) }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(table) {
            _, frame, name, nameCount, value, valueCount, _, context in
            guard let frame else { return 0 }
            connection(context)?.didReceive(
                name: text(name, nameCount), value: text(value, valueCount), on: frame.pointee.hd.stream_id)
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table) { _, _, stream, bytes, count, context in
            connection(context)?.didReceive(UnsafeRawBufferPointer(start: bytes, count: count), on: stream)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(table) { _, frame, context in
            guard let head = frame?.pointee.hd, let connection = connection(context) else { return 0 }
            let (isHeaders, isData) = (
                UInt32(head.type) == NGHTTP2_HEADERS.rawValue, UInt32(head.type) == NGHTTP2_DATA.rawValue
            )
            guard isHeaders || isData else { return 0 }
            if isHeaders { connection.didReceiveHead(on: head.stream_id) }
            if UInt32(head.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
                connection.didReceiveEnd(on: head.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(table) { _, stream, _, context in
            connection(context)?.didClose(stream)
            return 0
        }
        return table
    }()

    /// Gives nghttp2 the content of a response.
    static let readContent: nghttp2_data_source_read_callback = { _, stream, buffer, count, flags, _, context in
        guard let buffer, let flags, let connection = connection(context) else {
            return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        let room = UnsafeMutableRawBufferPointer(start: buffer, count: count)
        guard let (taken, isLast) = connection.read(stream, into: room) else {
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        if isLast {
            flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
            // If there are trailers, they end the stream instead of this DATA frame.
            if connection.submitTrailers(on: stream) { flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue }
        }
        return taken
    }

    private static func connection(_ context: UnsafeMutableRawPointer?) -> HTTP2ServerConnection? {
        context.map { Unmanaged<HTTP2ServerConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func text(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}

/// A response's head or trailers in nghttp2's form.
struct HTTP2FieldArray {
    private let pairs: [(name: [UInt8], value: [UInt8])]

    /// The fields of a head, without connection-specific fields (RFC 9113 §8.2.2), and with names in lower case.
    init(_ head: ResponseHead) {
        self.init(head.fields, behind: [(":status", "\(head.status)")])
    }

    /// The fields of trailers (RFC 9113 §8.1).
    init(_ trailers: [Field]) {
        self.init(trailers, behind: [])
    }

    private init(_ fields: [Field], behind first: [(String, String)]) {
        let left: Set = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]
        let fields = fields.map { (name: $0.name.lowercased(), value: $0.value) }.filter {
            !left.contains($0.name)
        }
        pairs = (first + fields).map { (Array($0.0.utf8), Array($0.1.utf8)) }
    }

    /// Calls `body` with the fields, which nghttp2 copies.
    func withFields<Value>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Value) -> Value {
        var bytes = pairs.flatMap { $0.name + $0.value }
        return bytes.withUnsafeMutableBufferPointer { bytes in
            guard var next = bytes.baseAddress else { return body(nil, 0) }
            let fields = pairs.map { pair in
                let value = next + pair.name.count
                defer { next = value + pair.value.count }
                return nghttp2_nv(
                    name: next, value: value, namelen: pair.name.count, valuelen: pair.value.count,
                    flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
            }
            return fields.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
        }
    }
}
