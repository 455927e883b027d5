import FireweedTesting
import Foundation
import Testing

/// Recorded from a mock server, and replayed without one.
@Suite("Recording transports", .timeLimit(.minutes(testTimeoutMinutes)))
struct RecordingTransportTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    private var file: URL { folder.appendingPathComponent("a/recording.har") }

    private func withFolder(_ body: () async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body()
    }

    /// Runs requests in a mode, and saves.
    private func run<Value>(
        _ mode: RecordingMode, redaction: Redaction = .standard, _ body: (Session) async throws -> Value
    ) async throws -> (value: Value, recordedCount: Int) {
        let transport = try RecordingTransport(contentsOf: file, mode: mode, redaction: redaction)
        let value = try await body(Session(transport: transport))
        try transport.save()
        return (value, transport.recordedCount)
    }

    private func text(_ session: Session, _ url: URL) async throws -> String {
        try await session.request(url).serializingString().value
    }

    @Test("what is missing is recorded, what is there is replayed, and nothing else is sent")
    func modes() async throws {
        try await withFolder {
            let server = try MockServer.start {
                Stub.any("/{name}").reply { .text("\($0.parameters["name"] ?? "") 1") }
            }
            let (a, b) = (server.url("/a"), server.url("/b"))
            #expect(throws: RecordingError.self) { try RecordingTransport(contentsOf: file, mode: .replay) }
            let first = try await run(.recordMissing) { try await text($0, a) }
            #expect(first == ("a 1", 1))
            server.stubs.override { Stub.any("/{name}").reply { .text("\($0.parameters["name"] ?? "") 2") } }

            let second = try await run(.recordMissing) { [try await text($0, a), try await text($0, b)] }
            #expect(second.value == ["a 1", "b 2"] && second.recordedCount == 1)
            #expect(server.stubs.requests.map(\.path) == ["/a", "/b"])

            let passed = try await run(.passThrough) { try await text($0, a) }
            #expect(passed == ("a 2", 0))
            #expect(try Recording(contentsOf: file).count == 2)

            let replayed = try await run(.replay) { session in
                let missing = await session.request(server.url("/c")).serializingData().response
                #expect(missing.error?.underlyingError is UnmatchedRequestError)
                return [try await text(session, a), try await text(session, b)]
            }
            #expect(replayed.value == ["a 1", "b 2"])

            let again = try await run(.rerecord) { try await text($0, a) }
            #expect(again == ("a 2", 1))
            #expect(try Recording(contentsOf: file).count == 1)
            #expect(try await run(.replay) { try await text($0, a) }.value == "a 2")
            #expect(server.stubs.requests.count == 4)
        }
    }

    @Test(
        "tests of one process record into one archive at the same time",
        arguments: [RecordingMode.recordMissing, .rerecord])
    func sharedArchive(mode: RecordingMode) async throws {
        try await withFolder {
            let server = try MockServer.start {
                Stub.any("/{name}").reply { .text($0.parameters["name"] ?? "") }
            }
            // What was there before is renewed, or stays.
            _ = try await run(.recordMissing) { try await text($0, server.url("/old")) }
            let (first, second) = (
                try RecordingTransport(contentsOf: file, mode: mode),
                try RecordingTransport(contentsOf: file, mode: mode)
            )
            let sessions = [Session(transport: first), Session(transport: second)]
            for (transport, session, name) in [(first, 0, "a"), (second, 1, "b"), (first, 0, "c")] {
                #expect(try await text(sessions[session], server.url("/\(name)")) == name)
                try transport.save()
            }
            _ = try await run(mode) { try await text($0, server.url("/b")) }
            server.stop()
            for name in ["a", "b", "c"] + (mode == .recordMissing ? ["old"] : []) {
                #expect(try await run(.replay) { try await text($0, server.url("/\(name)")) }.value == name)
            }
            #expect(try Recording(contentsOf: file).count == (mode == .recordMissing ? 4 : 3))
        }
    }

    @Test("content of every kind, redirects, streams and lost connections are replayed as they came")
    func kinds() async throws {
        try await withFolder {
            let binary = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let server = try MockServer.start {
                Stub.get("/binary").reply(.data(binary, contentType: "image/png"))
                Stub.get("/old").reply(.redirect(to: "/new"))
                Stub.get("/new").reply(.json(["is": "new"]))
                Stub.get("/stream").reply(.stream("one", "two"))
                Stub.get("/latin").reply(
                    .data(Data([0xC3, 0xA9]), contentType: "text/plain; charset=iso-8859-1"))
                Stub.post("/echo").reply { .data($0.body) }
                Stub.get("/cut").reply(.text("0123456789").fault(.closeInBody(after: 4)))
                Stub.get("/lost").reply(.failure(.networkConnectionLost))
                Stub.get("/slow").reply(.text("first part").stalling())
            }
            let play = { (session: Session) in
                var found: [String] = []
                for path in ["binary", "old", "stream", "latin"] {
                    let response = await session.request(server.url("/\(path)")).serializingData().response
                    found.append("\(path) \(response.value?.hashValue ?? 0)")
                }
                let latin = try await session.request(server.url("/latin")).serializingString().value
                #expect(latin == "Ã©")
                for number in 1...2 {
                    let stream = InputStream(data: Data("{\"n\": \(number)}".utf8))
                    let upload = session.upload(
                        stream, to: server.url("/echo"), headers: [.contentType("application/json")])
                    found.append(try await upload.serializingString().value)
                }
                for path in ["cut", "lost"] {
                    let response = await session.request(server.url("/\(path)")).serializingData().response
                    found.append("\((response.error?.underlyingError as? URLError)?.code.rawValue ?? 0)")
                }
                let request = session.streamRequest(server.url("/slow"))
                for await piece in request.streamTask().streamingStrings() {
                    guard let text = piece.value else { continue }
                    found.append(text)
                    request.cancel()
                }
                return found
            }
            let recorded = try await run(.rerecord, redaction: .none, play)
            server.stop()
            let replayed = try await run(.replay, play)
            #expect(recorded.value == replayed.value)
            #expect(recorded.value.suffix(3).first == "\(URLError.Code.networkConnectionLost.rawValue)")
            #expect(recorded.value.last == "first part")
        }
    }

    @Test("secrets are not in the archive, and requests with others find it all the same")
    func redaction() async throws {
        try await withFolder {
            let server = try MockServer.start {
                Stub.any().reply(
                    .json(["access_token": "s3cret", "name": "Ada"], headers: ["Set-Cookie": "id=s3cret"]))
            }
            let ask = { (session: Session, secret: String) in
                let login = session.request(
                    server.url("/login?token=\(secret)&page=1"), method: .post,
                    parameters: ["password": secret, "user": "ada"], encoder: .json,
                    headers: [.authorization(bearerToken: secret)])
                let form = session.upload(
                    multipartFormData: { $0.append(Data(secret.utf8), withName: "password") },
                    to: server.url("/form"))
                _ = try await form.serializingData().value
                return try await login.serializingDecodable(JSONValue.self).value["name"]
            }
            #expect(try await run(.rerecord) { try await ask($0, "s3cret") }.value == "Ada")
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("s3cret"))
            server.stop()
            #expect(try await run(.replay) { try await ask($0, "another") }.value == "Ada")
            _ = try await run(.replay) { session in
                let other = session.request(
                    server.url("/login?token=a&page=1"), method: .post, parameters: ["password": "a", "user": "bo"],
                    encoder: .json)
                let error = await other.serializingData().response.error?.underlyingError as? UnmatchedRequestError
                #expect(error?.description.contains("$.user: expected \"ada\", got \"bo\"") == true)
            }
        }
    }

    @Test("lines of JSON with other secrets are found again, and JSON that cannot be parsed is not replayed")
    func unusualJSON() async throws {
        try await withFolder {
            let server = try MockServer.start {
                Stub.post("/lines").reply(.text("fine"))
                Stub.get("/cut").reply(
                    MockResponse(headers: ["Content-Type": "application/json"], body: Data("{\"token\": \"s3c".utf8)))
            }
            let post = { (session: Session, secret: String, user: String) in
                let lines = "{\"password\": \"\(secret)\"}\n{\"user\": \"\(user)\"}\n"
                let request = session.upload(
                    Data(lines.utf8), to: server.url("/lines"), headers: [.contentType("application/x-ndjson")])
                return await request.serializingString().response
            }
            let cut = { (session: Session) in
                await session.request(server.url("/cut")).serializingData().response.error?.underlyingError
            }
            _ = try await run(.rerecord) { session in
                #expect(await post(session, "s3cret", "ada").value == "fine")
                #expect(await cut(session) == nil)
            }
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("s3c"))
            _ = try await run(.replay) { session in
                #expect(await post(session, "another", "ada").value == "fine")
                #expect(await post(session, "another", "bo").error?.underlyingError is UnmatchedRequestError)
                #expect(await cut(session) is RecordingError)
            }
        }
    }

    @Test("secrets in paths, XML and server-sent events are not in the archive, and requests with others find it")
    func otherContent() async throws {
        try await withFolder {
            let server = try MockServer.start {
                Stub.post("/**").reply(
                    MockResponse(
                        headers: ["Content-Type": "text/xml"], body: Data("<a><token>s3cret9</token><b>c</b></a>".utf8))
                )
                Stub.get("/events").reply(
                    MockResponse(
                        headers: ["Content-Type": "text/event-stream"],
                        body: Data("data: {\"access_token\":\"s3cret9\",\"a\":1}\n\ndata: b\n\n".utf8)))
            }
            let ask = { (session: Session, secret: String, user: String) in
                let request = session.upload(
                    Data("<in>\n<password>\(secret)</password>\n<user>\(user)</user>\n</in>".utf8),
                    to: server.url("/reset-token/\(secret)/do"), headers: [.contentType("application/xml")])
                return await request.serializingString().response
            }
            _ = try await run(.rerecord) { session in
                #expect(await ask(session, "s3cret9", "ada").value == "<a><token>s3cret9</token><b>c</b></a>")
                let events = try await text(session, server.url("/events"))
                #expect(events.contains("s3cret9"))
            }
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("s3cret9"))
            server.stop()
            _ = try await run(.replay) { session in
                #expect(await ask(session, "an0ther", "ada").value == "<a><token>[redacted]</token><b>c</b></a>")
                #expect(await ask(session, "an0ther", "bo").error?.underlyingError is UnmatchedRequestError)
                let events = try await text(session, server.url("/events"))
                #expect(events.hasSuffix("\n\ndata: b\n\n") && events.contains("[redacted]"))
            }
        }
    }

    @Test("fields in which a session has credentials are not in its archive, and not in the text of an error")
    func ownFields() async throws {
        try await withFolder {
            let server = try MockServer.start { Stub.any().reply(.text("fine")) }
            var options = TransportOptions()
            options.credentialFieldNames.append("X-Tenant")
            let ask = { (mode: RecordingMode, path: String) in
                let transport = try RecordingTransport(
                    contentsOf: file, mode: mode, wrapping: EngineTransport(settings: PoolSettings(options: options)))
                let session = Session(transport: transport)
                let request = session.request(server.url(path), headers: ["x-tenant": "s3cret"])
                let response = await request.serializingString().response
                withExtendedLifetime(session) {}
                try transport.save()
                return response
            }
            #expect(try await ask(.rerecord, "/a").value == "fine")
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("s3cret"))
            #expect(try await ask(.replay, "/a").value == "fine")
            let text = try await ask(.replay, "/b").error?.underlyingError?.localizedDescription ?? ""
            #expect(text.contains("x-tenant: [redacted]") && !text.contains("s3cret"))
        }
    }

    @Test("JSON in binary messages of a WebSocket is redacted, and found again with another secret")
    func binaryMessages() async throws {
        try await withFolder {
            let server = try MockServer.start {
                Stub.webSocket("/chat") { socket in
                    socket.send("welcome")
                    _ = try await socket.receive()
                    socket.send(Data("{\"token\": \"s3cret\"}".utf8))
                }
            }
            let url = server.url("/chat").absoluteString.replacingOccurrences(of: "http", with: "ws")
            let talk = { (session: Session, secret: String) in
                let task = session.webSocketRequest(to: url).webSocketTask()
                var count = 0
                for await _ in task.streamingMessages() {
                    count += 1
                    if count == 1 { try await task.send(.data(Data("{\"password\": \"\(secret)\"}".utf8))) }
                }
                return count
            }
            #expect(try await run(.rerecord) { try await talk($0, "s3cret") }.value == 2)
            let archive = try String(contentsOf: file, encoding: .utf8)
            for text in ["{\"token\": \"s3cret\"}", "{\"password\": \"s3cret\"}"] {
                #expect(!archive.contains(Data(text.utf8).base64EncodedString()))
            }
            server.stop()
            #expect(try await run(.replay) { try await talk($0, "another") }.value == 2)
        }
    }

    @Test("the messages of a WebSocket are recorded and replayed")
    func webSocket() async throws {
        try await withFolder {
            let server = try MockServer.start {
                Stub.webSocket("/chat") { socket in
                    socket.send("welcome")
                    socket.send(try await socket.receive())
                    socket.send(Data([1, 2, 255]))
                }
            }
            let url = server.url("/chat").absoluteString.replacingOccurrences(of: "http", with: "ws")
            let talk = { (session: Session) in
                let task = session.webSocketRequest(to: url).webSocketTask()
                var found: [String] = []
                for await message in task.streamingMessages() {
                    switch message {
                    case .string(let text):
                        found.append(text)
                        if text == "welcome" { try await task.send(.string("{\"a\": 1}")) }
                    case .data(let data): found.append(data.base64EncodedString())
                    @unknown default: break
                    }
                }
                return found
            }
            let recorded = try await run(.rerecord, talk)
            #expect(recorded.value == ["welcome", "{\"a\": 1}", "AQL/"])
            server.stop()
            #expect(try await run(.replay, talk).value == recorded.value)
            #expect(try String(contentsOf: file, encoding: .utf8).contains("\"_webSocketMessages\""))
        }
    }

    @Test("entries of an archive keep unknown members")
    func unknownMembers() async throws {
        try await withFolder {
            let server = try MockServer.start { Stub.any().reply(.text("a")) }
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            let archive = """
                {"log": {"entries": [{"_priority": "High", "time": 1.5, "request": {"method": "GET", "url": "\(api)/x"}}]}}
                """
            try Data(archive.utf8).write(to: file)
            _ = try await run(.recordMissing) { try await text($0, server.url()) }
            let json = try JSONValue(parsing: Data(contentsOf: file))
            #expect(json["log"]?["entries"]?[0]?["_priority"] == "High")
            #expect(json["log"]?["entries"]?[1]?["response"]?["content"]?["text"] == "a")
        }
    }

    @Test("a request that is cancelled before it is answered ends, and is no exchange with a response")
    func cancelled() async throws {
        try await withFolder {
            let server = try MockServer.start { Stub.any().reply(.neverAnswers) }
            let transport = try RecordingTransport(contentsOf: file, mode: .rerecord)
            let session = Session(transport: transport)
            let request = session.request(server.url())
            let task = request.serializingData()
            async let response = task.response
            _ = try await server.stubs.takeRequest()
            request.cancel()
            #expect(await response.error?.isExplicitlyCancelledError == true)
            try transport.save()
            let json = try JSONValue(parsing: Data(contentsOf: file))
            #expect(json["log"]?["entries"]?[0]?["response"]?["status"] == 0)
        }
    }
}
