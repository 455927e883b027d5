// The receiver of nghttp2's callbacks.

import CNghttp2
import Foundation

/// Turns nghttp2's callbacks into events, and keeps the state of each stream in use.
///
/// nghttp2 calls these methods, so they must not call nghttp2. The only code that they call outside of the session is
/// `source`, for the content of requests.
final class HTTP2Inbox {
    /// The state of a stream.
    struct Stream {
        var interimCount = 0
        var fieldByteCount = 0
        var isHeadSent = false
        var trailers: FieldBlock?
        /// The code of the RST_STREAM frame that the peer sent.
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
    /// nghttp2's last error text since bytes were last received; `nil` if a stream's failure has used the text.
    var complaint: String?
    /// The code of the last GOAWAY frame that the peer sent.
    private(set) var goAwayCode: UInt32?
    private(set) var hasSettings = false
    /// The address of the bytes that nghttp2 is reading, to compute offsets of content.
    var base: UnsafeRawPointer?
    /// The streams to reset after nghttp2 has returned.
    var owedResets: [Int32] = []
    /// The number of content bytes received in this call; the connection's window is opened by as much.
    var receivedByteCount = 0
    private var section = FieldSection()
    /// Whether the section belongs to a stream in `streams`.
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

    /// Fails one stream; does nothing if the stream is not in `streams`.
    ///
    /// With `resets`, the stream is reset after nghttp2 has returned. Without it, nghttp2 itself resets the stream: it
    /// found the fault, or the callback returns `failStream`.
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
            // The server read our settings, which disable push, before any request: the push cannot have crossed them.
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

    /// Called for a field that breaks RFC 9113 §8.2, which makes the whole message malformed.
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

    /// Called for a frame that nghttp2 refuses.
    func invalidFrameCame(_ frame: nghttp2_frame, error: Int32) {
        // nghttp2 reports its error text just before it refuses the frame; the text is about this stream only.
        let sentence = complaint.take() ?? HTTP2ErrorCode.sentence(of: error)
        if frame.hd.stream_id > 0 { fail(frame.hd.stream_id, .brokenHTTP2(sentence)) }
    }

    func contentCame(_ id: Int32, _ bytes: UnsafeRawBufferPointer) {
        receivedByteCount += bytes.count
        guard streams[id] != nil, let base, let start = bytes.baseAddress else { return }
        let offset = start - base
        events.append(.content(stream: id, offset..<(offset + bytes.count)))
    }

    /// Keeps nghttp2's error text as printable ASCII, because it quotes names and values that the peer sent.
    func complain(_ text: UnsafeRawBufferPointer) {
        complaint = String(
            decoding: text.prefix(Self.complaintByteCount).map { 0x20...0x7E ~= $0 ? $0 : 0x2E }, as: UTF8.self)
    }

    /// The most bytes of nghttp2's error text to keep, since it may quote a long value.
    private static let complaintByteCount = 200

    // MARK: Sent frames

    func frameLeft(_ frame: nghttp2_frame) {
        let id = frame.hd.stream_id
        switch UInt32(frame.hd.type) {
        case NGHTTP2_HEADERS.rawValue:
            streams[id]?.isHeadSent = true
            events.append(.sentHead(stream: id, byteCount: frame.hd.length + 9))
        case NGHTTP2_GOAWAY.rawValue where frame.goaway.error_code != HTTP2ErrorCode.none:
            // nghttp2 sends this GOAWAY when the peer breaks the rules of HTTP/2.
            fail(.brokenHTTP2(complaint ?? HTTP2ErrorCode.name(of: frame.goaway.error_code)))
        default: break
        }
    }

    /// Called for a frame that could not be sent.
    ///
    /// If a head is too long, nghttp2 later closes the stream with REFUSED_STREAM, and the message would be sent again
    /// for ever. So the stream fails here, with the real cause.
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
        // The stream ended without an error: its `.end` event was reported before, and the event's handler forgets the
        // stream.
        case HTTP2ErrorCode.none: break
        case HTTP2ErrorCode.refusedStream: fail(id, .reset(by: code), isUnprocessed: true)
        default:
            // The peer sent no RST_STREAM: nghttp2 has reset the stream.
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
