import FireweedTesting
import Foundation
import Glibc
import Testing

@Suite("Mock servers", .timeLimit(.minutes(testTimeoutMinutes)))
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
        #expect(try await server.takeRequest().path == "/users/42")
        #expect(try await server.takeRequest().decoded(as: User.self).name == "Bo")
        #expect(
            String(decoding: server.receivedBytes[0], as: UTF8.self).hasPrefix(
                "GET /users/42 HTTP/1.1\r\n"))
        let received = String(decoding: server.receivedBytes[1], as: UTF8.self)
        #expect(received.hasSuffix("\r\n\r\n\(server.stubs.requests[1].text)"))
        #expect(server.connectionCount == 1)
        try server.stubs.expectAllCalled()
    }

    @Test("a request that is taken is there byte for byte")
    func wireBytes() async throws {
        let server = try MockServer.start { Stub.any() }
        let (first, second) = (
            "POST /a?b HTTP/1.1\r\nhost:  a\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nWiki\r\n0\r\nX: y\r\n\r\n",
            "GET /c HTTP/1.1\r\nHOST: a\r\nConnection: close\r\n\r\n"
        )
        _ = await RawClient.send(Data((first + second).utf8), to: server.port)
        let request = try await server.takeRequest()
        #expect(request.wireBytes == Data(first.utf8) && request.text == "Wiki")
        #expect(try await server.takeRequest().wireBytes == Data(second.utf8))
        #expect(server.receivedBytes == [Data(first.utf8), Data(second.utf8)])
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

    @Test("a fault in the request is that of the answer that is next", arguments: [false, true])
    func earlyFaults(http2: Bool) async throws {
        let server = try MockServer.start(certificate: .trusted, http2: http2) {
            Stub.post("/", .header("X-Fault", "yes")).reply(.text("").fault(.closeAfterRequestHead))
            Stub.post("/").reply(.text("fine"))
        }
        let session = server.session()
        let post = { (headers: HTTPHeaders) in
            await session.request(server.url(), method: .post, parameters: ["a": "b"], headers: headers)
                .serializingString().response
        }
        #expect(await post([:]).value == "fine")
        #expect(await post(["X-Fault": "yes"]).error != nil)
        server.enqueue(.text("queued"))
        #expect(await post(["X-Fault": "yes"]).value == "queued")
        server.enqueue(.text("").fault(.closeAfterRequestHead))
        #expect(await post([:]).error != nil)
        #expect(server.stubs.requests.map(\.text) == ["a=b", "", "a=b", ""])
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
            FaultRow(fault: .garbage(Data("garbage\r\n".utf8)), code: .badServerResponse),
            FaultRow(fault: .goAway, code: .networkConnectionLost),
            FaultRow(fault: .resetStream(), code: .networkConnectionLost),
            FaultRow(fault: .resetStreamInBody(after: 4), code: .networkConnectionLost),
            FaultRow(fault: .closeInRequestBody(after: -1), code: .networkConnectionLost),
            FaultRow(fault: .closeInHead(after: -1), code: .networkConnectionLost),
            FaultRow(fault: .closeInBody(after: -1), code: .networkConnectionLost),
        ], [MockCertificate.trusted, nil])
    func faults(row: FaultRow, certificate: MockCertificate?) async throws {
        let server = try MockServer.start(certificate: certificate) {
            Stub.post("/").reply(.text("content").fault(row.fault))
        }
        let response = await server.session().request(
            server.url(), method: .post, parameters: ["some": "content"],
            requestModifier: { if row.code == .timedOut { $0.timeoutInterval = 1 } }
        ).serializingData().response
        let error = response.error?.underlyingError as? URLError
        #expect(error?.code == row.code)
    }

    @Test(
        "connections can fail before any request",
        arguments: [
            ConnectionFault.closeAtAccept, .resetAtAccept, .closeInHandshake, .silent,
            .garbage(Data("garbage\r\n".utf8)),
        ], [MockCertificate.trusted, nil])
    func connectionFaults(fault: ConnectionFault, certificate: MockCertificate?) async throws {
        let server = try MockServer.start(certificate: certificate) { Stub.any().reply(.text("fine")) }
        server.enqueue(connectionFault: fault)
        let session = server.session()
        let failed = await session.request(
            server.url(), requestModifier: { if fault == .silent { $0.timeoutInterval = 1 } }
        ).serializingData().response
        let code = (failed.error?.underlyingError as? URLError)?.code
        #expect(fault == .silent ? code == .timedOut : code != nil && code != .timedOut)
        #expect(try await session.request(server.url()).serializingString().value == "fine")
        let refused = await session.request(try MockServer.refusingURL()).serializingData().response
        let error = refused.error?.underlyingError as? URLError
        #expect(error?.code == .cannotConnectToHost)
    }

    @Test("nothing can listen at a URL that refuses, so that it refuses for as long as the process runs")
    func refusing() async throws {
        let url = try MockServer.refusingURL("/path")
        let port = UInt16(try #require(url.port))
        #expect(throws: MockServerError.self) { try MockServer.start(port: port) }
        let session = Session(configuration: .af.ephemeral)
        let response = await session.request(url).serializingData().response
        #expect((response.error?.underlyingError as? URLError)?.code == .cannotConnectToHost)
        #expect(try MockServer.refusingURL().port == url.port)
    }

    @Test("streams and server-sent events come in chunks, a throttled answer whole", arguments: [false, true])
    func streams(http2: Bool) async throws {
        let feed = ResponseFeed()
        let server = try MockServer.start(certificate: .trusted, http2: http2) {
            Stub.get("/lines").reply(.stream("one\n", "two\n"))
            Stub.get("/feed").reply(.stream(from: feed))
            Stub.get("/slow").reply(.text("0123456789").fault(.throttle(bytesPerSecond: 100)))
            Stub.get("/events").reply(
                .serverSentEvents(ServerSentEvent(data: "one\ntwo"), ServerSentEvent(data: "three")))
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
        var events: [String] = []
        for try await event in session.streamRequest(server.url("/events")).serverSentEvents(reconnection: .never) {
            events.append(event.data)
        }
        #expect(events == ["one\ntwo", "three"])
    }

    @Test("faults of the content count over all its pieces, and an empty piece is no end", arguments: [false, true])
    func pieces(http2: Bool) async throws {
        let feed = ResponseFeed()
        let server = try MockServer.start(certificate: .trusted, http2: http2) {
            Stub.get("/empty").reply(.stream("one\n", "", "two\n"))
            Stub.get("/cut").reply(.stream("one\n", "two\n", "three\n").fault(.closeInBody(after: 8)))
            Stub.get("/feed").reply(.stream(from: feed).fault(.closeInBody(after: 8)))
            Stub.get("/none").reply(.stream().fault(.closeInBody(after: 8)))
        }
        for text in ["one\n", "two\n", "three\n"] { feed.send(text) }
        feed.finish()
        let session = server.session()
        #expect(try await session.request(server.url("/empty")).serializingString().value == "one\ntwo\n")
        for (path, expected) in [("/cut", ["one", "two"]), ("/feed", ["one", "two"]), ("/none", [])] {
            var lines: [String] = []
            var failure: (any Error)?
            do {
                for try await line in session.streamRequest(server.url(path)).lines() { lines.append(line) }
            } catch {
                failure = error
            }
            #expect(lines == expected && failure is AFError)
        }
    }

    @Test(
        "a content length that cannot be read is refused (RFC 9112 §6.3)",
        arguments: ["-1", "+1", "x", "", "1, 2", "99999999999999999999"])
    func contentLength(text: String) async throws {
        let server = try MockServer.start { Stub.any() }
        let answer = await RawClient.send(
            Data("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(text)\r\n\r\nX".utf8), to: server.port)
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
        #expect(server.stubs.requests.isEmpty)
    }

    @Test(
        "a head that no client may send is refused (RFC 9112 §2.3, §3, §5, §6.1; RFC 6455 §4.2.1)",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505),
            ("GET / HTTX/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET   / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\n Content-Length: 5\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nno field\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
            ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                501
            ),
            ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
                400
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n",
                400
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n\r\n",
                426
            ),
        ])
    func refusedHeads(head: String, status: Int) async throws {
        let server = try MockServer.start { Stub.any() }
        let answer = await RawClient.send(Data(head.utf8), to: server.port)
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
        #expect(server.stubs.requests.isEmpty)
    }

    @Test(
        "chunks that no client may send end the connection (RFC 9112 §7.1)",
        arguments: ["5 a\r\n", "5;a\r\n", "5\r\nx"])
    func chunks(line: String) async throws {
        let isSound = line == "5;a\r\n"
        let server = try MockServer.start { Stub.any() }
        let text =
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\(line)hello\r\n0\r\n\r\n"
        let answer = await RawClient.send(Data(text.utf8), to: server.port)
        #expect(answer.isEmpty == !isSound)
        #expect(server.stubs.requests.map(\.body) == (isSound ? [Data("hello".utf8)] : []))
    }

    @Test("empty lines before a request are ignored (RFC 9112 §2.2)")
    func emptyLines() async throws {
        let server = try MockServer.start { Stub.any() }
        let request = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
        let last = "GET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        _ = await RawClient.send(Data("\r\n\n\(request)\r\n\(last)".utf8), to: server.port)
        #expect(server.stubs.requests.map(\.path) == ["/a", "/b"])
        #expect(server.receivedBytes == [Data(request.utf8), Data(last.utf8)])
    }

    @Test(
        "a server for clients of all kinds refuses content that is too large for its memory, or not in chunks",
        arguments: [
            ("Content-Length: 4\r\n\r\nabcd", "200"), ("Content-Length: 5\r\n\r\n", "413"),
            ("Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n", "200"),
            ("Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", "413"),
            ("Transfer-Encoding: chunked\r\n\r\nx\r\n", "400"),
            ("Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "400"),
        ])
    func contentLimit(rest: String, status: String) async throws {
        let (listener, port) = try ServerSocket.listen(port: 0)
        let server = try MockServer.start(
            on: listener, port: port, certificate: nil, rules: ServiceRules(maximumContentByteCount: 4),
            stubs: [.any()])
        let text = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(rest)"
        let answer = await RawClient.send(Data(text.utf8), to: server.port)
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
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

    @Test("a server stops with its last reference, whatever its connections wait for", arguments: [false, true])
    func lastReference(http2: Bool) async throws {
        let (session, url, server) = try await asked(http2)
        // The thread of a connection may have the server for a moment still.
        while server.value != nil { await Task.yield() }
        let response = await session.request(url).serializingData().response
        #expect((response.error?.underlyingError as? URLError)?.code == .cannotConnectToHost)
    }

    private struct Known<Value: AnyObject & Sendable>: Sendable {
        weak let value: Value?
    }

    /// Asks a server on a connection that stays open, and lets the server go.
    private func asked(_ http2: Bool) async throws -> (Session, URL, Known<MockServer>) {
        let server = try MockServer.start(certificate: .trusted, http2: http2) { Stub.any().reply(.text("fine")) }
        let session = Session(configuration: .af.ephemeral, transportOptions: server.transportOptions)
        #expect(try await session.request(server.url()).serializingString().value == "fine")
        return (session, server.url(), Known(value: server))
    }

    @Test("connections that are closed from the test end, and the server continues")
    func closeConnections() async throws {
        let server = try MockServer.start {
            Stub.get("/silent").reply(.neverAnswers)
            Stub.get("/").reply(.text("fine"))
        }
        let session = server.session()
        async let silent = session.request(server.url("/silent")).serializingData().response
        _ = try await server.takeRequest()
        server.closeConnections()
        #expect((await silent.error?.underlyingError as? URLError)?.code == .networkConnectionLost)
        #expect(try await session.request(server.url()).serializingString().value == "fine")
    }

    @Test("a feed that has nothing to send ends with its client", arguments: [false, true])
    func abandonedFeed(http2: Bool) async throws {
        let server = try MockServer.start(certificate: .trusted, http2: http2) { Stub.any().reply(.text("fine")) }
        let session = server.session()
        let feed = try await abandonedFeed(on: server, session)
        #expect(try await session.request(server.url()).serializingString().value == "fine")
        // The thread that plays the feed is the last one to have it.
        while feed.value != nil { await Task.yield() }
    }

    private func abandonedFeed(on server: MockServer, _ session: Session) async throws -> Known<ResponseFeed> {
        let feed = ResponseFeed()
        server.enqueue(.stream(from: feed))
        feed.send("one\n")
        let request = session.streamRequest(server.url())
        for try await _ in request.lines() { break }
        request.cancel()
        return Known(value: feed)
    }

    @Test("no process that a test starts has the server's connections")
    func descriptors() async throws {
        let server = try MockServer.start { Stub.any().reply(.text("fine")) }
        #expect(try await server.session().request(server.url()).serializingString().value == "fine")
        var flags: [Int32] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let descriptor = Int32(name) else { continue }
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isSocket = withUnsafeMutableBytes(of: &address) { bytes in
                guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
                return getsockname(descriptor, pointer, &length) == 0
            }
            guard isSocket, Int32(address.sin_family) == AF_INET, UInt16(bigEndian: address.sin_port) == server.port
            else { continue }
            flags.append(fcntl(descriptor, F_GETFD))
        }
        // The listener, and the one connection.
        #expect(flags.count == 2 && flags.allSatisfy { $0 & FD_CLOEXEC != 0 })
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
