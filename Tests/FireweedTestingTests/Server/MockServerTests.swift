import FireweedTesting
import Foundation
import Testing

@Suite("Mock servers", .timeLimit(.minutes(patience)))
struct MockServerTests {
    @Test("a server answers with stubs, and says what came")
    func answers() async throws {
        let server = try MockServer.start {
            Stub.get("/users/{id}").reply {
                .json(["id": .integer(Int64($0.parameters["id"] ?? "") ?? 0), "name": "Ada"])
            }
            Stub.post("/users", .partialJSON(["name": "Bo"])).reply(.status(201))
        }
        let session = server.session()
        let user = try await session.request(server.url("/users/42")).serializingDecodable(User.self)
            .value
        #expect(user == User(id: 42, name: "Ada"))
        let posted = await session.request(
            server.url("/users"), method: .post, parameters: User(id: 1, name: "Bo"), encoder: .json
        ).serializingData(emptyResponseCodes: [201]).response
        #expect(posted.response?.statusCode == 201)
        #expect(try await server.stubs.takeRequest().path == "/users/42")
        #expect(try await server.stubs.takeRequest().decoded(as: User.self).name == "Bo")
        #expect(
            String(decoding: server.receivedBytes[0], as: UTF8.self).hasPrefix(
                "GET /users/42 HTTP/1.1\r\n"))
        let received = String(decoding: server.receivedBytes[1], as: UTF8.self)
        #expect(received.hasSuffix("\r\n\r\n\(server.stubs.requests[1].text)"))
        #expect(server.connectionCount == 1)
        try server.stubs.expectAllCalled()
    }

    @Test("queued answers come first, whatever is asked")
    func queue() async throws {
        let server = try MockServer.start { Stub.any().reply(.text("stub")) }
        server.enqueue(.text("one"), .text("two"))
        let session = server.session()
        var texts: [String] = []
        for _ in 0..<3 {
            texts.append(try await session.request(server.url()).serializingString().value)
        }
        #expect(texts == ["one", "two", "stub"])
    }

    @Test("what no stub matches gets a 501 that says why")
    func unmatched() async throws {
        let server = try MockServer.start { Stub.get("/a") }
        let response = await server.session().request(server.url("/b")).serializingString().response
        #expect(response.response?.statusCode == 501)
        #expect(response.value?.contains("path: expected /a, got /b") == true)
    }

    struct FaultRow: Sendable, CustomTestStringConvertible {
        let fault: ServerFault
        let code: URLError.Code
        var testDescription: String { "\(fault)" }
    }

    @Test(
        "faults show as the errors of a broken connection",
        arguments: [
            FaultRow(fault: .closeAfterRequestHead, code: .networkConnectionLost),
            FaultRow(fault: .closeInRequestBody(after: 3), code: .networkConnectionLost),
            FaultRow(fault: .closeBeforeHead, code: .networkConnectionLost),
            FaultRow(fault: .closeInHead(after: 20), code: .networkConnectionLost),
            FaultRow(fault: .closeAfterHead, code: .networkConnectionLost),
            FaultRow(fault: .closeInBody(after: 4), code: .networkConnectionLost),
            FaultRow(fault: .reset, code: .networkConnectionLost),
            FaultRow(fault: .resetInBody(after: 4), code: .networkConnectionLost),
            FaultRow(fault: .stallInBody(after: 4), code: .timedOut),
        ])
    func faults(row: FaultRow) async throws {
        let server = try MockServer.start { Stub.post("/").reply(.text("content").fault(row.fault)) }
        let response = await server.session().request(
            server.url(), method: .post, parameters: ["some": "content"],
            requestModifier: { $0.timeoutInterval = 1 }
        ).serializingData().response
        let error = response.error?.underlyingError as? URLError
        #expect(error?.code == row.code)
    }

    @Test(
        "connections can fail before any request",
        arguments: [ConnectionFault.closeAtAccept, .resetAtAccept, .closeInHandshake])
    func connectionFaults(fault: ConnectionFault) async throws {
        let server = try MockServer.start { Stub.any().reply(.text("fine")) }
        server.enqueue(connectionFault: fault)
        let session = server.session()
        let failed = await session.request(server.url()).serializingData().response
        #expect(failed.error?.underlyingError is URLError)
        #expect(try await session.request(server.url()).serializingString().value == "fine")
        let refused = await session.request(try MockServer.refusingURL()).serializingData().response
        let error = refused.error?.underlyingError as? URLError
        #expect(error?.code == .cannotConnectToHost)
    }

    @Test("streams and server-sent events come in chunks, a throttled answer whole")
    func streams() async throws {
        let feed = ResponseFeed()
        let server = try MockServer.start {
            Stub.get("/lines").reply(.stream("one\n", "two\n"))
            Stub.get("/feed").reply(.stream(from: feed))
            Stub.get("/slow").reply(.text("0123456789").fault(.throttle(bytesPerSecond: 100)))
        }
        let session = server.session()
        var lines: [String] = []
        for try await line in session.streamRequest(server.url("/lines")).lines() { lines.append(line) }
        feed.send("three\n")
        for try await line in session.streamRequest(server.url("/feed")).lines() {
            lines.append(line)
            feed.finish()
        }
        #expect(lines == ["one", "two", "three"])
        #expect(
            try await session.request(server.url("/slow")).serializingString().value == "0123456789")
    }

    @Test("a script plays a WebSocket over the wire")
    func webSocket() async throws {
        let server = try MockServer.start {
            Stub.webSocket("/chat") { socket in
                socket.send("welcome")
                for try await message in socket.messages { socket.send(message) }
            }
        }
        let request = server.session().webSocketRequest(to: server.url("/chat"))
        let task = request.webSocketTask()
        let long = String(repeating: "long ", count: 20_000)
        var texts: [String] = []
        for await message in task.streamingMessages() {
            guard case .string(let text) = message else { continue }
            texts.append(text)
            if texts.count == 1 {
                try await task.send(.string(long))
            } else {
                task.close(sending: .normalClosure)
            }
        }
        #expect(texts == ["welcome", long])
    }

    @Test(
        "a session of the server's trusts its certificate, and every wrong one is refused",
        arguments: MockCertificate.allCases)
    func certificates(certificate: MockCertificate) async throws {
        let server = try MockServer.start(certificate: certificate) {
            Stub.any().reply(.text("secret"))
        }
        let response = await server.session().request(server.url()).serializingString().response
        #expect((response.value == "secret") == (certificate == .trusted))
        #expect((response.error == nil) == (certificate == .trusted))
        #expect(server.stubs.requests.isEmpty == (certificate != .trusted))
    }

    @Test("a pin that is not in the chain fails before a byte of the request")
    func pinning() async throws {
        let server = try MockServer.start(certificate: .trusted) { Stub.any() }
        let other = try MockServer.start(certificate: .trusted)
        let pinned = PinnedCertificatesTrustEvaluator(
            certificates: [try #require(other.authority)], performDefaultValidation: false)
        let session = server.session(
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": pinned]))
        let response = await session.request(server.url()).serializingData().response
        #expect(response.error?.isServerTrustEvaluationError == true)
        #expect(server.stubs.requests.isEmpty)
    }

    @Test("a server is a proxy: absolute targets are answered, tunnels lead on")
    func proxy() async throws {
        let origin = try MockServer.start(certificate: .trusted) { Stub.any().reply(.text("origin")) }
        let proxy = try MockServer.start {
            Stub.get("http://api.example.com/a").reply(.text("proxied"))
        }
        var options = origin.transportOptions
        options.proxy = Proxy(.http, host: "127.0.0.1", port: Int(proxy.port))
        let session = Session(configuration: .af.ephemeral, transportOptions: options)
        #expect(
            try await session.request("http://api.example.com/a").serializingString().value == "proxied")
        #expect(try await session.request(origin.url()).serializingString().value == "origin")
        #expect(proxy.stubs.requests.map(\.method.rawValue) == ["GET", "CONNECT"])
    }
}
