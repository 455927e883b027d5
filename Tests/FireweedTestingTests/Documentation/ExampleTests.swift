// The examples of the articles about testing, line for line.

import FireweedTesting
import FireweedTestingTraits
import Foundation
import Testing

@Suite("Examples of the documentation", .timeLimit(.minutes(testTimeoutMinutes)))
struct ExampleTests {
    private struct Client {
        let session: Session

        init(_ session: Session) {
            self.session = session
        }

        func create(_ user: User) async throws {
            let request = session.request(
                "\(api)/users", method: .post, parameters: user, encoder: .json, headers: ["Accept": "*/*"])
            if let error = await request.validate().serializingData(emptyResponseCodes: [201]).response
                .error
            {
                throw error
            }
        }
    }

    private struct Token: AuthenticationCredential {
        let text: String
        let requiresRefresh = false

        init(_ text: String) {
            self.text = text
        }
    }

    private struct Renewal: Authenticator {
        func apply(_ credential: Token, to urlRequest: inout URLRequest) {
            urlRequest.headers.add(.authorization(bearerToken: credential.text))
        }

        func refresh(
            _ credential: Token, for session: Session,
            completion: @escaping @Sendable (Result<Token, any Error>) -> Void
        ) {
            completion(.success(Token("new")))
        }

        func didRequest(
            _ urlRequest: URLRequest, with response: HTTPURLResponse,
            failDueToAuthenticationError error: any Error
        ) -> Bool { response.statusCode == 401 }

        func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
            urlRequest.headers["Authorization"] == "Bearer \(credential.text)"
        }
    }

    @Test("stubs answer")
    func stub() async throws {
        let session = Session.stubbed {
            Stub.get("/users/{id}").reply(.json(["id": 42, "name": "Ada"]))
        }
        let user = try await session.request("https://api.example.com/users/42").serializingDecodable(
            User.self
        ).value
        #expect(user == User(id: 42, name: "Ada"))
    }

    @Test("conditions and history")
    func conditions() async throws {
        let session = Session.stubbed {
            Stub.post("/users", .header("Accept"), .partialJSON(["name": "Ada"])).reply(.status(201))
        }
        try await Client(session).create(User(id: 1, name: "Ada"))
        try session.stubs.expectAllCalled()
        #expect(session.stubs.requests[0].header("Content-Type") == "application/json")
    }

    @Test("the example of Alamofire's README")
    func readme() async throws {
        let session = Session.stubbed {
            Stub.get("/get", .header(.authorization(username: "user", password: "pass")))
                .reply(.json(["id": 42, "name": "Ada"]))
            Stub.get("/get").reply(.status(401, headers: ["WWW-Authenticate": "Basic realm=\"users\""]))
        }
        let response = await session.request("https://httpbin.org/get", interceptor: .retryPolicy)
            .authenticate(username: "user", password: "pass")
            .cacheResponse(using: .cache)
            .redirect(using: .follow)
            .validate()
            .cURLDescription { description in print(description) }
            .serializingDecodable(User.self)
            .response
        #expect(response.value == User(id: 42, name: "Ada"))
    }

    @Test("an authentication interceptor")
    func authentication() async throws {
        let authenticator = Renewal()
        let session = Session.stubbed(
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token("old"))
        ) {
            Stub.get("/me", .header(.authorization(bearerToken: "new"))).reply(.text("Ada"))
            Stub.get("/me").reply(.status(401))
        }
        #expect(
            try await session.request("https://api.example.com/me").validate().serializingString().value
                == "Ada")
    }

    @Test("a retry policy")
    func retries() async throws {
        let clock = TestClock.automatic
        let session = Session.stubbed(clock: clock, interceptor: RetryPolicy(retryLimit: 5)) {
            Stub.get("/report").reply(.status(503))
        }
        _ = await session.request("https://api.example.com/report").validate().serializingData()
            .response
        #expect(session.stubs.requests.count == 6 && clock.elapsed == .milliseconds(15_500))
    }

    @Test("an upload")
    func upload() async throws {
        let session = Session.stubbed {
            Stub.post("/photos", .part("title", "Lake"), .part("photo", fileName: "lake.jpg"))
        }
        let upload = session.upload(
            multipartFormData: { form in
                form.append(Data("Lake".utf8), withName: "title")
                form.append(
                    Data([0xFF, 0xD8]), withName: "photo", fileName: "lake.jpg", mimeType: "image/jpeg")
            }, to: "https://api.example.com/photos")
        #expect(await upload.serializingData(emptyResponseCodes: [200]).response.error == nil)
    }

    @Test("resuming a download")
    func download() async throws {
        let session = Session.stubbed {
            Stub.get("/big", .header("Range", "bytes=4-")).reply(
                .text("456789", status: 206).header("ETag", "\"1\"").header("Content-Range", "bytes 4-9/10")
            )
            Stub.get("/big").reply(
                .text("0123456789").header("ETag", "\"1\"").header("Accept-Ranges", "bytes").fault(
                    .closeInBody(after: 4)))
        }
        let first = await session.download("https://api.example.com/big").serializingData().response
        let rest = await session.download(resumingWith: try #require(first.resumeData))
            .serializingString().response
        #expect(rest.value == "0123456789")
    }

    @Test("a WebSocket")
    func webSocket() async throws {
        let session = Session.stubbed {
            Stub.webSocket("/chat") { socket in
                socket.send("welcome")
                for try await message in socket.messages { socket.send(message) }
            }
        }
        let task = session.webSocketRequest(to: "wss://api.example.com/chat").webSocketTask()
        for await message in task.streamingMessages() {
            #expect(message.text == "welcome")
            task.close(sending: .normalClosure)
        }
        try session.stubs.expectAllCalled()
    }

    @Test("a stream")
    func stream() async throws {
        let session = Session.stubbed {
            Stub.get("/events").reply(
                .serverSentEvents(ServerSentEvent(data: "one"), ServerSentEvent(data: "two")))
        }
        var data: [String] = []
        for try await event in session.streamRequest("https://api.example.com/events").serverSentEvents(
            reconnection: .never)
        { data.append(event.data) }
        #expect(data == ["one", "two"])
    }

    @Test("a pin that must fail")
    func pinning() async throws {
        let other = try #require(try MockServer.start(certificate: .trusted).authority)
        let server = try MockServer.start(certificate: .trusted) { Stub.any() }
        let pin = PinnedCertificatesTrustEvaluator(
            certificates: [other], performDefaultValidation: false)
        let session = server.session(
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": pin]))
        let response = await session.request(server.url()).serializingData().response
        #expect(response.error?.isServerTrustEvaluationError == true && server.stubs.requests.isEmpty)
    }

    @Test("a flaky network")
    func flaky() async throws {
        let stubs = StubTransport(clock: TestClock.automatic) { Stub.any().reply(.text("content")) }
        let faulty = FaultyTransport(wrapping: stubs, faults: [.drop: 0.3, .status(503): 0.2], seed: 7)
        let session = Session(transport: faulty, interceptor: RetryPolicy(retryLimit: 20))
        #expect(
            try await session.request("https://api.example.com/").validate().serializingString().value
                == "content")
    }

    @Test("a recording")
    func recording() async throws {
        let recorder = HARRecorder(includesContent: true)
        let live = Session.stubbed(eventMonitors: [recorder]) { Stub.get("/a").reply(.json(["a": 1])) }
        _ = await live.request("https://api.example.com/a").serializingData().response
        let session = Session.replaying(try Recording(har: recorder.archive))
        #expect(
            try await session.request("https://api.example.com/a").serializingDecodable(JSONValue.self)
                .value == ["a": 1])
    }

    @Test("a recording beside the test's file")
    func namedRecording() async throws {
        try await withRecording("users") { session in
            let user = try await session.request("https://api.example.com/users/1")
                .serializingDecodable(User.self).value
            #expect(user.name == "Ada")
        }
    }

    @Test("a user", .stubbed { Stub.get("/users/{id}").reply(.json(["id": 42, "name": "Ada"])) })
    func trait() async throws {
        let user = try await Session.testing.request("https://api.example.com/users/42")
            .serializingDecodable(User.self).value
        #expect(user == User(id: 42, name: "Ada"))
    }

    @Test("users", .recording("users"))
    func recordedTrait() async throws {
        let user = try await Session.testing.request("https://api.example.com/users/1")
            .serializingDecodable(User.self).value
        #expect(user.name == "Ada")
    }

    @Test("the documentation shows these examples")
    func documentation() throws {
        let lines = { (file: String) in
            try String(contentsOf: URL(fileURLWithPath: file), encoding: .utf8).components(
                separatedBy: "\n"
            )
            .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let xcTests = folder.appendingPathComponent("../Traits/SessionXCTests.swift").standardized
        let tests = Set(try lines(#filePath) + lines(xcTests.path))
        let articles = folder.appendingPathComponent("../../../Sources/Fireweed/Fireweed.docc/Articles").standardized
        var isSwift = false
        for line in try ["Testing.md", "TestingRecordings.md"].flatMap({ try lines("\(articles.path)/\($0)") }) {
            if line.hasPrefix("```") {
                isSwift = line == "```swift"
            } else if isSwift, !line.hasPrefix(".product"), !line.hasPrefix("// in Package.swift") {
                // What a line prints is compared by the check of the samples.
                #expect(tests.contains(line.replacing(/\ +\/\/ prints .*/, with: "")))
            }
        }
    }
}

extension URLSessionWebSocketTask.Message {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}
