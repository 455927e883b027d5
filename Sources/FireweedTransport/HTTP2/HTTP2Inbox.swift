// The state of a session's callbacks.

import CNghttp2
import Foundation

/// Turns nghttp2's callbacks into events, and keeps each stream that is in use.
///
/// Its methods are called from inside nghttp2, which they must not call. The only call to the outside is the one for
/// content to send.
final class HTTP2Inbox {
    /// What is known of a stream.
    struct Stream {
        var interimCount = 0
        var fieldByteCount = 0
        var isHeadSent = false
        var trailers: FieldBlock?
        /// The code of the RST_STREAM that came.
        var resetCode: UInt32?
        /// The size of the receive window.
        var windowByteCount: Int
    }

    /// The result of a callback.
    enum CallbackResult {
        case goOn
        /// The stream fails; nghttp2 resets it.
        case failStream
        /// The connection fails.
        case failConnection
    }

    var events: [HTTP2Event] = []
    var streams: [Int32: Stream] = [:]
    weak var source: (any HTTP2ContentSource)?
    let limits: ResponseLimits
    var floodGuard: FloodGuard
    /// Why the connection cannot continue.
    private(set) var failure: TransferFailure?
    /// nghttp2's last complaint since the last bytes came, unless a stream failed for it.
    var complaint: String?
    /// The code of the last GOAWAY that came.
    private(set) var goAwayCode: UInt32?
    private(set) var hasSettings = false
    /// The start of the bytes that nghttp2 reads.
    var base: UnsafeRawPointer?
    /// Streams that are to be reset when nghttp2 has returned.
    var owedResets: [Int32] = []
    /// The number of content bytes that came in this call, for the connection's window.
    var receivedByteCount = 0
    private var section = FieldSection()
    /// Whether the section's stream is known.
    private var isSectionWanted = false
    /// The size of the stream's earlier sections, counted as in `FieldSection.listByteCount`.
    private var earlierByteCount = 0

    init(limits: ResponseLimits) {
        self.limits = limits
        floodGuard = FloodGuard(limit: limits.maximumFramingByteCount)
    }

    /// Fails the connection; the first cause is kept.
    func fail(_ cause: TransferFailure) {
        failure = failure ?? cause
    }

    /// Fails one stream, unless it is forgotten already.
    ///
    /// With `resets`, nghttp2 is asked to reset the stream. Where nghttp2 itself finds the fault, it resets the stream
    /// without being asked.
    func fail(_ stream: Int32, _ cause: TransferFailure, isUnprocessed: Bool = false, resets: Bool = false) {
        fail(stream, HTTP2StreamFailure(failure: cause, isUnprocessed: isUnprocessed), resets: resets)
    }

    private func fail(_ stream: Int32, _ failure: HTTP2StreamFailure, resets: Bool) {
        guard let known = streams.removeValue(forKey: stream) else { return }
        if section.stream == stream { isSectionWanted = false }
        floodGuard.allowStray(known.windowByteCount + limits.maximumHeaderByteCount)
        if resets { owedResets.append(stream) }
        events.append(.failed(stream: stream, failure))
    }

    // MARK: Header sections

    func headersBegan(_ frame: nghttp2_frame) -> CallbackResult {
        guard UInt32(frame.hd.type) != NGHTTP2_PUSH_PROMISE.rawValue else {
            // The server has read our settings before the request that it answers.
            fail(.brokenHTTP2("it pushes a response, which the settings refuse (RFC 9113 §8.4)"))
            return .failConnection
        }
        section.begin(stream: frame.hd.stream_id)
        let known = streams[frame.hd.stream_id]
        isSectionWanted = known != nil
        earlierByteCount = known?.fieldByteCount ?? 0
        return .goOn
    }

    func fieldCame(
        _ frame: nghttp2_frame, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) -> CallbackResult {
        let id = frame.hd.stream_id
        guard isSectionWanted, section.stream == id else { return .goOn }
        do throws(TransferFailure) {
            try section.append(name, value)
            guard earlierByteCount + section.listByteCount <= limits.maximumHeaderByteCount else {
                throw TransferFailure.refused(.headerBytes(limit: limits.maximumHeaderByteCount))
            }
            guard section.fieldCount <= limits.maximumHeaderFieldCount else {
                throw TransferFailure.refused(.headerFields(limit: limits.maximumHeaderFieldCount))
            }
            return .goOn
        } catch {
            fail(id, error)
            return .failStream
        }
    }

    /// A field breaks RFC 9113 §8.2: the whole message is malformed.
    func invalidFieldCame(_ frame: nghttp2_frame, _ name: UnsafeRawBufferPointer) -> CallbackResult {
        let text = FieldBytes.excerpt(name, from: 0, to: name.count)
        fail(frame.hd.stream_id, .brokenHTTP2("the field “\(text)” is malformed (RFC 9113 §8.2)"))
        return .failStream
    }

    private func headersEnded(_ frame: nghttp2_frame) {
        let id = frame.hd.stream_id
        guard isSectionWanted, section.stream == id, var stream = streams[id] else { return }
        defer { if streams[id] != nil { streams[id] = stream } }
        stream.fieldByteCount = earlierByteCount + section.listByteCount
        guard let status = section.status else {
            stream.trailers = section.trailers
            return
        }
        let head = section.head(status: status)
        guard status >= 200 else {
            stream.interimCount += 1
            guard stream.interimCount <= limits.maximumInterimResponseCount else {
                return fail(id, .refused(.interimResponses(limit: limits.maximumInterimResponseCount)), resets: true)
            }
            return events.append(.interim(stream: id, head))
        }
        guard !head.marks.contains(.hasUnsoundLength) else {
            return fail(id, .badResponse("the response announces lengths that differ or are not numbers"), resets: true)
        }
        events.append(.head(stream: id, head, byteCount: frame.hd.length + 9))
    }

    // MARK: Frames

    func frameCame(_ frame: nghttp2_frame) {
        switch UInt32(frame.hd.type) {
        case NGHTTP2_HEADERS.rawValue:
            headersEnded(frame)
            endCame(frame)
        case NGHTTP2_DATA.rawValue: endCame(frame)
        case NGHTTP2_RST_STREAM.rawValue: streams[frame.hd.stream_id]?.resetCode = frame.rst_stream.error_code
        case NGHTTP2_SETTINGS.rawValue where frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            hasSettings = true
            events.append(.settings)
        case NGHTTP2_GOAWAY.rawValue:
            goAwayCode = frame.goaway.error_code
            events.append(.goAway(code: frame.goaway.error_code, lastStream: frame.goaway.last_stream_id))
        case NGHTTP2_PING.rawValue where frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0: events.append(.pong)
        default: break
        }
    }

    private func endCame(_ frame: nghttp2_frame) {
        let id = frame.hd.stream_id
        guard frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0, let stream = streams[id] else { return }
        events.append(.end(stream: id, trailers: stream.trailers))
    }

    /// nghttp2 refuses a frame.
    func invalidFrameCame(_ frame: nghttp2_frame, error: Int32) {
        // nghttp2 complains about a frame before it refuses the frame; the complaint is about this stream only.
        let sentence = complaint.take() ?? HTTP2ErrorCode.sentence(of: error)
        if frame.hd.stream_id > 0 { fail(frame.hd.stream_id, .brokenHTTP2(sentence)) }
    }

    func contentCame(_ id: Int32, _ bytes: UnsafeRawBufferPointer) {
        receivedByteCount += bytes.count
        guard streams[id] != nil, let base, let start = bytes.baseAddress else { return }
        let offset = start - base
        events.append(.content(stream: id, offset..<(offset + bytes.count)))
    }

    /// Keeps nghttp2's text, which quotes names and values of the peer, as printable ASCII.
    func complain(_ text: UnsafeRawBufferPointer) {
        complaint = String(
            decoding: text.prefix(Self.complaintByteCount).map { 0x20...0x7E ~= $0 ? $0 : 0x2E }, as: UTF8.self)
    }

    /// The most bytes of nghttp2's text that are kept: it may quote a long value.
    private static let complaintByteCount = 200

    // MARK: Sent frames

    func frameLeft(_ frame: nghttp2_frame) {
        let id = frame.hd.stream_id
        switch UInt32(frame.hd.type) {
        case NGHTTP2_HEADERS.rawValue:
            streams[id]?.isHeadSent = true
            events.append(.sentHead(stream: id, byteCount: frame.hd.length + 9))
        case NGHTTP2_GOAWAY.rawValue where frame.goaway.error_code != HTTP2ErrorCode.none:
            // nghttp2 ends a session whose peer breaks the rules.
            fail(.brokenHTTP2(complaint ?? HTTP2ErrorCode.name(of: frame.goaway.error_code)))
        default: break
        }
    }

    /// A frame could not be sent.
    ///
    /// For a head that is too long, nghttp2 reports REFUSED_STREAM afterwards, and the message would be sent again for
    /// ever: so the cause is taken from here.
    func frameStayed(_ frame: nghttp2_frame, error: Int32) {
        guard UInt32(frame.hd.type) == NGHTTP2_HEADERS.rawValue else { return }
        guard error == NGHTTP2_ERR_FRAME_SIZE_ERROR.rawValue || error == NGHTTP2_ERR_HEADER_COMP.rawValue else {
            let detail = "the request could not be sent: \(HTTP2ErrorCode.sentence(of: error))"
            let failure = TransferFailure.exchange(.networkConnectionLost, detail: detail, engineCode: Int(error))
            return fail(frame.hd.stream_id, failure, isUnprocessed: true)
        }
        fail(frame.hd.stream_id, .badMessage("the request's header section is too long for HTTP/2"))
    }

    func streamClosed(_ id: Int32, code: UInt32) {
        guard let stream = streams[id] else { return }
        if let reset = stream.resetCode {
            let requiresHTTP1 = reset == HTTP2ErrorCode.http1Required
            let failure = HTTP2StreamFailure(
                failure: .reset(by: reset), isUnprocessed: requiresHTTP1 || reset == HTTP2ErrorCode.refusedStream,
                requiresHTTP1: requiresHTTP1)
            return fail(id, failure, resets: false)
        }
        switch code {
        // The end was reported before; the connection then forgets the stream.
        case HTTP2ErrorCode.none: break
        case HTTP2ErrorCode.refusedStream: fail(id, .reset(by: code), isUnprocessed: true)
        default:
            // We have reset the stream.
            let isMalformed = code == HTTP2ErrorCode.protocolError
            let reason = isMalformed ? "the response is malformed (RFC 9113 §8.1.1)" : HTTP2ErrorCode.name(of: code)
            fail(id, .brokenHTTP2(reason))
        }
    }

    func content(
        of id: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) -> HTTP2ContentSupply {
        guard streams[id] != nil, let source else { return .failed }
        let supply = source.content(of: id, into: buffer)
        if case .bytes(let count, let isLast) = supply {
            floodGuard.didSend(count)
            events.append(.sentContent(stream: id, byteCount: count, isLast: isLast))
        }
        return supply
    }
}
