import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import Testing

/// A part as a judge saw it.
private struct SeenPart: Codable, Equatable, Sendable {
    var name: String
    var filename: String?
    var type: String?
    var byteCount: Int
    var crc32: UInt
}

/// The judges are libmicrohttpd's post processor, and Python's `email` with a reader of forms that keeps to RFC 7578.
@Suite("Multipart forms, read by other libraries", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MultipartJudgesTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private static let crc = """
        import json, sys, zlib
        print(json.dumps([zlib.crc32(bytes.fromhex(text)) for text in json.load(sys.stdin)]))
        """

    // First line: the content type; then the form. Names are read as they stand between their quotes.
    private static let email = """
        import email.parser, email.policy, json, re, sys, zlib
        kind, body = sys.stdin.buffer.read().split(b"\\n", 1)
        head = b"MIME-Version: 1.0\\r\\nContent-Type: " + kind + b"\\r\\n\\r\\n"
        message = email.parser.BytesParser(policy=email.policy.HTTP.clone(utf8=True)).parsebytes(head + body)
        assert message.is_multipart() and not message.defects, message.defects
        # The same by hand, since `email` takes line ends for its own.
        mark = b"--" + kind.split(b"boundary=")[1].strip(b'"')
        pieces = (b"\\r\\n" + body).split(b"\\r\\n" + mark)
        assert pieces[0] == b"" and pieces[-1] == b"--\\r\\n", pieces[-1]
        parts = []
        for piece in pieces[1:-1]:
            assert piece.startswith(b"\\r\\n")
            head, content = piece[2:].split(b"\\r\\n\\r\\n", 1)
            fields = dict(line.split(b": ", 1) for line in head.split(b"\\r\\n"))
            assert set(fields) <= {b"Content-Disposition", b"Content-Type"}, fields
            match = re.fullmatch(rb'form-data; name="([^"]*)"(?:; filename="([^"]*)")?', fields[b"Content-Disposition"])
            assert match, fields
            texts = [text and text.decode() for text in match.groups()]
            type = fields.get(b"Content-Type")
            parts.append({"name": texts[0], "filename": texts[1], "type": type and type.decode(), "byteCount": len(content),
                          "crc32": zlib.crc32(content)})
        assert len(parts) == len(list(message.iter_parts())), "the judges disagree"
        print(json.dumps(parts))
        """

    /// Names that want to be quotes, line ends, parameters and boundaries.
    private func hostileNames() -> [String] {
        var generator = SeededGenerator(seed: 21)
        let chosen = [
            "plain", "", "a\"; filename=\"evil", "a\r\n\r\n--of-ours\r\nContent-Disposition: form-data; name=\"b", "\\",
            "\\\"", "%22", "a;b=c",
            "日本 ä €", "\r\nContent-Type: text/html", "--of-ours--", "\u{0}x",
        ]
        return chosen + (0..<60).map { _ in generator.text() }
    }

    private func escaped(_ name: String) -> String {
        name.unicodeScalars.map { ["\"": "%22", "\r": "%0D", "\n": "%0A"][$0] ?? String($0) }.joined()
    }

    private func crc(_ contents: [Data]) async throws -> [UInt] {
        let hex = contents.map { $0.map { String(format: "%02x", $0) }.joined() }
        return try await Program.python(Self.crc, input: try JSONEncoder().encode(hex), in: folder.url)
    }

    @Test("hostile names and contents stay in their parts, in memory and streamed", arguments: [UInt64(0), .max])
    func hostile(threshold: UInt64) async throws {
        // A NUL would end a name for libmicrohttpd, whose texts end so.
        let names = hostileNames().filter { !$0.unicodeScalars.contains("\0") && !$0.isEmpty }
        let contents = names.indices.map { index in
            index % 3 == 0
                ? Data("\r\n--C\r\n--A-\r\nx\(escaped(names[index]))".utf8) : Data((0...UInt8(index)).map { $0 &* 37 })
        }
        let form = MultipartFormData(boundary: "of-ours")
        var expected: [SeenPart] = []
        let sums = try await crc(contents)
        for (index, name) in names.enumerated() {
            let isFile = index % 2 == 0
            let fileName = isFile ? names[(index + 7) % names.count] : nil
            form.append(contents[index], withName: name, fileName: fileName, mimeType: isFile ? "x/y; q=\"1\"" : nil)
            expected.append(
                SeenPart(
                    name: escaped(name), filename: fileName.map(escaped), type: isFile ? "x/y; q=\"1\"" : nil,
                    byteCount: contents[index].count, crc32: sums[index]))
        }
        let data = try form.encode()
        let seen = try await Program.python(
            Self.email, input: Data("\(form.contentType)\n".utf8) + data, as: [SeenPart].self, in: folder.url)
        #expect(seen == expected)

        let session = Session.isolated()
        _ = await session.upload(multipartFormData: form, to: server.url("/parts"), usingThreshold: threshold)
            .serializingData().response
        let parts = try #require(server.requests.last?.parts)
        let read = parts.map {
            SeenPart(name: $0.name, filename: $0.fileName, type: $0.type, byteCount: $0.byteCount, crc32: $0.checksum)
        }
        #expect(read == expected)
        #expect(server.requests.last?.field("Content-Length") == "\(data.count)")
    }

    @Test(
        "fields of a caller's own that would break their line, or the part, are errors",
        arguments: [
            ["Content-Disposition": "form-data; name=\"a\"\r\nX-Evil: 1"], ["A": "1\n"], ["A": "1\r"], ["A": "\0"],
            ["X Evil": "2"], ["X\r\nEvil": "3"], ["": "4"],
        ])
    func ownFields(headers: [String: String]) async throws {
        let form = MultipartFormData(boundary: "B")
        form.append(InputStream(data: Data("x".utf8)), withLength: 1, headers: HTTPHeaders(headers))
        let name = try #require(headers.keys.first)
        func isRefusal(_ error: any Error) -> Bool {
            return error.asAFError?.isMultipartEncodingError == true
                && error.asAFError?.underlyingError as? MultipartFormDataError == .invalidHeaderField(name: name)
        }
        #expect { try form.encode() } throws: { isRefusal($0) }
        let session = Session.isolated()
        let error = await session.upload(multipartFormData: form, to: server.url("/parts"))
            .serializingData().response.error
        #expect(error.map(isRefusal) == true, "\(String(describing: error))")
    }

    @Test("a media type that would break its line is an error")
    func brokenType() {
        let form = MultipartFormData(boundary: "B")
        form.append(Data(), withName: "b", fileName: "f", mimeType: "text/plain\r\nX-Evil: 4")
        #expect(throws: AFError.self) { try form.encode() }
    }

    @Test("the form in a file, in memory and on the wire is the same")
    func sameBytes() async throws {
        let file = folder.file("big.bin")
        try Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }).write(to: file)
        let form = MultipartFormData()
        form.append(Data("Ada".utf8), withName: "name")
        form.append(file, withName: "f")
        form.append(Data(), withName: "empty")
        let data = try form.encode()
        try form.writeEncodedData(to: folder.file("out"))
        #expect(try Data(contentsOf: folder.file("out")) == data)
        let session = Session.isolated()
        _ = await session.upload(multipartFormData: form, to: server.url("/anything"), usingThreshold: 0)
            .serializingData().response
        #expect(server.requests.last?.body == data)
        #expect(server.requests.last?.field("Content-Type") == form.contentType)
        #expect(form.contentLength == 3_000_003)
    }

    @Test("an empty form, a boundary of one's own that needs quotes, and boundaries that differ")
    func boundaries() async throws {
        #expect(String(decoding: try MultipartFormData(boundary: "B").encode(), as: UTF8.self) == "\r\n--B--\r\n")
        let form = MultipartFormData(boundary: "a b:c")
        #expect(form.contentType == "multipart/form-data; boundary=\"a b:c\"")
        form.append(Data("x".utf8), withName: "n")
        let session = Session.isolated()
        _ = await session.upload(multipartFormData: form, to: server.url("/parts")).serializingData().response
        #expect(server.requests.last?.parts?.map(\.name) == ["n"])
        let made = Set((0..<1000).map { _ in MultipartFormData().boundary })
        #expect(made.count == 1000)
        #expect(made.allSatisfy { $0.wholeMatch(of: #/alamofire\.boundary\.[0-9a-f]{16}/#) != nil })
    }
}
