// Targets for the untrusted input of FireweedTesting: requests to its server, and archives.

import Fireweed
import FireweedTesting
import Foundation

extension FuzzTarget {
    /// Requests, one behind the other.
    static let serverRequest = FuzzTarget("server-request", maximumByteCount: 4096) { bytes in
        let found = bytes.cuttings.map { RequestsFound($0) }
        try expectEqual(found[0], found[1], "requests do not depend on pieces")
        try expectEqual(found[0], found[2], "requests do not depend on pieces")
        try expect(bytes.starts(with: found[0].raw), "the bytes of requests are kept as they came")
        for request in found[0].requests {
            try expect(request.content.count <= bytes.count, "content is a part of what came")
            let recorded = RecordedRequest(
                method: request.method, url: "http://a.example\(request.target)", fields: request.fields,
                body: request.content)
            _ = (recorded.queryItems, recorded.form, recorded.parts, recorded.cookies, recorded.url)
            // Matching reads all of it, and says what differs.
            let stubs = Stubs([
                Stub.get("/{a}/b?c=d", .json(["a": 1]), .form(["a": "b"]), .part("a"), .cookie("a", "b"))
            ])
            guard case .failure(let error) = stubs.answer(to: recorded) else { continue }
            try expect("\(error)".contains("No stub matches"), "a request that nothing matches is shown")
        }
    }

    /// An archive.
    static let recording = FuzzTarget("recording", maximumByteCount: 4096) { bytes in
        let recording: Recording
        do {
            recording = try Recording(har: Data(bytes))
        } catch let error as RecordingError {
            return try expect(error.description.contains("no HTTP archive"), "a damaged archive is called one")
        }
        try expectEqual(recording.requests.count, recording.count, "each exchange has a request")
        for match in RecordingMatch.allCases {
            for anyOrigin in [false, true] {
                let stubs = Stubs(recording.stubs(matching: match, anyOrigin: anyOrigin))
                for request in recording.requests { try check(stubs, request) }
            }
        }
    }

    private static func check(_ stubs: Stubs, _ request: RecordedRequest) throws {
        let response: MockResponse
        switch stubs.answer(to: request) {
        case .success(let answer): response = answer.0
        case .failure(let error): throw FuzzFailure(description: "what was recorded is found again: \(error)")
        }
        try expect((101...999).contains(response.status), "a status has three digits")
        for field in response.fields {
            try expect(!field.name.isEmpty && !field.name.hasControls, "a field has a name")
            try expect(!["\r", "\n", "\0"].contains { field.value.hasByte($0) }, "a value is one line")
        }
    }
}

extension FuzzTarget {
    /// Frames of a WebSocket's client.
    static let serverFrames = FuzzTarget("server-frames", maximumByteCount: 4096) { bytes in
        let found = bytes.cuttings.map { FrameEventsFound($0) }
        try expectEqual(found[0], found[1], "messages do not depend on pieces")
        try expectEqual(found[0], found[2], "messages do not depend on pieces")
        let codes: Set<UInt16> = [1002, 1007, 1009]
        try expect(found[0].refusal.map { codes.contains($0.code) } ?? true, "a refusal has a code of its own")
        var byteCount = 0
        for event in found[0].events {
            switch event {
            case .message(let message): byteCount += message.byteCount
            case .ping(let content):
                try expect(content.count <= 125, "a ping is short")
                byteCount += content.count
            case .close(let code, let reason):
                try expect(code != 1005 || reason.isEmpty, "a reason comes with a code")
                try expect(reason.count <= 123, "a reason is short")
                byteCount += reason.count
            }
        }
        try expect(byteCount <= bytes.count, "content is a part of what came")
    }

    /// Frames of an HTTP/2 client, behind its preface and its settings.
    static let serverHTTP2 = FuzzTarget("server-http2", maximumByteCount: 4096) { bytes in
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let whole = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + settings + bytes
        // In two pieces, and no more: libnghttp2 counts a CONTINUATION frame with each piece of its head, up to eight.
        let place = whole.count * Int(bytes.first ?? 0) / 256
        let pieces = [whole[..<place], whole[place...]].filter { !$0.isEmpty }
        let found = [[whole[...]], pieces].map { HTTP2RequestsFound($0).requests }
        try expectEqual(found[0], found[1], "requests do not depend on pieces")
        for request in found[0] {
            try expect(request.content.count <= bytes.count, "content is a part of what came")
        }
    }

    /// A pattern, and a URL that is matched.
    static let urlPattern = FuzzTarget("url-pattern", maximumByteCount: 512) { bytes in
        var lines = bytes.textLines[...]
        let (pattern, url) = (lines.removeFirst(), lines.first ?? "")
        let request = RecordedRequest(method: "GET", url: url, fields: [], body: Data())
        func parameters(_ pattern: URLPattern) -> [String: String]? {
            guard case .success(let answer) = Stubs([Stub.any(pattern)]).answer(to: request) else { return nil }
            return answer.1.parameters
        }
        try expect(parameters("**") != nil, "two asterisks match every URL")
        guard let found = parameters(URLPattern(pattern)) else { return }
        for (name, value) in found {
            try expect(pattern.contains("{\(name)}"), "a parameter has its placeholder")
            try expect(!value.isEmpty, "a placeholder stands for something")
        }
    }
}

/// What the mock server's reader of frames finds.
private struct FrameEventsFound: Equatable {
    private(set) var events: [FrameReader.Event] = []
    private(set) var refusal: FrameReader.Refusal?

    init(_ pieces: [ArraySlice<UInt8>]) {
        var reader = FrameReader(PieceStream(pieces), after: Data())
        do throws(FrameReader.Refusal) {
            while let event = try reader.next() {
                events.append(event)
                if case .close = event { return }
            }
        } catch {
            refusal = error
        }
    }
}

/// What comes of frames, and answers none of it.
private final class HTTP2RequestsFound: RequestHandler, @unchecked Sendable {
    // SAFETY: one thread makes the connection, and serves it.
    private(set) var requests: [RequestsFound.Request] = []

    init(_ pieces: [ArraySlice<UInt8>]) {
        // No number of a descriptor: the stream has the bytes.
        HTTP2ServerConnection(PieceStream(pieces), -1) { self }.serve(after: Data())
    }

    func earlyFault(for request: RecordedRequest) -> ServerFault? { nil }

    func take(_ request: RecordedRequest) -> Result<(MockResponse, RecordedRequest), any Error>? {
        requests.append(
            RequestsFound.Request(
                method: request.method.rawValue, target: request.urlText, fields: request.fields, content: request.body)
        )
        return nil
    }
}

/// What the mock server's reader finds.
private struct RequestsFound: Equatable {
    struct Request: Equatable {
        let method: String
        let target: String
        let fields: [Field]
        let content: Data
    }

    private(set) var requests: [Request] = []
    /// The bytes of all of them, and of the one that is not whole.
    private(set) var raw = Data()

    init(_ pieces: [ArraySlice<UInt8>]) {
        var reader = RequestReader(PieceStream(pieces))
        while let head = reader.head(), let content = reader.content(of: head) {
            raw += reader.raw
            requests.append(Request(method: head.method, target: head.target, fields: head.fields, content: content))
        }
    }
}

/// A connection whose bytes come in these pieces.
private final class PieceStream: ServerStream {
    private var pieces: ArraySlice<ArraySlice<UInt8>>

    init(_ pieces: [ArraySlice<UInt8>]) {
        self.pieces = pieces[...]
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let piece = pieces.popFirst() else { return 0 }
        buffer.copyBytes(from: piece)
        return piece.count
    }

    func write(_ bytes: Data) -> Bool { true }
    func end() {}
}
