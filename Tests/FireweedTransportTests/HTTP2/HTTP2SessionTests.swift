import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("HTTP/2 sessions, fed with bytes")
struct HTTP2SessionTests {
    /// A session that has sent a request on stream 1 and got the peer's settings.
    private static func session(
        limits: ResponseLimits = ResponseLimits(), method: String = "GET"
    ) throws -> HTTP2Session {
        let session = try HTTP2Session(limits: limits)
        let stream = try session.submit(head(method), hasContent: false)
        #expect(stream == 1)
        _ = sent(by: session)
        _ = events(of: Frames.frame(Frames.settings) + Frames.frame(Frames.settings, 1), in: session)
        return session
    }

    /// The head of a request.
    private static func head(_ method: String = "GET") -> HTTP2FieldList {
        var list = HTTP2FieldList()
        list.append(":method", method.utf8)
        list.append(":scheme", "http".utf8)
        list.append(":authority", "localhost".utf8)
        list.append(":path", "/".utf8)
        return list
    }

    /// The frames that a session has to send, without the preface: type, flags, stream and payload.
    private static func sent(by session: HTTP2Session) -> [(type: UInt8, stream: UInt32, payload: [UInt8])] {
        var bytes: [UInt8] = []
        session.send(into: &bytes, limit: 1 << 20)
        if bytes.starts(with: Array("PRI".utf8)) { bytes.removeFirst(24) }
        var frames: [(UInt8, UInt32, [UInt8])] = []
        while bytes.count >= 9 {
            let length = bytes[0..<3].reduce(0) { $0 << 8 | Int($1) }
            let stream = bytes[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            frames.append((bytes[3], stream, Array(bytes[9..<(9 + length)])))
            bytes.removeFirst(9 + length)
        }
        return frames
    }

    /// What bytes bring, one line for each event; what follows from sending is among it.
    private static func events(of bytes: [UInt8], in session: HTTP2Session) -> [String] {
        bytes.withUnsafeBytes { session.receive($0) }
        var lines: [String] = []
        var events: [HTTP2Event] = []
        session.takeEvents(&events)
        lines += events.compactMap { text(of: $0, bytes) }
        var out: [UInt8] = []
        session.send(into: &out, limit: 1 << 20)
        session.takeEvents(&events)
        lines += events.compactMap { text(of: $0, bytes) }
        if let failure = session.failure {
            lines.append("connection: \(failure.urlError(failingURL: "").localizedDescription)")
        }
        return lines
    }

    private static func text(of event: HTTP2Event, _ bytes: [UInt8]) -> String? {
        switch event {
        case .interim(let id, let head): "\(id) interim \(head.status)"
        case .head(let id, let head, _):
            "\(id) head \(head.status) \(String(decoding: head.section, as: UTF8.self).replacing("\r\n", with: "|"))"
        case .content(let id, let range): "\(id) content \(String(decoding: bytes[range], as: UTF8.self))"
        case .end(let id, let trailers): "\(id) end\(trailers.map { " \($0.fields.map(\.name))" } ?? "")"
        case .failed(let id, let failure):
            "\(id) failed\(failure.isUnprocessed ? " unprocessed" : ""): "
                + failure.failure.urlError(failingURL: "").localizedDescription
        case .goAway(let code, _): code == 0 ? "going away" : "going away by \(HTTP2ErrorCode.name(of: code))"
        case .sentHead, .sentContent, .settings, .pong: nil
        }
    }

    @Test("the first frames refuse pushes, and open the connection's window")
    func preface() throws {
        let session = try HTTP2Session(limits: ResponseLimits())
        let frames = Self.sent(by: session)
        #expect(frames.map(\.type) == [Frames.settings, Frames.window])
        #expect(frames[0].payload.starts(with: [0, 2, 0, 0, 0, 0]))
        #expect(frames[1].payload == Frames.number(UInt32(HTTP2Session.connectionWindowByteCount - 65535)))
    }

    private static let answer = Frames.head() + Frames.content("hel") + Frames.content("lo", ends: true)

    /// What a peer sends, and what it brings.
    private static let rows: [(name: String, bytes: [UInt8], lines: [String])] = [
        ("an answer", answer, ["1 head 200 ", "1 content hel", "1 content lo", "1 end"]),
        (
            "interim responses", Frames.head(Frames.field(":status", "103")) + Frames.head([0x88], ends: true),
            ["1 interim 103", "1 head 200 ", "1 end"]
        ),
        (
            "trailers", Frames.head() + Frames.content("a") + Frames.head(Frames.field("checksum", "42"), ends: true),
            ["1 head 200 ", "1 content a", "1 end [\"checksum\"]"]
        ),
        (
            "fields in their order",
            Frames.head(Frames.ok + Frames.field("b", "1") + Frames.field("a", "2"), ends: true),
            ["1 head 200 b: 1|a: 2|", "1 end"]
        ),
        (
            "a reset without error after the answer",
            answer + Frames.frame(Frames.reset, stream: 1, Frames.number(0)),
            ["1 head 200 ", "1 content hel", "1 content lo", "1 end"]
        ),
        (
            "a reset in the answer", Frames.head() + Frames.frame(Frames.reset, stream: 1, Frames.number(2)),
            ["1 head 200 ", "1 failed: the server reset the stream: INTERNAL_ERROR (RFC 9113 §7)"]
        ),
        (
            "REFUSED_STREAM", Frames.frame(Frames.reset, stream: 1, Frames.number(7)),
            ["1 failed unprocessed: the server reset the stream: REFUSED_STREAM (RFC 9113 §7)"]
        ),
        (
            "GOAWAY below the stream", Frames.frame(Frames.goAway, Frames.number(0) + Frames.number(0)),
            ["going away", "1 failed unprocessed: the server reset the stream: REFUSED_STREAM (RFC 9113 §7)"]
        ),
        (
            "GOAWAY above the stream", Frames.frame(Frames.goAway, Frames.number(1) + Frames.number(0)) + answer,
            ["going away", "1 head 200 ", "1 content hel", "1 content lo", "1 end"]
        ),
        (
            "a status of two digits", Frames.head(Frames.field(":status", "20"), ends: true),
            ["1 failed: "]
        ),
        ("a status with a letter", Frames.head(Frames.field(":status", "2x0"), ends: true), ["1 failed: "]),
        ("no status", Frames.head(Frames.field("a", "b"), ends: true), ["1 failed: "]),
        ("101", Frames.head(Frames.field(":status", "101")), ["1 failed: "]),
        ("a field in upper case", Frames.head(Frames.ok + Frames.field("A", "b"), ends: true), ["1 failed: "]),
        ("a field with LF", Frames.head(Frames.ok + Frames.field("a", "b\nc"), ends: true), ["1 failed: "]),
        (
            "a field of the connection", Frames.head(Frames.ok + Frames.field("connection", "close"), ends: true),
            ["1 failed: "]
        ),
        (
            "an unknown pseudo-header field", Frames.head(Frames.ok + Frames.field(":a", "b"), ends: true),
            ["1 failed: "]
        ),
        ("a pseudo-header field behind", Frames.head(Frames.field("a", "b") + Frames.ok, ends: true), ["1 failed: "]),
        (
            "too little content",
            Frames.head(Frames.ok + Frames.field("content-length", "9")) + Frames.content("a", ends: true),
            ["1 head 200 content-length: 9|", "1 content a", "1 failed: "]
        ),
        (
            "too much content", Frames.head(Frames.ok + Frames.field("content-length", "1")) + Frames.content("ab"),
            ["1 head 200 content-length: 1|", "1 failed: "]
        ),
        (
            "two lengths",
            Frames.head(Frames.ok + Frames.field("content-length", "1") + Frames.field("content-length", "2")),
            ["1 failed: "]
        ),
        ("content before the head", Frames.content("a"), ["connection: "]),
        ("content on stream 0", Frames.content(stream: 0, "a"), ["connection: "]),
        (
            "a push", Frames.frame(Frames.push, Frames.endHeaders, stream: 1, Frames.number(2) + Frames.ok),
            ["1 failed: ", "connection: "]
        ),
        ("a stream that was never opened", Frames.head(stream: 5), ["connection: "]),
        ("HTTP/1.1", Array("HTTP/1.1 200 OK\r\n\r\n".utf8), ["connection: "]),
        ("broken compression", Frames.head([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), ["connection: "]),
        ("an overflowing window", Frames.frame(Frames.window, Frames.number(0x7FFF_FFFF)), ["connection: "]),
        (
            "a frame that is too long", [0x00, 0x40, 0x01, Frames.data, 0] + Frames.number(1), ["connection: "]
        ),
    ]

    @Test("what comes is what is told", arguments: rows)
    func events(row: (name: String, bytes: [UInt8], lines: [String])) throws {
        let lines = Self.events(of: row.bytes, in: try Self.session())
        // Rows that end in a colon leave the sentence to nghttp2.
        let isSame =
            lines.count == row.lines.count
            && zip(lines, row.lines).allSatisfy {
                $1.hasSuffix(": ") ? $0.hasPrefix($1) && $0.count > $1.count : $0 == $1
            }
        #expect(isSame, "\(lines)")
    }

    @Test("an answer in HTTP/1 is called that, before and behind the first settings, wherever it is cut")
    func answerInHTTP1() throws {
        let answer = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
        for hasSettings in [false, true] {
            for cut in 0..<9 {
                let session = hasSettings ? try Self.session() : try HTTP2Session(limits: ResponseLimits())
                var lines = Self.events(of: Array(answer[..<cut]), in: session)
                lines += Self.events(of: Array(answer[cut...]), in: session)
                let sentence = "the connection is for HTTP/2, as was agreed or told, and the server answers in HTTP/1"
                #expect(lines.last?.contains(sentence) == true, "\(lines)")
            }
        }
    }

    @Test("the fault of one stream is not told of another one")
    func faults() throws {
        let faulty = Frames.head(Frames.ok + Frames.field("connection", "close") + Frames.ok, ends: true)
        let short =
            Frames.head(stream: 3, Frames.ok + Frames.field("content-length", "9"))
            + Frames.content(stream: 3, "a", ends: true)
        let twice = Frames.head(stream: 3, Frames.ok + Frames.ok, ends: true)
        let none = Frames.head(stream: 3, Frames.field("a", "b"), ends: true)
        for (bytes, sentence) in [
            (Frames.head(Frames.ok + Frames.ok, ends: true) + short, "the response is malformed (RFC 9113 §8.1.1)"),
            (short + Frames.head(Frames.ok + Frames.ok, ends: true), "the response is malformed (RFC 9113 §8.1.1)"),
            (faulty + none, "Violation in HTTP messaging rule"),
            (faulty + twice, "Invalid HTTP header field was received: frame type: 1, stream: 3, name: [:status]"),
        ] {
            let session = try Self.session()
            _ = try session.submit(Self.head(), hasContent: false)
            _ = Self.sent(by: session)
            let lines = Self.events(of: bytes, in: session)
            let failed = lines.filter { $0.hasPrefix("3 failed") }
            #expect(failed.count == 1 && failed[0].contains(sentence), "\(lines)")
        }
    }

    @Test("bytes may be cut anywhere", arguments: rows)
    func cut(row: (name: String, bytes: [UInt8], lines: [String])) throws {
        let whole = Self.events(of: row.bytes, in: try Self.session())
        let session = try Self.session()
        var lines: [String] = []
        for byte in row.bytes { lines += Self.events(of: [byte], in: session) }
        // Content may be told before it turns out to be too long.
        let isFailure = whole.contains { $0.contains(" failed") }
        func skeleton(_ lines: [String]) -> [String] {
            var result: [String] = []
            for line in lines where !isFailure || !line.contains(" content ") {
                let words = line.split(separator: " ")
                let key = words.prefix(2).joined(separator: " ")
                if words.dropFirst().first == "content" || words.first == "connection:", result.last == key { continue }
                result.append(key)
            }
            return result
        }
        if !row.lines.contains("connection: ") { #expect(skeleton(lines) == skeleton(whole)) }
        #expect(lines.contains { $0.hasPrefix("connection") } == whole.contains { $0.hasPrefix("connection") })
    }

    @Test("the limits on header sections are ours")
    func headerLimits() throws {
        var limits = ResponseLimits()
        limits.maximumHeaderByteCount = 200
        limits.maximumHeaderFieldCount = 3
        limits.maximumInterimResponseCount = 2
        // Name, value and 32 count (RFC 9113 §6.5.2): `:status` has 42, each of these 34.
        let small = Frames.field("a", "b")
        func lines(_ bytes: [UInt8]) throws -> [String] { Self.events(of: bytes, in: try Self.session(limits: limits)) }
        #expect(try lines(Frames.head(Frames.ok + small + small + small))[0].hasPrefix("1 head"))
        #expect(try lines(Frames.head(Frames.ok + small + small + small + small))[0].contains("more fields"))
        let long = Frames.field("a", String(repeating: "b", count: 120))
        #expect(try lines(Frames.head(Frames.ok + long))[0].hasPrefix("1 head"))
        #expect(try lines(Frames.head(Frames.ok + long + small))[0].contains("longer than the limit"))
        let early = Frames.head(Frames.field(":status", "103"))
        #expect(try lines(early + early + early).last?.contains("interim") == true)
    }

    @Test("a head that is too long to be sent is an error, and no reason to send it again")
    func longHead() throws {
        for (byteCount, isSent) in [(100 << 10, true), (2 << 20, false)] {
            let session = try Self.session()
            var list = HTTP2FieldList()
            list.append(":method", "GET".utf8)
            list.append("x-long", [UInt8](repeating: 0x61, count: byteCount))
            _ = try session.submit(list, hasContent: false)
            let frames = Self.sent(by: session)
            var events: [HTTP2Event] = []
            session.takeEvents(&events)
            let lines = events.compactMap { Self.text(of: $0, []) }
            #expect(frames.contains { $0.type == Frames.headers } == isSent)
            #expect(lines == (isSent ? [] : ["3 failed: the request's header section is too long for HTTP/2"]))
        }
    }

    @Test("a stream's window opens when its content is taken, the connection's at once")
    func windows() throws {
        let session = try Self.session()
        _ = Self.events(of: Frames.head(), in: session)
        let piece = Frames.content(String(repeating: "a", count: 16384))
        var frames: [(type: UInt8, stream: UInt32, payload: [UInt8])] = []
        func feed(_ count: Int) {
            for _ in 0..<count {
                piece.withUnsafeBytes { session.receive($0) }
                frames += Self.sent(by: session)
            }
        }
        feed(HTTP2Session.streamWindowByteCount / 16384)
        #expect(frames.filter { $0.type == Frames.window && $0.stream == 1 }.isEmpty && session.failure == nil)
        session.consume(1, HTTP2Session.streamWindowByteCount)
        frames = Self.sent(by: session)
        #expect(frames.contains { $0.type == Frames.window && $0.stream == 1 })
    }

    @Test("a peer that sends more than the window allows is a broken one")
    func windowExceeded() throws {
        let session = try Self.session()
        _ = Self.events(of: Frames.head(), in: session)
        let piece = Frames.content(String(repeating: "a", count: 16384))
        var lines: [String] = []
        for _ in 0...(HTTP2Session.streamWindowByteCount / 16384) { lines += Self.events(of: piece, in: session) }
        let contentCount = lines.count { $0.hasPrefix("1 content ") }
        #expect(contentCount <= HTTP2Session.streamWindowByteCount / 16384 + 1)
        #expect(lines.last?.contains("FLOW_CONTROL") == true, "\(lines.last ?? "")")
    }

    @Test("a stream that is forgotten is reset, unless both sides have ended it")
    func forget() throws {
        let first = try Self.session()
        #expect(first.forget(1))
        let frames = Self.sent(by: first)
        #expect(frames.map(\.type) == [Frames.reset] && frames.first?.payload == Frames.number(HTTP2ErrorCode.cancel))
        #expect(Self.events(of: Self.answer, in: first).isEmpty)
        let second = try Self.session()
        _ = Self.events(of: Self.answer, in: second)
        #expect(!second.forget(1) && Self.sent(by: second).isEmpty)
    }

    @Test("identifiers end, and the connection with them")
    func identifiers() throws {
        let session = try Self.session()
        #expect(session.hasStreamsLeft)
        session.skip(to: 0x7FFF_0001)
        #expect(!session.hasStreamsLeft)
    }

    @Test("the peer's limit on streams")
    func streamLimit() throws {
        let session = try Self.session()
        for limit: UInt32 in [0, 1, 1000] {
            _ = Self.events(of: Frames.frame(Frames.settings, [0, 3] + Frames.number(limit)), in: session)
            #expect(session.streamLimit == Int(limit))
        }
    }
}
