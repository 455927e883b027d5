// The engine's sessions of HTTP/2.

import Fireweed
import FireweedTransport
import Foundation

extension FuzzTarget {
    /// What our side does in the first byte, then the frames of a server; its first settings have come before.
    static let http2Session = FuzzTarget("http2-session", maximumByteCount: 4096) { bytes in
        var rest = bytes
        let choice = rest.takeByte()
        let whole = try HTTP2Found([rest], choice)
        try whole.check(byteCount: rest.count)
        // In two pieces, and no more: libnghttp2 counts a CONTINUATION frame with each piece of its head, up to eight.
        let place = rest.startIndex + rest.count * Int(rest.first ?? 0) / 256
        let pieces = try HTTP2Found([rest[..<place], rest[place...]].filter { !$0.isEmpty }, choice)
        try pieces.check(byteCount: rest.count)
        // A fault of a stream is told at once, and our frames about it leave between the pieces.
        guard !whole.hasFault, !pieces.hasFault else { return }
        try expectEqual(whole.streams, pieces.streams, "responses do not depend on pieces")
    }
}

/// What a session makes of pieces, with three requests in flight: GET, POST with content, and HEAD.
private struct HTTP2Found {
    /// What came on a stream.
    struct Stream: Equatable {
        var interimCount = 0
        var statuses: [Int] = []
        var fields: [Field] = []
        var content: [UInt8] = []
        var trailers: [Field]?
        var isEnded = false
        var failure: String?
    }

    private(set) var streams: [Int32: Stream] = [:]
    private(set) var connectionFailure: String?
    private(set) var sentByteCount = 0
    private let source = RequestContents()

    /// Whether anything was refused, or ended by the peer.
    var hasFault: Bool { connectionFailure != nil || streams.values.contains { $0.failure != nil } }

    init(_ pieces: [ArraySlice<UInt8>], _ choice: UInt8) throws {
        var limits = ResponseLimits()
        limits.maximumHeaderByteCount = 1024
        limits.maximumHeaderFieldCount = 20
        limits.maximumInterimResponseCount = 3
        limits.maximumFramingByteCount = 1024
        let session = try HTTP2Session(limits: limits)
        session.source = source
        for method in ["GET", "POST", "HEAD"] {
            var list = HTTP2FieldList()
            list.append(":method", method.utf8)
            list.append(":scheme", "http".utf8)
            list.append(":authority", "a".utf8)
            list.append(":path", "/".utf8)
            streams[try session.submit(list, hasContent: method == "POST")] = Stream()
        }
        try send(session)
        try take([0, 0, 0, 4, 0, 0, 0, 0, 0], session, choice)
        for piece in pieces {
            // Streams that were forgotten, while frames for them are on their way.
            if choice & 1 != 0 { session.forget(5) }
            try take(Array(piece), session, choice)
        }
        // What came last is a fault too.
        if choice & 2 != 0 { session.forget(1) }
        try send(session)
        connectionFailure = session.failure.map { $0.urlError(failingURL: "").localizedDescription }
    }

    private mutating func take(_ bytes: [UInt8], _ session: HTTP2Session, _ choice: UInt8) throws {
        bytes.withUnsafeBytes { session.receive($0) }
        let failure = session.failure == nil
        try note(session, bytes, reads: choice & 4 == 0)
        try send(session)
        try expect(failure || session.failure != nil, "a failure is for good")
        _ = (session.isOver, session.streamLimit)
    }

    private mutating func send(_ session: HTTP2Session) throws {
        var out: [UInt8] = []
        session.send(into: &out, limit: 1 << 20)
        sentByteCount += out.count
        try note(session, [], reads: false)
    }

    /// Takes what has happened; with `reads`, content is taken, so that the peer may send more.
    private mutating func note(_ session: HTTP2Session, _ bytes: [UInt8], reads: Bool) throws {
        var events: [HTTP2Event] = []
        session.takeEvents(&events)
        for event in events {
            switch event {
            case .interim(let id, let head): try note(id) { try $0.note(interim: head) }
            case .head(let id, let head, _): try note(id) { try $0.note(head) }
            case .content(let id, let range):
                try expect(bytes.indices.contains(range.lowerBound), "content is a part of what came")
                try note(id) { try $0.note(content: bytes[range]) }
                if reads { session.consume(id, range.count) }
            case .end(let id, let trailers): try note(id) { try $0.note(end: trailers) }
            case .failed(let id, let failure):
                let text = failure.failure.urlError(failingURL: "").localizedDescription
                try expect(!text.hasControls, "a sentence steers no terminal")
                try note(id) { $0.failure = text }
            case .sentHead, .sentContent, .settings, .goAway, .pong: break
            }
        }
    }

    private mutating func note(_ id: Int32, _ change: (inout Stream) throws -> Void) throws {
        guard var stream = streams[id] else { throw FuzzFailure(description: "a stream is ours") }
        try expect(stream.failure == nil, "nothing comes after a failure")
        try change(&stream)
        streams[id] = stream
    }

    func check(byteCount: Int) throws {
        // The preface with its settings, three heads, the content, and answers to what came.
        try expect(sentByteCount <= 1024 + 8 * byteCount, "what is sent is in proportion to what came")
        try expect(source.sentByteCount <= RequestContents.byteCount, "content is sent once")
        try expect(!(connectionFailure?.hasControls ?? false), "a sentence steers no terminal")
        for (id, stream) in streams {
            try expect(stream.interimCount <= 3, "interim responses have a limit")
            let isHead = id == 5
            let lengths = stream.fields.filter { $0.name == "content-length" }.compactMap { Int($0.value) }
            guard stream.isEnded, stream.failure == nil, let length = lengths.first, let status = stream.statuses.first
            else { continue }
            try expect(Set(lengths).count == 1, "one length is announced")
            guard !isHead, status != 304, status != 204 else { continue }
            try expect(stream.content.count == length, "content has the length that was announced")
        }
    }
}

extension HTTP2Found.Stream {
    fileprivate mutating func note(interim head: ResponseHead) throws {
        interimCount += 1
        try expect((100..<200).contains(head.status) && head.status != 101, "an interim response has its status")
        try expect(statuses.isEmpty && !isEnded, "interim responses come first")
        try check(head.fields)
    }

    fileprivate mutating func note(_ head: ResponseHead) throws {
        try expect(statuses.isEmpty && !isEnded, "there is one head")
        try expect((200...999).contains(head.status), "a status has three digits")
        statuses.append(head.status)
        fields = head.fields
        try check(fields)
    }

    fileprivate mutating func note(content bytes: ArraySlice<UInt8>) throws {
        try expect(statuses.count == 1 && !isEnded, "content comes after the head")
        content += bytes
    }

    fileprivate mutating func note(end trailers: FieldBlock?) throws {
        try expect(statuses.count == 1 && !isEnded, "a response ends once, after its head")
        isEnded = true
        self.trailers = trailers?.fields
        try check(self.trailers ?? [])
    }

    private func check(_ fields: [Field]) throws {
        try expect(fields.count <= 20, "fields have a limit")
        for field in fields {
            try expect(!field.name.isEmpty && field.name.utf8.first != 0x3A, "a pseudo-header field is no field")
            try expectEqual(field.name, field.name.asciiLowercased, "a name is in lower case")
            try expect(!["\r", "\n", "\0"].contains { field.value.hasByte($0) }, "a value is one line")
            try expect(
                !["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"].contains(field.name),
                "no field is about a connection")
        }
    }
}

/// The content of the POST, in two pieces.
private final class RequestContents: HTTP2ContentSource {
    static let byteCount = 10
    private(set) var sentByteCount = 0

    func content(of stream: Int32, into buffer: UnsafeMutableRawBufferPointer) -> HTTP2ContentSupply {
        let count = min(5, buffer.count, Self.byteCount - sentByteCount)
        for index in 0..<count { buffer[index] = 0x61 }
        sentByteCount += count
        return .bytes(count, isLast: sentByteCount == Self.byteCount)
    }
}
