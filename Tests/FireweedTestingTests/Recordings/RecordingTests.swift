import FireweedTesting
import Foundation
import Testing

@Suite("Recordings", .timeLimit(.minutes(testTimeoutMinutes)))
struct RecordingTests {
    private static let archive = """
        {"log": {"version": "1.2", "creator": {"name": "a browser", "version": "1"}, "entries": [
          {"startedDateTime": "2024-05-01T10:00:00.000Z", "time": 1,
           "request": {"method": "GET", "url": "https://api.example.com/users?page=1", "headers": []},
           "response": {"status": 200, "headers": [{"name": "content-type", "value": "application/json"},
             {"name": "Content-Encoding", "value": "br"}], "content": {"size": 2, "mimeType": "application/json", "text": "[1]"}}},
          {"startedDateTime": "2024-05-01T10:00:01.000Z",
           "request": {"method": "GET", "url": "https://api.example.com/users?page=1"},
           "response": {"status": 200, "content": {"text": "WzJd", "encoding": "base64"}}},
          {"startedDateTime": "2024-05-01T10:00:02.000Z",
           "request": {"method": "POST", "url": "https://api.example.com/users", "postData": {"mimeType": "application/json", "text": "{\\"a\\": 1}"}},
           "response": {"status": 201, "headers": [], "content": {}}},
          {"startedDateTime": "2024-05-01T10:00:03.000Z",
           "request": {"method": "GET", "url": "https://api.example.com/gone"}, "response": {"status": 0, "content": {}}},
          {"startedDateTime": "2024-05-01T10:00:04.000Z", "_resourceType": "websocket",
           "request": {"method": "GET", "url": "wss://api.example.com/chat"}, "response": {"status": 101, "content": {}},
           "_webSocketMessages": [{"type": "receive", "time": 1, "opcode": 1, "data": "hello"},
             {"type": "send", "time": 2, "opcode": 1, "data": "hi"}, {"type": "receive", "time": 3, "opcode": 1, "data": "bye"}]}
        ]}}
        """

    @Test("exchanges of a browser's archive answer in order, and nothing else does")
    func replay() async throws {
        let session = Session.replaying(try Recording(har: Data(Self.archive.utf8)))
        var texts: [String] = []
        for _ in 0..<3 {
            texts.append(
                try await session.request("\(api)/users", parameters: ["page": "1"]).serializingString()
                    .value)
        }
        #expect(texts == ["[1]", "[2]", "[2]"])
        let posted = await session.request(
            "\(api)/users", method: .post, parameters: ["a": 1], encoder: .json
        )
        .serializingData(emptyResponseCodes: [201]).response
        #expect(posted.response?.statusCode == 201)
        let gone = await session.request("\(api)/gone").serializingData().response
        #expect(gone.error?.underlyingError is URLError)
        for request in [
            session.request("\(api)/users?page=2"), session.request("\(api)/users?page=1&size=9"),
        ] {
            let response = await request.serializingData().response
            #expect(response.error?.underlyingError is UnmatchedRequestError)
        }
    }

    @Test("messages of a WebSocket are replayed as Chrome writes them")
    func webSocket() async throws {
        let session = Session.replaying(try Recording(har: Data(Self.archive.utf8)))
        let task = session.webSocketRequest(to: "wss://api.example.com/chat").webSocketTask()
        var texts: [String] = []
        for await message in task.streamingMessages() {
            guard case .string(let text) = message else { continue }
            texts.append(text)
            if texts.count == 1 { try await task.send(.string("hi")) }
        }
        #expect(texts == ["hello", "bye"])
    }

    @Test("another message than the recorded one ends a WebSocket")
    func wrongMessage() async throws {
        let session = Session.replaying(try Recording(har: Data(Self.archive.utf8)))
        let task = session.webSocketRequest(to: "wss://api.example.com/chat").webSocketTask()
        var texts: [String] = []
        for await message in task.streamingMessages() {
            guard case .string(let text) = message else { continue }
            texts.append(text)
            try await task.send(.string("something else"))
        }
        #expect(texts == ["hello"])
    }

    private func replay(_ match: RecordingMatch) throws -> Session {
        let entries = ["1", "2"].map { number in
            """
            {"request": {"method": "POST", "url": "\(api)/a", "postData": {"mimeType": "text/plain", "text": "\(number)"}},
             "response": {"status": 200, "content": {"text": "answer \(number)"}}}
            """
        }.joined(separator: ",")
        let archive = "{\"log\": {\"entries\": [\(entries)]}}"
        return Session.replaying(try Recording(har: Data(archive.utf8)), matching: match)
    }

    private func answer(of session: Session, to text: String) async -> DataResponse<String, AFError> {
        await session.upload(Data(text.utf8), to: "\(api)/a").serializingString().response
    }

    @Test("requests find their exchange by content, by URL alone, or by their order")
    func matching() async throws {
        let byContent = try replay(.request)
        #expect(await answer(of: byContent, to: "2").value == "answer 2")
        #expect(await answer(of: byContent, to: "1").value == "answer 1")
        #expect(await answer(of: byContent, to: "3").error?.underlyingError is UnmatchedRequestError)

        let byURL = try replay(.methodAndURL)
        var texts: [String?] = []
        for number in 7...9 { texts.append(await answer(of: byURL, to: "\(number)").value) }
        #expect(texts == ["answer 1", "answer 2", "answer 2"])

        #expect(try Recording(har: Data(Self.archive.utf8)).stubs(matching: .order).count == 5)
        let byOrder = try replay(.order)
        let early = await answer(of: byOrder, to: "2").error?.underlyingError as? UnmatchedRequestError
        #expect(early?.description.contains("expected 1, got 2") == true)
        #expect(await answer(of: byOrder, to: "1").value == "answer 1")
        #expect(await answer(of: byOrder, to: "2").value == "answer 2")
        let late = await answer(of: byOrder, to: "2").error?.underlyingError as? UnmatchedRequestError
        #expect(late?.description.contains("order: every exchange has answered") == true)
    }

    @Test("an archive of our own recorder is replayed, redirect and binary content too")
    func roundTrip() async throws {
        let recorder = HARRecorder(includesContent: true)
        let recorded = Session.stubbed(eventMonitors: [recorder]) {
            Stub.get("/old").reply(.redirect(to: "/new"))
            Stub.get("/new").reply(.data(Data([0, 1, 254, 255]), contentType: "image/png"))
        }
        let first = try await recorded.request("\(api)/old").serializingData().value
        let session = Session.replaying(try Recording(har: recorder.archive))
        #expect(try await session.request("\(api)/old").serializingData().value == first)
        #expect(session.stubs.requests.map(\.path) == ["/old", "/new"])
    }

    @Test(
        "dates are read as browsers, proxies and libraries write them",
        arguments: [
            "2024-05-01T10:00:00Z", "2024-05-01T10:00:00.123Z", "2024-05-01T12:00:00.123+02:00",
            "2024-05-01T10:00:00.123456+00:00", "2024-05-01T10:00:00.123456789Z",
        ])
    func dates(text: String) throws {
        let archive = """
            {"log": {"entries": [{"startedDateTime": "\(text)", "request": {"method": "GET", "url": "\(api)/"}}]}}
            """
        let date = try #require(try Recording(har: Data(archive.utf8)).date)
        #expect(abs(date.timeIntervalSince1970 - 1_714_557_600) < 1)
    }

    @Test("an old recording is reported")
    func age() throws {
        let recording = try Recording(har: Data(Self.archive.utf8))
        let later = try #require(recording.date).addingTimeInterval(100)
        try recording.expect(noOlderThan: .seconds(101), now: later)
        #expect(throws: StubExpectationError.self) {
            try recording.expect(noOlderThan: .seconds(99), now: later)
        }
    }
}
