// The engine's codecs: HTTP/1.1, content codings, and what is said to proxies.

import Fireweed
import FireweedTransport
import Foundation
import FoundationNetworking

extension FuzzTarget {
    /// The request in the first byte, then responses.
    static let http1Response = FuzzTarget("http1-response", maximumByteCount: 4096) { bytes in
        var rest = bytes
        let choice = rest.takeByte()
        let method = ["GET", "HEAD", "CONNECT", "POST"][Int(choice & 3)]
        let expectation = ResponseExpectation(method: method, offersUpgrade: choice & 4 != 0)
        let found = rest.cuttings.map { ResponseFound($0, expectation, closes: choice & 8 != 0) }
        try expectEqual(found[0], found[1], "a response does not depend on pieces")
        try expectEqual(found[0], found[2], "a response does not depend on pieces")
        for head in found[0].heads {
            try check(head)
            try checkQuestions(head)
        }
        try check(found[0], method: method)
    }

    private static func check(_ found: ResponseFound, method: String) throws {
        if case .length(let count)? = found.framing {
            try expect(found.content.count <= count, "no more content comes than was announced")
            try expect(!found.isAtEnd || found.content.count == count, "content ends where it was announced")
        }
        if case .none? = found.framing { try expect(found.content.isEmpty, "what has no content has none") }
        try expect(method != "HEAD" || found.content.isEmpty, "HEAD has no content")
        try expect(found.rest.isEmpty || found.isAtEnd, "nothing is left behind but at the end")
        let codes: [URLError.Code] = [
            .badServerResponse, .cannotParseResponse, .networkConnectionLost, .dataLengthExceedsMaximum,
        ]
        try expect(found.code.map(codes.contains) ?? true, "a response is refused with a code of its own")
    }

    /// A head is strict, and what was received of it is the same head again.
    private static func check(_ head: ResponseHead) throws {
        try expect((100...999).contains(head.status), "a status has three digits")
        for field in head.fields {
            try expect(
                !field.name.isEmpty && field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a name is a token")
            try expect(!["\r", "\n", "\0"].contains { field.value.hasByte($0) }, "a value is one line")
        }
        let again = ResponseFound(
            [(head.receivedLines + [0x0D, 0x0A])[...]], ResponseExpectation(method: "HEAD", offersUpgrade: true),
            closes: false)
        // The expectation was another one: framing that a tunnel ignores may be refused now.
        guard let second = again.heads.first else { return }
        try expectEqual(second.fields, head.fields, "fields survive being read again")
        try expectEqual(second.reason, head.reason, "the reason survives being read again")
    }

    /// What is asked of a head agrees with its fields.
    private static func checkQuestions(_ head: ResponseHead) throws {
        let fields = head.fields
        for field in fields {
            try expect(head.contains(field.name), "a field that is listed is there")
            let values = fields.filter { $0.name.isEqualIgnoringASCIICase(field.name) }.map(\.value)
            try expectEqual(head.values(of: field.name), values, "the values of a name are those that are listed")
            try expectEqual(head.value(of: field.name), values.joined(separator: ", "), "several are one list")
        }
        try expect(head.contentLength.map { $0 >= 0 } ?? true, "no length is negative")
        try expectEqual(head.keeping { _ in true }.fields, fields, "what is kept stays as it is")
        let edited = head.setting("Age", to: "1")
        try expectEqual(edited.values(of: "age"), ["1"], "a field that is set is there once")
        _ = head.httpURLResponse(for: Samples.url)
    }

    static let chunked = FuzzTarget("chunked", maximumByteCount: 4096) { bytes in
        let found = bytes.cuttings.map(ChunksFound.init)
        try expectEqual(found[0], found[1], "chunks do not depend on pieces")
        try expectEqual(found[0], found[2], "chunks do not depend on pieces")
        var again: [UInt8] = []
        if !found[0].content.isEmpty {
            ChunkedEncoder.appendSize(found[0].content.count, to: &again)
            again += found[0].content + ChunkedEncoder.chunkEnd
        }
        try ChunkedEncoder.appendEnd(to: &again)
        let second = ChunksFound([again[...]])
        try expect(second.isAtEnd && second.content == found[0].content, "content survives being sent")
    }

    /// The scheme and the credentials in the first byte, then what the proxy says.
    static let socks = FuzzTarget("socks", maximumByteCount: 512) { bytes in
        var rest = bytes
        let choice = rest.takeByte()
        let scheme = [Proxy.Scheme.socks4, .socks4a, .socks5, .socks5h][Int(choice & 3)]
        let hasUser = choice & 4 != 0
        guard let address = IPAddress(choice & 8 != 0 && choice & 2 != 0 ? "2001:db8::1" : "192.0.2.1") else { return }
        let destination: SOCKSHandshake.Destination =
            choice & 1 == 0 ? .address(address, port: 80) : .name("a.example", port: 443)
        let handshake = try SOCKSHandshake(
            scheme, to: destination, user: hasUser ? "user" : nil, password: choice & 16 != 0 ? "secret" : nil)
        let found = rest.cuttings.map { SOCKSFound($0, handshake) }
        try expectEqual(found[0], found[1], "a handshake does not depend on pieces")
        try expectEqual(found[0], found[2], "a handshake does not depend on pieces")
        try expect(found[0].sent.count <= 2, "a handshake has two rounds at most")
        try expect(found[0].rest.isEmpty || found[0].isEstablished, "nothing is left behind but a tunnel's bytes")
        try expect(!(found[0].failure?.contains("secret") ?? false), "no secret is shown")
    }

    /// The credentials in the first byte, then what the proxy says.
    static let connect = FuzzTarget("connect", maximumByteCount: 4096) { bytes in
        var rest = bytes
        let choice = rest.takeByte()
        let schemes = AuthenticationSchemes(rawValue: choice & 15)
        let credentials = RequestMessage.Credentials(user: "user", password: "secret", schemes: schemes)
        let target = try RequestTarget("https://a.example/")
        let handshake = ConnectHandshake(to: target, credentials: choice & 16 == 0 ? nil : credentials)
        let found = rest.cuttings.map { ConnectFound($0, handshake) }
        try expectEqual(found[0], found[1], "a handshake does not depend on pieces")
        try expectEqual(found[0], found[2], "a handshake does not depend on pieces")
        try expect(found[0].roundCount <= 8, "a proxy does not ask for ever")
        try expect(!(found[0].detail?.hasControls ?? false), "a sentence steers no terminal")
        try expect(found[0].contentCount <= 16 * 1024, "no more than the start of a refusal is kept")
    }

    /// The codings in the first byte, then the content.
    static let codings = FuzzTarget("codings", maximumByteCount: 2048) { bytes in
        var rest = bytes
        let choice = rest.takeByte()
        let lists = ["gzip", "deflate", "br", "zstd", "gzip, br", "zstd, deflate", "br, gzip, zstd", "gzip, gzip"]
        let list = lists[Int(choice & 7)]
        let whole = try CodingFound([rest], list, outputByteCount: 4096)
        let others = try rest.cuttings.dropFirst().map { try CodingFound($0, list, outputByteCount: 61) }
        for other in others where !whole.isLimited && !other.isLimited {
            try expect(other.isRefused == whole.isRefused, "what is refused does not depend on pieces")
            guard !whole.isRefused else { continue }
            try expect(other.content == whole.content, "content does not depend on pieces")
        }
    }
}

/// What a parser makes of pieces.
private struct ResponseFound: Equatable {
    private(set) var heads: [ResponseHead] = []
    private(set) var framing: ContentFraming?
    private(set) var content: [UInt8] = []
    private(set) var rest: [UInt8] = []
    private(set) var trailers: [Field]?
    private(set) var isAtEnd = false
    private(set) var isPersistent = false
    private(set) var headerByteCount = 0
    private(set) var failure: String?
    private(set) var code: URLError.Code?

    init(_ pieces: [ArraySlice<UInt8>], _ expectation: ResponseExpectation, closes: Bool) {
        var limits = ResponseLimits()
        limits.maximumHeaderByteCount = 512
        limits.maximumHeaderFieldCount = 20
        limits.maximumInterimResponseCount = 3
        limits.maximumFramingByteCount = 64
        var parser = HTTP1ResponseParser(limits: limits)
        parser.expect(expectation)
        do {
            for piece in pieces { try take(Array(piece), &parser) }
            if closes {
                try parser.finish()
                try take([], &parser)
            }
            isAtEnd = parser.isAtEnd
        } catch let error as TransferFailure {
            (failure, code) = ("\(error)", error.urlError(failingURL: "").code)
        } catch {
            failure = "\(error)"
        }
        (isPersistent, headerByteCount) = (parser.isPersistent, parser.headerByteCount)
        trailers = parser.trailers?.fields
    }

    private mutating func take(_ bytes: [UInt8], _ parser: inout HTTP1ResponseParser) throws {
        try bytes.withUnsafeBytes { buffer in
            var bytes = buffer
            while true {
                switch try parser.next(&bytes) {
                case .needsMore: return
                case .interim(let head): heads.append(head)
                case .head(let head, let framing):
                    heads.append(head)
                    self.framing = framing
                case .content(let piece): content += piece
                case .end:
                    rest += bytes
                    return
                }
            }
        }
    }

    static func == (left: ResponseFound, right: ResponseFound) -> Bool {
        left.heads.map(\.receivedLines) == right.heads.map(\.receivedLines) && left.framing == right.framing
            && left.heads.map(\.fields) == right.heads.map(\.fields) && left.content == right.content
            && left.rest == right.rest && left.trailers == right.trailers && left.isAtEnd == right.isAtEnd
            && left.isPersistent == right.isPersistent && left.headerByteCount == right.headerByteCount
            && left.failure == right.failure
    }
}

/// What the decoder of chunks makes of pieces.
private struct ChunksFound: Equatable {
    private(set) var content: [UInt8] = []
    private(set) var rest: [UInt8] = []
    private(set) var isAtEnd = false
    private(set) var failure: String?

    init(_ pieces: [ArraySlice<UInt8>]) {
        var decoder = ChunkedDecoder(framingLimit: 128)
        do {
            for piece in pieces {
                try Array(piece).withUnsafeBytes { buffer in
                    var bytes = buffer
                    while !isAtEnd {
                        switch try decoder.next(&bytes) {
                        case .needsMore: return
                        case .content(let piece): content += piece
                        case .lastChunk: isAtEnd = true
                        }
                    }
                    rest += bytes
                }
            }
        } catch {
            failure = "\(error)"
        }
    }
}

/// What a SOCKS handshake makes of pieces.
private struct SOCKSFound: Equatable {
    private(set) var sent: [[UInt8]] = []
    private(set) var rest: [UInt8] = []
    private(set) var isEstablished = false
    private(set) var failure: String?

    init(_ pieces: [ArraySlice<UInt8>], _ handshake: SOCKSHandshake) {
        var handshake = handshake
        do {
            for piece in pieces {
                try Array(piece).withUnsafeBytes { buffer in
                    var bytes = buffer
                    while true {
                        switch try handshake.next(&bytes) {
                        case .needsMore: return
                        case .send(let bytes): sent.append(bytes)
                        case .established:
                            isEstablished = true
                            rest += bytes
                            return
                        }
                    }
                }
            }
        } catch {
            failure = "\(error)"
        }
    }
}

/// What a CONNECT handshake makes of pieces; answers to challenges have random text of ours.
private struct ConnectFound: Equatable {
    private(set) var events: [String] = []
    private(set) var rest: [UInt8] = []
    private(set) var detail: String?
    private(set) var contentCount = 0
    private(set) var roundCount = 0

    init(_ pieces: [ArraySlice<UInt8>], _ handshake: ConnectHandshake) {
        var handshake = handshake
        do {
            _ = try handshake.begin()
            for piece in pieces where detail == nil {
                try Array(piece).withUnsafeBytes { buffer in
                    var bytes = buffer
                    while take(try handshake.next(&bytes), bytes) {
                        if events.last == "reconnect" { _ = try handshake.begin() }
                    }
                }
            }
        } catch {
            detail = "\((error as? TransferFailure)?.urlError(failingURL: "").localizedDescription ?? "\(error)")"
        }
    }

    /// Whether more events may follow.
    private mutating func take(_ event: ConnectHandshake.Event, _ bytes: UnsafeRawBufferPointer) -> Bool {
        switch event {
        case .needsMore: return false
        case .send: events.append("send")
        case .reconnect: events.append("reconnect")
        case .established:
            if events.last != "established" { events.append("established") }
            rest += bytes
            return false
        case .refused(let refusal):
            events.append("refused")
            detail = refusal.failure.urlError(failingURL: "").localizedDescription
            contentCount = refusal.content.count
            return false
        }
        roundCount += 1
        return true
    }
}

/// What a decoder makes of pieces.
private struct CodingFound {
    private static let limit = 100_000
    private(set) var content: [UInt8] = []
    private(set) var isRefused = false
    private(set) var isLimited = false

    init(_ pieces: [ArraySlice<UInt8>], _ list: String, outputByteCount: Int) throws {
        var options = TransportOptions()
        options.maximumContentCodingCount = 5
        guard let decoder = try ContentDecoder.make(for: list, limits: ContentLimits(options)) else { return }
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: outputByteCount, alignment: 1)
        defer { output.deallocate() }
        do {
            for piece in pieces {
                try Array(piece).withUnsafeBytes { buffer in
                    var bytes = buffer
                    decoding: while !isLimited {
                        var turn = TurnBudget(start: 0, clock: { 0 })
                        switch try decoder.decode(&bytes, into: output, turn: &turn) {
                        case .bytes(let count): content += output[..<count]
                        case .paused: break
                        case .needsInput: break decoding
                        }
                        isLimited = content.count > Self.limit
                    }
                }
            }
            if !isLimited { try decoder.finish(isEmpty: pieces.isEmpty, endedByClose: false) }
        } catch {
            isRefused = true
        }
    }
}
