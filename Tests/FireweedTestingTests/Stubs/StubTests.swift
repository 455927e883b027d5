import FireweedTesting
import Foundation
import Synchronization
import Testing

@Suite("Stubbed sessions", .timeLimit(.minutes(testTimeoutMinutes)))
struct StubTests {
    @Test("a stub answers with JSON of a literal or of a value")
    func json() async throws {
        let ada = User(id: 42, name: "Ada")
        let session = Session.stubbed {
            Stub.get("/literal").reply(.json(["id": 42, "name": "Ada"]))
            Stub.get("/value").reply(.json(ada))
        }
        for path in ["literal", "value"] {
            let response = await session.request("\(api)/\(path)").validate().serializingDecodable(
                User.self
            ).response
            #expect(response.value == ada)
            #expect(response.response?.headers["Content-Type"] == "application/json")
            #expect(
                response.response?.headers["Content-Length"].flatMap(Int.init) == response.data?.count)
        }
        try session.stubs.expectAllCalled()
        try session.stubs.expectNoUnmatchedRequests()
    }

    @Test("a closure makes the answer of the request and its placeholders")
    func closure() async throws {
        let session = Session.stubbed {
            Stub.get("/users/{id}/posts/{post}").reply { request in
                .json([
                    "path": .string(request.path),
                    "ids": [
                        .string(request.parameters["id"] ?? ""), .string(request.parameters["post"] ?? ""),
                    ],
                ])
            }
        }
        let value = try await session.request("\(api)/users/4%202/posts/7").serializingDecodable(
            JSONValue.self
        ).value
        #expect(value == ["path": "/users/4%202/posts/7", "ids": ["4 2", "7"]])
    }

    @Test("answers follow one another, and the last one stays")
    func sequence() async {
        let session = Session.stubbed {
            Stub.get("/flaky").reply(.status(503), .status(500), .status(204))
        }
        var statuses: [Int?] = []
        for _ in 0..<4 {
            statuses.append(
                await session.request("\(api)/flaky").serializingData().response.response?.statusCode)
        }
        #expect(statuses == [503, 500, 204, 204])
    }

    @Test("a stub for one time lets the next stub answer after that")
    func times() async throws {
        let session = Session.stubbed {
            Stub.get("/a").reply(.text("first")).times(1)
            Stub.get("/a").reply(.text("later"))
        }
        var texts: [String] = []
        for _ in 0..<3 { texts.append(try await session.request("\(api)/a").serializingString().value) }
        #expect(texts == ["first", "later", "later"])
    }

    @Test("requests are recorded in order, as they would be sent")
    func history() async throws {
        let session = Session.stubbed { Stub.any() }
        _ = await session.request("\(api)/a", parameters: ["q": "x y"]).serializingData().response
        _ = await session.request(
            "\(api)/b", method: .post, parameters: User(id: 1, name: "Bo"), encoder: .json,
            headers: [.authorization(bearerToken: "t")]
        ).serializingData().response
        let requests = session.stubs.requests
        #expect(requests.map(\.description) == ["GET \(api)/a?q=x%20y", "POST \(api)/b"])
        #expect(requests[0].query("q") == "x y")
        #expect(try requests[1].decoded(as: User.self) == User(id: 1, name: "Bo"))
        #expect(requests[1].header("authorization") == "Bearer t")
        #expect(session.stubs.requests(.post, "/*").count == 1)
        try session.stubs.expect(.post, "/b", .header(.authorization(bearerToken: "t")), times: 1)
        #expect(throws: StubExpectationError.self) { try session.stubs.expect(.get, "/b") }
        #expect(throws: StubExpectationError.self) { try session.stubs.expect(.get, "/a", times: 2) }
    }

    @Test("takeRequest gives one request after the other, and waits for the next one")
    func takeRequest() async throws {
        let session = Session.stubbed { Stub.any() }
        async let next = session.stubs.takeRequest(within: .seconds(120))
        _ = await session.request("\(api)/1").serializingData().response
        _ = await session.request("\(api)/2").serializingData().response
        #expect(try await next.path == "/1")
        #expect(try await session.stubs.takeRequest().path == "/2")
        await #expect(throws: StubExpectationError.self) {
            try await session.stubs.takeRequest(within: .milliseconds(1))
        }
    }

    @Test("what was not called is named")
    func notCalled() async {
        let session = Session.stubbed {
            Stub.get("/called")
            Stub.delete("/missing")
            Stub.put("/twice").times(2)
            Stub.get("/perhaps").optional()
        }
        _ = await session.request("\(api)/called").serializingData().response
        let line = #line + 1
        let error = #expect(throws: StubExpectationError.self) { try session.stubs.expectAllCalled() }
        #expect(
            error?.description == """
                Stubs were not called:
                  DELETE /missing: expected at least 1, got 0
                  PUT /twice: expected 2, got 0

                The requests that came:
                  1. GET https://api.example.com/called

                Expected at \(#filePath):\(line)
                """)
    }

    @Test("stubs can be added behind the others, and in front of them")
    func changes() async throws {
        let session = Session.stubbed { Stub.get("/a").reply(.text("old")) }
        session.stubs.add { Stub.any().reply(.text("rest")) }
        #expect(try await session.request("\(api)/b").serializingString().value == "rest")
        session.stubs.override { Stub.get("/a").reply(.text("new")) }
        #expect(try await session.request("\(api)/a").serializingString().value == "new")
    }

    private struct Own: Error {}

    @Test("a failure is the error that the request fails with")
    func failure() async {
        let session = Session.stubbed {
            Stub.get("/offline").reply(.failure(.notConnectedToInternet))
            Stub.get("/own").reply(.failure(Own()))
            Stub.get("/thrown").reply { _ in throw Own() }
            Stub.get("/cut").reply(.text("half").failing())
            Stub.get("/fault").reply(.text("half").fault(.closeInBody(after: 2)))
        }
        let codes = [
            URLError.Code.notConnectedToInternet, .networkConnectionLost, .networkConnectionLost,
        ]
        for (path, code) in zip(["offline", "cut", "fault"], codes) {
            let failure = await error(of: session.request("\(api)/\(path)")) as? URLError
            #expect(failure?.code == code)
        }
        for path in ["own", "thrown"] {
            let failure = await error(of: session.request("\(api)/\(path)"))
            #expect(failure is Own)
        }
    }

    private func error(of request: DataRequest) async -> (any Error)? {
        await request.serializingData().response.error?.underlyingError
    }

    @Test("a stub that never answers leaves the request to be cancelled")
    func neverAnswers() async throws {
        let session = Session.stubbed { Stub.get("/").reply(.neverAnswers) }
        let request = session.request("\(api)/")
        let task = request.serializingData()
        async let response = task.response
        _ = try await session.stubs.takeRequest(within: .seconds(120))
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
    }

    @Test(
        "a challenge is answered with the request's credentials",
        arguments: ["Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""])
    func challenge(text: String) async throws {
        let scheme = text.prefix { $0 != " " }
        let session = Session.stubbed {
            Stub.get("/me", .matching { $0.header("Authorization")?.hasPrefix("\(scheme) ") == true }).reply(
                .text("Ada"))
            Stub.get("/me").reply(.status(401, headers: ["WWW-Authenticate": text]))
        }
        let request = session.request("\(api)/me").authenticate(username: "user", password: "pass")
        #expect(try await request.validate().serializingString().value == "Ada")
        let fields = session.stubs.requests.map { $0.header("Authorization") }
        #expect(fields.count == 2 && fields[0] == nil)
        if scheme == "Basic" {
            #expect(fields[1] == HTTPHeader.authorization(username: "user", password: "pass").value)
        }
    }

    @Test("a redirect is followed, and each exchange is in the history")
    func redirect() async throws {
        let session = Session.stubbed {
            Stub.get("/old").reply(.redirect(to: "/new", status: 301))
            Stub.get("/new").reply(.text("here"))
        }
        #expect(try await session.request("\(api)/old").serializingString().value == "here")
        #expect(session.stubs.requests.map(\.path) == ["/old", "/new"])
    }

    @Test("responses to HEAD, and 204 and 304, have no content")
    func bare() async throws {
        let session = Session.stubbed {
            Stub.head("/").reply(.text("12345"))
            Stub.get("/204").reply(.text("12345", status: 204))
        }
        let head = await session.request("\(api)/", method: .head).serializingData(
            emptyRequestMethods: [.head])
            .response
        #expect(head.data == nil && head.response?.headers["Content-Length"] == "5")
        let empty = await session.request("\(api)/204").serializingData(emptyResponseCodes: [204])
            .response
        #expect(empty.data == nil && empty.response?.statusCode == 204)
    }

    @Test("an upload reports progress, and its content is recorded")
    func upload() async throws {
        let session = Session.stubbed {
            Stub.post(
                "/photos", .part("title", "Lake"),
                .part("file", fileName: "l.jpg", contentType: "image/jpeg"))
        }
        let fractions = Mutex<[Double]>([])
        let request = session.upload(
            multipartFormData: { form in
                form.append(Data("Lake".utf8), withName: "title")
                form.append(
                    Data(repeating: 7, count: 300_000), withName: "file", fileName: "l.jpg",
                    mimeType: "image/jpeg")
            }, to: "\(api)/photos", usingThreshold: 0)
        request.uploadProgress { progress in
            fractions.withLock { $0.append(progress.fractionCompleted) }
        }
        let response = await request.serializingData(emptyResponseCodes: [200]).response
        #expect(response.error == nil)
        #expect(session.stubs.requests[0].parts.map(\.name) == ["title", "file"])
        #expect(session.stubs.requests[0].parts[1].body.count == 300_000)
        #expect(request.uploadProgress.fractionCompleted == 1)
    }

    @Test("a download writes what the stub answers to its file")
    func download() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let source = folder.appendingPathComponent("source.json")
        try Data("{\"a\":1}".utf8).write(to: source)
        let session = Session.stubbed { Stub.get("/file").reply(.file(source)) }
        let target = folder.appendingPathComponent("target.json")
        let response = await session.download(
            "\(api)/file", to: { _, _ in (target, [.createIntermediateDirectories]) }
        )
        .serializingDownloadedFileURL().response
        #expect(response.value == target && response.response?.mimeType == "application/json")
        #expect(try Data(contentsOf: target) == Data("{\"a\":1}".utf8))
    }

    @Test("a stale response stands in for a failure that a stub answers with")
    func staleIfError() async throws {
        let session = Session.stubbed {
            Stub.get("/users").reply(
                .text("Ada").header("Cache-Control", "max-age=0, stale-if-error=60").header("ETag", "\"1\""),
                .failure(.networkConnectionLost))
        }
        for _ in 1...2 {
            #expect(try await session.request("\(api)/users").serializingString().value == "Ada")
            await session.flushResponseStore()
        }
        #expect(session.stubs.requests.count == 2)
    }
}
