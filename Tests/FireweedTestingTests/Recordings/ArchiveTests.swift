import FireweedTesting
import Foundation
import Testing

/// What the writers of archives do, and what happens to their files.
@Suite("HAR files of other programs", .timeLimit(.minutes(testTimeoutMinutes)))
struct ArchiveTests {
    /// An archive with one exchange, whose response has these members, with `'` for `"`.
    private func session(response: String, method: HTTPMethod = .get, request: String = "") throws -> Session {
        let text = """
            {'log': {'entries': [{'request': {'method': '\(method.rawValue)', 'url': '\(api)/a'\(request)}, 'response': {\(response)}}]}}
            """
        return Session.replaying(try Recording(har: Data(text.replacingOccurrences(of: "'", with: "\"").utf8)))
    }

    private func response(_ members: String) async throws -> DataResponse<Data, AFError> {
        let session = try session(response: members)
        let response = await session.request("\(api)/a").serializingData(emptyResponseCodes: [200]).response
        return withExtendedLifetime(session) { response }
    }

    @Test("binary content comes back byte for byte, however its Base64 is broken into lines")
    func binary() async throws {
        let content = try await response("'status': 200, 'content': {'text': 'AP8Q\\r\\n gH8=', 'encoding': 'base64'}")
        #expect(content.value == Data([0x00, 0xFF, 0x10, 0x80, 0x7F]))
    }

    @Test("text is UTF-8 in an archive, whatever it was on the wire")
    func characterSet() async throws {
        let session = try session(
            response: """
                'status': 200, 'headers': [{'name': 'Content-Type', 'value': 'text/plain; charset=iso-8859-1'}],
                'content': {'text': 'Grüße'}
                """)
        #expect(try await session.request("\(api)/a").serializingString().value == "Grüße")
    }

    @Test("pseudo fields of HTTP/2 are left out, and fields that a browser joined are taken apart")
    func fields() async throws {
        let found = try await response(
            """
            'status': 200, 'headers': [{'name': ':status', 'value': '200'}, {'name': 'x-empty'},
              {'name': 'set-cookie', 'value': 'a=1\\nb=2'}, {'name': 'bad name', 'value': 'x'}], 'content': null
            """)
        let fields = found.response?.headers.dictionary.keys.map { $0.lowercased() }
        #expect(fields?.contains { $0.hasPrefix(":") || $0.contains(" ") } == false)
        let session = try session(
            response: "'status': 200, 'headers': [{'name': 'set-cookie', 'value': 'a=1\\nb=2'}]")
        for _ in 0..<2 { _ = await session.request("\(api)/a").serializingData().response }
        #expect(session.stubs.requests.last?.cookies == ["a": "1", "b": "2"])
    }

    @Test(
        "an exchange without a response fails as a lost connection",
        arguments: ["'status': 0", "'status': -1", "'status': 70000", "", "'status': 101"])
    func noResponse(members: String) async throws {
        let found = try await response(members)
        #expect((found.error?.underlyingError as? URLError)?.code == .networkConnectionLost)
    }

    @Test("content that was not recorded is an error that says so, and no empty response")
    func missingContent() async throws {
        let found = try await response("'status': 200, 'content': {'size': 7, 'mimeType': 'text/plain'}")
        let error = try #require(found.error?.underlyingError as? RecordingError)
        #expect(error.description.contains("no content for GET \(api)/a"))
    }

    @Test(
        "content of a response that cannot have any is ignored, by stubs and by a server (RFC 9110 §6.4.1)",
        arguments: [
            (HTTPMethod.head, 200, "12" as String?), (.get, 204, nil),
            (.get, 304, "12"),  // browsers write the content of their cache
        ], [true, false])
    func forbiddenContent(row: (method: HTTPMethod, status: Int, length: String?), isOnServer: Bool) async throws {
        let text = """
            {'log': {'entries': [{'request': {'method': '\(row.method.rawValue)', 'url': '\(api)/a'},
              'response': {'status': \(row.status), 'headers': [{'name': 'Content-Length', 'value': '12'}],
              'content': {'size': 6, 'text': 'cached'}}}]}}
            """
        let recording = try Recording(har: Data(text.replacingOccurrences(of: "'", with: "\"").utf8))
        let server = try MockServer.start { recording.stubs(matching: .request, anyOrigin: true) }
        let session = isOnServer ? Session(configuration: .ephemeral) : Session.replaying(recording)
        let url = isOnServer ? server.url("/a").absoluteString : "\(api)/a"
        // Bytes behind the first response would be the head of the second.
        for _ in 0..<2 {
            let response = await session.request(url, method: row.method)
                .serializingData(emptyResponseCodes: [204, 304], emptyRequestMethods: [.head]).response
            #expect(response.error == nil && response.response?.statusCode == row.status)
            #expect(response.data == nil && response.response?.headers["Content-Length"] == row.length)
        }
    }

    @Test("no length is made up for a response to HEAD whose length was not recorded")
    func unknownLength() async throws {
        let session = try session(response: "'status': 200, 'content': {'size': 6, 'text': 'cached'}", method: .head)
        let response = await session.request("\(api)/a", method: .head)
            .serializingData(emptyRequestMethods: [.head]).response
        #expect(response.error == nil && response.response?.headers["Content-Length"] == nil)
    }

    @Test(
        "members that replaying does not need may have any value",
        arguments: [
            "'status': 200, 'content': {'size': null, 'text': 'a', 'mimeType': null, 'encoding': null}",
            "'status': 200, 'content': {'size': '1', 'text': 'a'}",
            "'status': 200, 'content': {'size': 1.5, 'text': 'a'}",
            "'status': 200, 'headersSize': null, 'bodySize': null, 'cookies': null, 'content': {'size': -1, 'text': 'a'}",
            "'status': 200.0, 'statusText': 7, 'redirectURL': null, 'headers': null, 'content': {'text': 'a'}",
        ])
    func oddMembers(members: String) async throws {
        #expect(try await response(members).value == Data("a".utf8))
    }

    @Test("a form whose text is missing is compared by its parameters")
    func formParameters() async throws {
        let session = try session(
            response: "'status': 200", method: .post,
            request: """
                , 'postData': {'mimeType': 'application/x-www-form-urlencoded',
                  'params': [{'name': 'a b', 'value': '1&2'}, {'name': 'token', 'value': '[redacted]'}]}
                """)
        let request = { (parameters: [String: String]) in
            var request = URLRequest(url: URL(string: "\(api)/a") ?? URL(fileURLWithPath: "/"))
            request.httpMethod = "POST"
            let pairs = parameters.map { "\($0.key.replacingOccurrences(of: " ", with: "+"))=\($0.value)" }
            request.httpBody = Data(pairs.joined(separator: "&").utf8)
            request.headers.add(.contentType("application/x-www-form-urlencoded"))
            return session.request(request)
        }
        let found = await request(["token": "secret", "a b": "1%262"]).serializingData(emptyResponseCodes: [200])
            .response
        #expect(found.error == nil)
        let other = await request(["token": "secret", "a b": "2"]).serializingData().response
        #expect(other.error?.underlyingError is UnmatchedRequestError)
    }

    @Test("a WebSocket whose messages are not in the archive opens and closes")
    func silentWebSocket() async throws {
        let archive = """
            {"log": {"entries": [{"_resourceType": "websocket", "request": {"method": "GET", "url": "wss://api.example.com/chat"},
              "response": {"status": 101}}]}}
            """
        let session = Session.replaying(try Recording(har: Data(archive.utf8)))
        let task = session.webSocketRequest(to: "wss://api.example.com/chat").webSocketTask()
        for await _ in task.streamingMessages() {}
        #expect(session.stubs.requests.count == 1)
    }

    @Test("a second WebSocket to a URL has the second conversation, and a refused one is refused")
    func severalWebSockets() async throws {
        let request = #""request": {"method": "GET", "url": "wss://api.example.com/chat"}"#
        let message = { (text: String) in #"[{"type": "receive", "opcode": 1, "data": "\#(text)"}]"# }
        let archive = """
            {"log": {"entries": [
              {"_webSocketMessages": \(message("one")), \(request), "response": {"status": 101}},
              {"_webSocketMessages": [], \(request), "response": {"status": 403}},
              {"_webSocketMessages": \(message("two")), \(request), "response": {"status": 101}}
            ]}}
            """
        let session = Session.replaying(try Recording(har: Data(archive.utf8)))
        var texts: [String] = []
        var failures = 0
        for _ in 0..<3 {
            let request = session.webSocketRequest(to: "wss://api.example.com/chat")
            for await message in request.webSocketTask().streamingMessages() {
                if case .string(let text) = message { texts.append(text) }
            }
            if request.error != nil { failures += 1 }
        }
        #expect(texts == ["one", "two"] && failures == 1)
    }

    @Test(
        "a damaged archive is an error with the place of the damage",
        arguments: [
            ("", "HAR"), ("[]", "another type than"), ("{}", "log is missing"),
            ("{'log': {}}", "at log: entries is missing"),
            ("{'log': {'entries': [{}]}}", "at log.entries[0]: request is missing"),
            (
                "{'log': {'entries': [{'request': {'method': 'GET', 'url': 7}}]}}",
                "at log.entries[0].request.url: a value of another type"
            ),
            (
                "{'log': {'entries': [{'request': {'method': 'GET', 'url': 'u'}, 'response': {'content': "
                    + "{'text': 'a-b', 'encoding': 'base64'}}}]}}",
                "at log.entries[0].response.content.text: the text is not Base64"
            ),
            (
                "{'log': {'entries': [{'request': {'method': 'GET', 'url': 'u'}, 'response': {'content': "
                    + "{'text': 'a', 'encoding': 'rot13'}}}]}}",
                "rot13 is an unknown encoding"
            ),
            (
                "{'log': {'entries': [{'request': {'method': 'GET', 'url': 'u'}, '_webSocketMessages': "
                    + "[{'type': 'receive', 'opcode': 2, 'data': '!'}]}]}}",
                "a binary message is not Base64"
            ),
        ])
    func damaged(text: String, reason: String) throws {
        let data = Data(text.replacingOccurrences(of: "'", with: "\"").utf8)
        let error = try #require(throws: RecordingError.self) { try Recording(har: data) }
        #expect(error.description.hasPrefix("This is no HTTP archive (HAR)"))
        #expect(error.description.contains(reason))
    }
}
