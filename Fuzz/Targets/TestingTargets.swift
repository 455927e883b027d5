// What FireweedTesting reads from outside: requests that come to its server, and archives.

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
